//! The pieces of a prompt, their kinds and sources.

use std::ops::Range;

use memory_core::{ConversationId, Level, NodeId, NodeRange, NoteId, SourceClass, SummaryId, Timestamp};

use crate::EntryId;

/// The kind of a piece of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PieceKind {
    /// A message of the history, verbatim.
    Message,
    /// A summary in place of messages.
    Summary(Level),
    /// A line in place of messages that cannot be read any more.
    Lost,
    /// A line in place of messages that the manager leaves out; the log holds them.
    Omitted,
    /// A line in place of messages that are disabled.
    Disabled,
    /// A part of an earlier message that still holds: an instruction, a preference, a decision, an open question.
    Standing,
    /// A recorded entry of the ledger: a rule, or one that bears on the question.
    Entry,
    /// A message recalled for the question, or pinned, verbatim.
    Recalled,
    /// The question.
    Question,
}

/// A part of a prompt, in the order in which they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PromptPart {
    /// The whole history, in which each message is in exactly one piece, in order.
    History,
    /// Earlier instructions, preferences, decisions and open questions that still hold, and recorded entries, each in
    /// order.
    Standing,
    /// Messages recalled for the question, or pinned, in order.
    Recalled,
    /// The question.
    Question,
}

impl PieceKind {
    /// The part of a prompt that has pieces of this kind.
    #[must_use]
    pub const fn part(self) -> PromptPart {
        match self {
            Self::Message | Self::Summary(_) | Self::Lost | Self::Omitted | Self::Disabled => PromptPart::History,
            Self::Standing | Self::Entry => PromptPart::Standing,
            Self::Recalled => PromptPart::Recalled,
            Self::Question => PromptPart::Question,
        }
    }

    /// True if the kind belongs to the history, in which each message is in exactly one piece.
    #[must_use]
    pub const fn is_history(self) -> bool {
        matches!(self.part(), PromptPart::History)
    }

    /// The kind in lower case: `message`, `summary`, `meta`, `archive`, `lost`, `omitted`, `disabled`,
    /// `standing`, `entry`, `recalled` or `question`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Message | Self::Summary(Level::Full) => "message",
            Self::Summary(Level::Summary) => "summary",
            Self::Summary(Level::Meta) => "meta",
            Self::Summary(Level::Archive) => "archive",
            Self::Lost => "lost",
            Self::Omitted => "omitted",
            Self::Disabled => "disabled",
            Self::Standing => "standing",
            Self::Entry => "entry",
            Self::Recalled => "recalled",
            Self::Question => "question",
        }
    }
}

/// One piece of a prompt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Piece {
    /// Kind of the piece.
    pub kind: PieceKind,
    /// Other conversation that the piece was recalled from; `None` for the prompt's own.
    pub conversation: Option<ConversationId>,
    /// Nodes that the piece shows or represents, or that an entry came from; `None` for the question and for an entry
    /// without sources.
    pub nodes: Option<NodeRange>,
    /// Number of the summary, for a summary.
    pub summary: Option<SummaryId>,
    /// Bytes of the message's text that a standing line shows; `None` for other pieces.
    pub excerpt: Option<Range<usize>>,
    /// Id of the entry, for an entry.
    pub entry: Option<EntryId>,
    /// Note of the entry.
    pub(crate) note: Option<NoteId>,
    /// Later message that changes what a recalled one says.
    pub changed_by: Option<NodeId>,
    /// Name or role of the speaker, as shown, but `tool` for a user's message that holds only results of tools; `None`
    /// for summaries, which name their speakers in their text, for the question and for lost messages.
    pub speaker: Option<String>,
    /// Times of the first and the last message; `None` if unknown, and for the question.
    pub times: Option<[Timestamp; 2]>,
    /// Source of the words; for a summary, the least trusted source of the covered messages; `None` for the question
    /// and for lost messages.
    pub source: Option<SourceClass>,
    /// Tokens of the text.
    pub tokens: u32,
    /// Reason for showing the piece.
    pub reason: String,
    /// Exact slice of the prompt's text that belongs to the piece: its lines, below the day and the heading of its
    /// conversation if the piece caused them.
    pub text: String,
}

impl Piece {
    /// The rendered question.
    pub(crate) fn question(text: String, count: &dyn Fn(&str) -> u32) -> Self {
        Self {
            kind: PieceKind::Question,
            conversation: None,
            nodes: None,
            summary: None,
            excerpt: None,
            entry: None,
            note: None,
            changed_by: None,
            speaker: None,
            times: None,
            source: None,
            tokens: count(&text),
            reason: "the question".to_owned(),
            text,
        }
    }

    /// Id of the piece, the same in every prompt that shows it: `message 7`, `summary 3` (the summary's own number),
    /// `message 7, bytes 12-40` for a standing line, `messages 7-12` for lost ones, `message 7 of trip` for one of
    /// another conversation, `entry e7`, `question`.
    #[must_use]
    pub fn id(&self) -> String {
        if let Some(entry) = self.entry {
            return format!("entry {entry}");
        }
        let nodes = self.nodes.map(|nodes| {
            let name = if nodes.count() == 1 { "message" } else { "messages" };
            let of = self.conversation.as_ref().map(|conversation| format!(" of {conversation}")).unwrap_or_default();
            format!("{name} {nodes}{of}")
        });
        match (self.summary, &self.excerpt, nodes) {
            (Some(summary), _, _) => format!("summary {summary}"),
            (None, Some(bytes), Some(nodes)) => format!("{nodes}, bytes {}-{}", bytes.start, bytes.end),
            (None, None, Some(nodes)) => nodes,
            (None, _, None) => self.kind.as_str().to_owned(),
        }
    }
}
