//! Collects what a format's reader finds, until the caller takes it.

use std::collections::{HashMap, VecDeque};

use memory_core::{ContentBlock, ConversationId, Json, Message, MessageKey, Timestamp, text::one_line};
use serde_json::Value;

use crate::{
    Conversation, Format, Item, Report, TranscriptError, Why,
    item::{Said, Titled},
    media::without_bytes,
    members::others,
    records::Place,
};

/// Queue of items, with counts.
#[derive(Debug)]
pub(crate) struct Out {
    pub(crate) items: VecDeque<Item>,
    pub(crate) report: Report,
    /// Name of the file in reported places.
    file: String,
    /// Name of the format, which is added to each message.
    format: &'static str,
    /// The last message of each conversation.
    tips: HashMap<ConversationId, MessageKey>,
    /// Place of the record that is being read.
    pub(crate) place: Place,
}

/// Metadata member of a message that names its format.
const SOURCE: &str = "source";

impl Out {
    pub(crate) fn new(file: String, format: &'static str) -> Self {
        Self {
            items: VecDeque::new(),
            report: Report::default(),
            file,
            format,
            tips: HashMap::new(),
            place: Place::default(),
        }
    }

    /// Begins or continues a conversation.
    pub(crate) fn begin(&mut self, conversation: Conversation) {
        self.report.conversations += 1;
        if let Some(fork) = &conversation.fork {
            self.report.forks += 1;
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
        crate::exact::restore(&mut message);
        // A session of Strands must be written back unchanged.
        if self.format != Format::Strands.as_str() {
            let left = without_bytes(&mut message);
            left.iter().for_each(|what| self.skip(Why::NoPlace, what, self.place));
            if !left.is_empty() && says_nothing(&message.content) {
                self.skip(Why::Empty, message.role.as_str(), self.place);
                return;
            }
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

    pub(crate) fn skip(&mut self, why: Why, what: &str, place: Place) {
        let file = &self.file;
        self.report.skip(why, what, || format!("{file}:{}", place.line));
    }

    /// Counts the unknown members of a value by name.
    pub(crate) fn unknown(&mut self, of: &str, value: &Value, known: &[&str], place: Place) {
        for name in others(value, known).keys() {
            self.skip(Why::Unknown, &format!("member {of}{name}"), place);
        }
    }

    /// Counts several of a kind; the first one is at `place`.
    pub(crate) fn count(&mut self, why: Why, what: &str, count: u64, place: Place) {
        let file = &self.file;
        if count > 0 {
            self.report.count(why, what, count, || format!("{file}:{}", place.line));
        }
    }

    /// Sets the name of the file in the places that follow.
    #[cfg(feature = "sqlite")]
    pub(crate) fn stand(&mut self, file: String) {
        self.file = file;
    }

    /// Adds a summary of messages that were added before.
    #[cfg(feature = "sqlite")]
    pub(crate) fn summarize(&mut self, summarized: crate::Summarized) {
        self.report.summaries += 1;
        self.items.push_back(Item::Summarized(summarized));
    }

    pub(crate) fn damaged(&self, place: Place, why: String) -> TranscriptError {
        TranscriptError::Damaged { place: format!("{}:{}, byte {}", self.file, place.line, place.start), why }
    }

    pub(crate) fn unknown_speaker(&self, place: Place, written: &str) -> TranscriptError {
        let written: String = one_line(written).chars().take(80).collect();
        let why = format!("who speaks after `{written}` is not known: name the speakers User and Assistant");
        TranscriptError::Speaker { place: format!("{}:{}", self.file, place.line), why }
    }

    pub(crate) fn without_speakers(&self, place: Place) -> TranscriptError {
        let why = "no line names a speaker, as `## User` and `Assistant: Hi.` do".to_owned();
        TranscriptError::Speaker { place: format!("{}:{}", self.file, place.line), why }
    }

    pub(crate) fn rewound(&self, place: Place) -> TranscriptError {
        TranscriptError::Rewound { place: format!("{}:{}", self.file, place.line) }
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
