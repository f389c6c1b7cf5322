//! Changes to a conversation since a caller's last read.

use super::{Source, StoreError};
use crate::{ConversationId, NodeId, NodeOutline, SummaryOutline};

/// Position up to which a caller knows a conversation. [`Store::changes`](super::Store::changes) takes a revision and
/// returns the next one. A revision is valid only for the opened store that returned it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Revision {
    /// Changes whenever the store has reread everything.
    pub epoch: u64,
    /// Number of nodes.
    pub nodes: u64,
    /// Number of recorded summaries, including lost ones.
    pub summaries: u64,
    /// Number of changes to the importance or pin of a node.
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
    /// True if this is the whole conversation, so that the caller must discard earlier knowledge: the store was reread,
    /// or has dropped the changes since the revision.
    pub is_whole: bool,
    /// Outlines of the nodes that were appended, in order.
    pub nodes: Vec<NodeOutline>,
    /// Earlier nodes whose importance or pin changed, in their current state.
    pub revised: Vec<(NodeId, NodeOutline)>,
    /// Readable summaries that were recorded, in order of their numbers. All nodes that they cover are known or in
    /// `nodes`.
    pub summaries: Vec<SummaryOutline>,
    /// Number of the last recorded summary, readable or not; 0 if there is none.
    pub last_summary: u64,
    /// Revision from which to continue.
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

    /// The whole current conversation, without a revision to continue from.
    ///
    /// # Errors
    /// If the conversation does not exist or cannot be read.
    pub async fn everything<S: Source + ?Sized>(source: &S, conversation: &ConversationId) -> Result<Self, StoreError> {
        let summaries = source.summaries(conversation).await?;
        // Nodes are read after the summaries, so that every summary covers known nodes.
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
