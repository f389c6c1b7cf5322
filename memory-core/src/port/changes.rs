//! Changes to a conversation since a caller last looked.

use super::{Source, StoreError};
use crate::{ConversationId, NodeId, NodeOutline, SummaryOutline};

/// Position up to which a caller has followed a conversation. [`Store::changes`](super::Store::changes) takes one and
/// returns the next. A revision is valid only for the opening of the store that returned it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Revision {
    /// Changes when the store has read everything again.
    pub epoch: u64,
    /// How many nodes there were.
    pub nodes: u64,
    /// How many summaries were recorded, lost ones included.
    pub summaries: u64,
    /// How many times the importance or the pin of a node was changed.
    pub revised: u64,
}

impl Revision {
    crate::setters! {
        const epoch: u64,
        const nodes: u64,
        const summaries: u64,
        const revised: u64,
    }
}

/// Changes to a conversation since a [`Revision`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Changes {
    /// True if this holds everything, so that the caller must drop what it knew before: the store was read again, or
    /// more happened since than it keeps.
    pub is_whole: bool,
    /// Outlines of the nodes that were appended, in order.
    pub nodes: Vec<NodeOutline>,
    /// Earlier nodes whose importance or pin was changed, as they are now.
    pub revised: Vec<(NodeId, NodeOutline)>,
    /// Summaries that were recorded and can be read, in order of their numbers. Every node that they cover is known or
    /// among `nodes`.
    pub summaries: Vec<SummaryOutline>,
    /// The number of the last recorded summary, whether it can be read or not; 0 while there is none.
    pub last_summary: u64,
    /// Where to continue.
    pub revision: Revision,
}

impl Changes {
    /// No changes up to `revision`.
    #[must_use]
    pub fn new(revision: Revision) -> Self {
        Self {
            is_whole: false,
            nodes: Vec::new(),
            revised: Vec::new(),
            summaries: Vec::new(),
            last_summary: 0,
            revision,
        }
    }

    /// All of a conversation as it is now, without a place to continue from.
    ///
    /// # Errors
    /// When the conversation does not exist or cannot be read.
    pub async fn everything<S: Source + ?Sized>(source: &S, conversation: &ConversationId) -> Result<Self, StoreError> {
        let summaries = source.summaries(conversation).await?;
        // Read after the summaries, so that no summary covers a node that is not there yet.
        let nodes = source.outline(conversation).await?;
        let summaries = summaries.iter().map(|summary| SummaryOutline::of(summary.id, &summary.body)).collect();
        Ok(Self::new(Revision::default()).is_whole(true).nodes(nodes).summaries(summaries))
    }

    crate::setters! {
        const is_whole: bool,
        nodes: Vec<NodeOutline>,
        revised: Vec<(NodeId, NodeOutline)>,
        summaries: Vec<SummaryOutline>,
        const last_summary: u64,
    }
}
