//! The pieces of a prompt, their kinds and sources.

use std::ops::Range;

use memory_core::{Level, Message, NodeRange, Role, SummaryId};

/// The kind of a piece of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PieceKind {
    /// A message of the history, word for word.
    Message,
    /// A summary in place of messages.
    Summary(Level),
    /// A line in place of messages that cannot be read any more.
    Lost,
    /// A part of an earlier message that still holds: an instruction, a preference, a decision, an open question.
    Standing,
    /// A message recalled for the question, or pinned, word for word.
    Recalled,
    /// The question.
    Question,
}

impl PieceKind {
    /// Whether it is a part of the history, in which each message is in exactly one piece.
    #[must_use]
    pub const fn is_history(self) -> bool {
        matches!(self, Self::Message | Self::Summary(_) | Self::Lost)
    }

    /// The kind in lower case: `message`, `summary`, `meta`, `archive`, `lost`, `standing`, `recalled` or
    /// `question`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Message | Self::Summary(Level::Full) => "message",
            Self::Summary(Level::Summary) => "summary",
            Self::Summary(Level::Meta) => "meta",
            Self::Summary(Level::Archive) => "archive",
            Self::Lost => "lost",
            Self::Standing => "standing",
            Self::Recalled => "recalled",
            Self::Question => "question",
        }
    }
}

/// The source of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Source {
    /// Another program's file, through an importer.
    Import,
    /// A tool's answer.
    Tool,
    /// The model.
    Model,
    /// A person, or the application on a person's behalf.
    User,
}

impl Source {
    /// The source of a message. Importers mark it in the metadata, as `imported`.
    #[must_use]
    pub fn of(message: &Message) -> Self {
        let is_imported = message.metadata.get("imported").is_some_and(|flag| flag.as_str() == "true");
        match message.role {
            _ if is_imported => Self::Import,
            Role::Assistant => Self::Model,
            Role::Tool => Self::Tool,
            Role::User | Role::System if message.tool_results().next().is_some() => Self::Tool,
            Role::User | Role::System => Self::User,
        }
    }

    /// `import`, `tool`, `model` or `user`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Import => "import",
            Self::Tool => "tool",
            Self::Model => "model",
            Self::User => "user",
        }
    }
}

/// One piece of a prompt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Piece {
    /// Its kind.
    pub kind: PieceKind,
    /// The nodes it shows or represents; `None` for the question.
    pub nodes: Option<NodeRange>,
    /// The summary's number, if it is one.
    pub summary: Option<SummaryId>,
    /// For a standing line, the bytes of the message's text that it shows.
    pub excerpt: Option<Range<usize>>,
    /// The source of its words. For a summary it is the least trusted source of the covered messages; `None` for the
    /// question and for lost messages.
    pub source: Option<Source>,
    /// Tokens of its text.
    pub tokens: u32,
    /// Why it was chosen.
    pub why: String,
    /// The exact slice of the prompt's text that belongs to the piece: its line or lines, with the day above them
    /// where the piece caused it.
    pub text: String,
}

impl Piece {
    /// The question, rendered.
    pub(crate) fn question(text: String, count: &dyn Fn(&str) -> u32) -> Self {
        let (tokens, why) = (count(&text), "the question".to_owned());
        Self { kind: PieceKind::Question, nodes: None, summary: None, excerpt: None, source: None, tokens, why, text }
    }
}
