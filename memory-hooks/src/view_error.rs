//! Errors of reproducing a past view.

use std::fmt;

use memory_core::{ConversationId, NodeRange, SummaryId, ViewId, view::Shown};

use crate::AsOf;

/// Reasons why a past view cannot be reproduced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// No view was recorded by then.
    #[error("no view of `{conversation}` was recorded {asked}; it has {views}")]
    NotRecorded {
        /// The conversation.
        conversation: ConversationId,
        /// The request.
        asked: AsOf,
        /// The number of the last recorded view; 0 if there is none.
        views: u64,
    },
    /// The record of the view that may be the requested one is lost.
    #[error("the record of view {view} of `{conversation}`, which may be the one, cannot be read any more")]
    Lost {
        /// The conversation.
        conversation: ConversationId,
        /// The view.
        view: ViewId,
    },
    /// Another version of this software rendered the view.
    #[error(
        "view {view} of `{conversation}` was written out in layout {layout}, and this version knows layout {known}"
    )]
    OtherLayout {
        /// The conversation.
        conversation: ConversationId,
        /// The view.
        view: ViewId,
        /// Layout of the view.
        layout: u32,
        /// The newest layout that this version knows.
        known: u32,
    },
    /// Another token counter determined how tool results were shortened.
    #[error(
        "view {view} of `{conversation}` shortened tool results as `{counter}` counts tokens: open the memory with that \
         counter, it has `{ours}`"
    )]
    OtherCounter {
        /// The conversation.
        conversation: ConversationId,
        /// The view.
        view: ViewId,
        /// The counter of the view.
        counter: String,
        /// The counter of this memory.
        ours: String,
    },
    /// The content of the view has changed.
    #[error("view {view} of `{conversation}` is not what was shown: {}", listed(differences))]
    Differs {
        /// The conversation.
        conversation: ConversationId,
        /// The view.
        view: ViewId,
        /// All differences, in the order in which they were shown.
        differences: Vec<Difference>,
    },
}

/// A difference between a past view and its present content.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// Messages cannot be read any more.
    Lost {
        /// The messages.
        nodes: NodeRange,
        /// The reason.
        why: String,
    },
    /// A summary cannot be read any more.
    LostSummary(SummaryId),
    /// The text of these pieces differs.
    Text(Shown),
    /// The question or the joining of the pieces differs.
    Question,
    /// A difference in the shown messages of another conversation.
    Elsewhere {
        /// The other conversation.
        conversation: ConversationId,
        /// The difference.
        difference: Box<Difference>,
    },
    /// The conversation is not found: another owner's, or gone.
    NotFound,
    /// The conversation has too few messages for the view, or the record is invalid.
    Conversation {
        /// Messages now.
        nodes: u64,
        /// Messages then.
        then: u64,
    },
}

impl ViewError {
    /// True if the requested item does not exist.
    #[must_use]
    pub const fn is_not_found(&self) -> bool {
        matches!(self, Self::NotRecorded { .. })
    }

    /// True if data on disk is damaged, or was.
    #[must_use]
    pub const fn is_damage(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::Differs { .. })
    }
}

impl Difference {
    /// The difference in the shown messages of another conversation, if one is given.
    pub(crate) fn of(self, elsewhere: Option<&ConversationId>) -> Self {
        match elsewhere {
            Some(id) => Self::Elsewhere { conversation: id.clone(), difference: Box::new(self) },
            None => self,
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elsewhere { conversation, difference } => write!(f, "of `{conversation}`: {difference}"),
            Self::NotFound => f.write_str("the conversation is not found"),
            Self::Lost { nodes, why } => write!(f, "messages {nodes} are gone: {why}"),
            Self::LostSummary(id) => write!(f, "summary {id} is gone"),
            Self::Text(Shown::Messages(nodes)) => write!(f, "messages {nodes} say something else"),
            Self::Text(Shown::Summaries { first, count: 1 }) => write!(f, "summary {first} says something else"),
            Self::Text(Shown::Summaries { first, count }) => {
                write!(f, "one of {count} summaries from {first} on says something else")
            }
            Self::Text(Shown::Excerpt { node, .. }) => {
                write!(f, "the standing line of message {node} says something else")
            }
            Self::Text(Shown::Entry(note)) => write!(f, "the entry of note {note} is gone or says something else"),
            Self::Text(Shown::Changed { node, .. } | Shown::Part { node, .. }) => {
                write!(f, "a part of message {node} says something else")
            }
            Self::Text(Shown::Omitted(nodes)) => {
                write!(f, "the line for messages {nodes}, which were left out, says something else")
            }
            Self::Text(Shown::Disabled(nodes)) => {
                write!(f, "the line for disabled messages {nodes} says something else")
            }
            Self::Text(Shown::Lost(nodes)) => write!(f, "the line for lost messages {nodes} says something else"),
            Self::Question => f.write_str("the question, or what joins the pieces, says something else"),
            Self::Conversation { nodes, then } => {
                write!(f, "it is recorded of {then} messages, and the conversation has {nodes}")
            }
        }
    }
}

fn listed(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
