//! Collects what a format's reader finds, until the caller takes it.

use std::collections::{HashMap, VecDeque};

use memory_core::{ContentBlock, ConversationId, Json, Message, MessageKey, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    Conversation, Format, Item, Report, TranscriptError, Why, exact,
    item::{Said, Titled},
    media::without_bytes,
    members::others,
    records::RecordPlace,
};

/// Queue of items, with counts.
#[derive(Debug)]
pub(crate) struct ItemQueue {
    pub(crate) items: VecDeque<Item>,
    pub(crate) report: Report,
    /// Name of the file in reported places.
    pub(crate) file: String,
    /// Name of the format, which is added to each message.
    format: &'static str,
    /// Conversations that have begun and have no message yet, with true for forks.
    begun: HashMap<ConversationId, bool>,
    /// The last message of each conversation.
    tips: HashMap<ConversationId, MessageKey>,
    /// Place of the record that is being read.
    pub(crate) place: RecordPlace,
}

/// Metadata member of a message that names its format.
const SOURCE: &str = "source";

impl ItemQueue {
    pub(crate) fn new(file: String, format: &'static str) -> Self {
        Self {
            items: VecDeque::new(),
            report: Report::default(),
            file,
            format,
            begun: HashMap::new(),
            tips: HashMap::new(),
            place: RecordPlace::default(),
        }
    }

    /// Begins or continues a conversation, which is counted with its first message.
    pub(crate) fn begin(&mut self, conversation: Conversation) {
        self.begun.insert(conversation.id.clone(), conversation.fork.is_some());
        if let Some(fork) = &conversation.fork {
            self.tips.insert(conversation.id.clone(), fork.after.clone());
        }
        self.items.push_back(Item::Conversation(conversation));
    }

    /// Continues a conversation after this message, which may come from an earlier reader.
    pub(crate) fn go_on(&mut self, id: &ConversationId, after: MessageKey) {
        self.tips.insert(id.clone(), after);
    }

    /// The last message of a conversation.
    pub(crate) fn tip(&self, id: &ConversationId) -> Option<&MessageKey> {
        self.tips.get(id)
    }

    /// Adds the next message of a conversation, and counts the content that it cannot hold.
    pub(crate) fn say(
        &mut self,
        conversation: &ConversationId,
        key: MessageKey,
        mut message: Message,
        at: Option<Timestamp>,
    ) {
        exact::restore(&mut message);
        // A session of Strands must be written back unchanged.
        if self.format != Format::Strands.as_str() {
            let left = without_bytes(&mut message);
            left.iter().for_each(|what| self.skip(Why::NoPlace, what));
            if !left.is_empty() && says_nothing(&message.content) {
                self.skip(Why::Empty, message.role.as_str());
                return;
            }
        }
        if let Some(is_fork) = self.begun.remove(conversation) {
            self.report.conversations += 1;
            self.report.forks += u64::from(is_fork);
        }
        message.metadata.insert("imported".to_owned(), Json::from_value(&true.into()));
        message.metadata.entry(SOURCE.to_owned()).or_insert_with(|| Json::string(self.format));
        message.key = Some(key.clone());
        let after = self.tips.insert(conversation.clone(), key);
        self.report.messages += 1;
        self.items.push_back(Item::Said(Said { conversation: conversation.clone(), message, at, after }));
    }

    pub(crate) fn title(&mut self, conversation: &ConversationId, title: &str, replaces: Vec<String>) {
        if let Some(title) = usable_title(title) {
            self.items.push_back(Item::Title(Titled { conversation: conversation.clone(), title, replaces }));
        }
    }

    /// Counts the record that is being read, or a part of it, as skipped.
    pub(crate) fn skip(&mut self, why: Why, what: &str) {
        self.skip_at(why, what, self.place);
    }

    pub(crate) fn skip_at(&mut self, why: Why, what: &str, place: RecordPlace) {
        let file = &self.file;
        self.report.skip(why, what, || format!("{file}:{}", place.line));
    }

    /// Counts a line that cannot be parsed.
    pub(crate) fn skip_line(&mut self) {
        self.skip(if self.place.is_open { Why::Unfinished } else { Why::Broken }, "line");
    }

    /// Counts the unknown members of a value by name.
    pub(crate) fn unknown(&mut self, of: &str, value: &Value, known: &[&str]) {
        for name in others(value, known).keys() {
            self.skip(Why::Unknown, &format!("member {of}{name}"));
        }
    }

    /// Counts several of a kind.
    pub(crate) fn count(&mut self, why: Why, what: &str, count: u64) {
        if count > 0 {
            self.report.count(why, what, count, || format!("{}:{}", self.file, self.place.line));
        }
    }

    /// Parses a record. A record of another structure is counted as broken.
    pub(crate) fn parsed<T: DeserializeOwned>(
        &mut self,
        record: &str,
        what: &str,
    ) -> Result<Option<T>, TranscriptError> {
        match exact::read(record) {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.is_data() => {
                self.skip(Why::Broken, what);
                Ok(None)
            }
            Err(error) => {
                // The parser's position is relative to the record.
                let text = error.to_string();
                let kind = text.split(" at line ").next().unwrap_or_default();
                Err(self.damaged(format!("not JSON, {} bytes or characters on: {kind}", error.column())))
            }
        }
    }

    /// File and line of the record.
    pub(crate) fn here(&self) -> String {
        format!("{}:{}", self.file, self.place.line)
    }

    pub(crate) fn damaged(&self, why: String) -> TranscriptError {
        TranscriptError::Damaged { place: format!("{}, byte {}", self.here(), self.place.start), why }
    }
}

/// A title on one line, shortened; `None` if it is blank.
pub(crate) fn usable_title(title: &str) -> Option<String> {
    let title: String = title.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect();
    (!title.is_empty()).then_some(title)
}

/// True if no block has content.
pub(crate) fn says_nothing(blocks: &[ContentBlock]) -> bool {
    blocks.iter().all(|block| matches!(block, ContentBlock::Text(text) if text.trim().is_empty()))
}
