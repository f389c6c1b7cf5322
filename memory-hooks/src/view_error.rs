//! Why a past view cannot be shown as it was.

use std::fmt;

use memory_core::{ConversationId, NodeRange, Shown, SummaryId, ViewId};

use crate::AsOf;

/// Why a past view cannot be shown as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// None was recorded by then.
    #[error("no view of `{conversation}` was recorded {asked}; it has {views}")]
    NotRecorded {
        /// The conversation.
        conversation: ConversationId,
        /// What was asked for.
        asked: AsOf,
        /// The number of the last one that was, 0 for none.
        views: u64,
    },
    /// The record of the one that it may be is lost.
    #[error("the record of view {view} of `{conversation}`, which may be the one, cannot be read any more")]
    Lost {
        /// The conversation.
        conversation: ConversationId,
        /// The view.
        view: ViewId,
    },
    /// It was written out by another version of this software.
    #[error(
        "view {view} of `{conversation}` was written out in layout {layout}, and this version knows layout {known}"
    )]
    OtherLayout {
        /// The conversation.
        conversation: ConversationId,
        /// The view.
        view: ViewId,
        /// Its layout.
        layout: u32,
        /// The layout that is known.
        known: u32,
    },
    /// Tool results were shortened by the count of another counter.
    #[error(
        "view {view} of `{conversation}` shortened tool results as `{counter}` counts tokens: open the memory with that \
         counter, it has `{ours}`"
    )]
    OtherCounter {
        /// The conversation.
        conversation: ConversationId,
        /// The view.
        view: ViewId,
        /// The counter then.
        counter: String,
        /// The counter now.
        ours: String,
    },
    /// What it would show is not what was shown.
    #[error("view {view} of `{conversation}` is not what was shown: {}", listed(differences))]
    Differs {
        /// The conversation.
        conversation: ConversationId,
        /// The view.
        view: ViewId,
        /// All that differs, in the order in which it was shown.
        differences: Vec<Difference>,
    },
}

/// Something that a past view showed and that is not the same any more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// Messages cannot be read any more.
    Lost {
        /// Which.
        nodes: NodeRange,
        /// Why not.
        why: String,
    },
    /// A summary cannot be read any more.
    LostSummary(SummaryId),
    /// These pieces say something else.
    Text(Shown),
    /// The question does, or how the pieces are put together.
    Question,
    /// The conversation has too few messages for it, or its record makes no sense.
    Conversation {
        /// Messages now.
        nodes: u64,
        /// Messages then.
        then: u64,
    },
}

impl ViewError {
    /// Whether something was asked for that is not there.
    #[must_use]
    pub const fn is_not_found(&self) -> bool {
        matches!(self, Self::NotRecorded { .. })
    }

    /// Whether what is on disk is damaged, or was.
    #[must_use]
    pub const fn is_damage(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::Differs { .. })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
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
