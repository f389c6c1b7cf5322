//! Plain transcripts: a heading or a label for each speaker, in Markdown or in plain text.

mod speaker;

use memory_core::{ConversationId, Json, Message, Role, Timestamp, text::one_line};

use crate::{
    Conversation, TranscriptError,
    names::{Chain, conversation_id},
    out::ItemQueue,
    reader::FormatReader,
    records::RecordPlace,
};
use speaker::{Line, Named, line, named};

/// Reader of such files.
#[derive(Debug, Default)]
pub(crate) struct Markdown {
    name: String,
    conversation: Option<ConversationId>,
    title: Option<String>,
    chain: Chain,
    /// Speaker and text of the current message.
    current: Option<(Named, String)>,
    /// Fence of the open code block, within which no line is a heading.
    fence: Option<String>,
    /// The first speaker's line; all speakers are named in its style.
    first: Option<(Line, Named)>,
    /// Roles that have spoken.
    roles: Vec<Role>,
    /// Lines that may name a speaker but were read as text, with their line numbers.
    doubtful: Vec<(Line, u64)>,
    /// Number of lines before the first speaker.
    before: u64,
}

/// Maximum doubtful lines that are kept.
const MOST_DOUBTFUL: usize = 64;
/// Metadata member of a message with the words next to the speaker's name.
const HEADING: &str = "heading";

impl Markdown {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// The speaker that a line names, if it is in the style of the first one.
    fn speaker(&mut self, text: &str, number: u64) -> Option<(Named, String)> {
        let line = line(text).filter(|_| self.fence.is_none())?;
        let of_first = |first: &(Line, Named)| first.0.is_like(&line);
        let known = named(&line).filter(|known| match &self.first {
            Some(first) => of_first(first) && first.1.is_pair == known.is_pair,
            None => true,
        });
        let Some(known) = known else {
            if self.doubtful.len() < MOST_DOUBTFUL {
                self.doubtful.push((line, number));
            }
            return None;
        };
        let rest = line.rest.clone();
        self.first.get_or_insert_with(|| (line, known.clone()));
        if !self.roles.contains(&known.role) {
            self.roles.push(known.role);
        }
        Some((known, rest))
    }

    /// A line that may name the other speaker, if only one side has spoken.
    fn other_speaker(&self) -> Option<&(Line, u64)> {
        let (first, _) = self.first.as_ref()?;
        let speaks = |role| self.roles.contains(&role);
        if speaks(Role::User) == speaks(Role::Assistant) {
            return None;
        }
        self.doubtful.iter().find(|(line, _)| line.is_like(first) || named(line).is_some())
    }

    fn close(&mut self, out: &mut ItemQueue) {
        let Some((speaker, text)) = self.current.take() else { return };
        let text = text.trim_matches('\n').trim_end();
        if text.is_empty() {
            return;
        }
        let id = self.conversation.get_or_insert_with(|| {
            let id = conversation_id(&[&self.name]);
            out.begin(Conversation::new(id.clone()).title(self.title.take()));
            id
        });
        let Named { role, speaker, beside, .. } = speaker;
        self.chain.take(&format!("{role}\n{}\n{text}", speaker.as_deref().unwrap_or_default()));
        let mut message = Message::text_of(role, text);
        message.speaker = speaker;
        let at = beside.as_deref().and_then(time);
        if let Some(beside) = beside {
            message.metadata.insert(HEADING.to_owned(), Json::string(&beside));
        }
        out.say(id, self.chain.key(), message, at);
    }
}

/// The time next to a speaker's name.
fn time(beside: &str) -> Option<Timestamp> {
    beside.parse().ok().or_else(|| beside.replacen(' ', "T", 1).parse().ok())
}

impl FormatReader for Markdown {
    fn record(&mut self, record: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        // Blank lines belong to the text.
        let line = record.trim_end_matches(['\n', '\r']);
        let marker: String = line.trim_start().chars().take_while(|c| matches!(c, '`' | '~')).collect();
        match &self.fence {
            Some(fence) if marker.starts_with(fence.as_str()) && line.trim() == marker => self.fence = None,
            None if marker.len() >= 3 => self.fence = Some(marker),
            _ => {}
        }
        match self.speaker(line, out.place.line) {
            Some((speaker, rest)) => {
                self.close(out);
                self.current = Some((speaker, rest));
            }
            None => match &mut self.current {
                Some((_, text)) => {
                    text.push('\n');
                    text.push_str(line);
                }
                None => {
                    let title = line.strip_prefix("# ").and_then(crate::out::usable_title);
                    if self.title.is_none() && title.is_some() {
                        self.title = title;
                    } else {
                        self.before += u64::from(!line.trim().is_empty());
                    }
                }
            },
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let unknown = |out: &ItemQueue, why| TranscriptError::Speaker { place: out.here(), why };
        if let Some((line, number)) = self.other_speaker() {
            out.place = RecordPlace::of_line(*number);
            let written: String = one_line(&line.written).chars().take(80).collect();
            let why = format!("who speaks after `{written}` is not known: name the speakers User and Assistant");
            return Err(unknown(out, why));
        }
        self.close(out);
        out.place = RecordPlace::of_line(1);
        if self.conversation.is_none() && (self.before > 0 || self.title.is_some()) {
            return Err(unknown(out, "no line names a speaker, as `## User` and `Assistant: Hi.` do".to_owned()));
        }
        out.count(crate::Why::Note, "lines before the first speaker", self.before);
        Ok(())
    }
}
