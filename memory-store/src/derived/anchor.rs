//! The leaves of a conversation, by which a derived file shows that it was derived from this very log.

use std::ops::RangeInclusive;

use memory_core::{ConversationId, Hash, NodeId};

use crate::log::Leaves;

/// A conversation, with its log if there is one.
#[derive(Clone, Debug)]
pub(super) struct Anchor {
    leaves: Option<Leaves>,
    conversation: ConversationId,
}

impl Anchor {
    /// `leaves` are those of the log; without a log the caller ensures that the nodes are the same.
    pub(super) fn new(leaves: Option<&Leaves>, conversation: &ConversationId) -> Self {
        Self { leaves: leaves.cloned(), conversation: conversation.clone() }
    }

    pub(super) fn conversation(&self) -> &ConversationId {
        &self.conversation
    }

    /// The id of the log's store; zeros without a log.
    pub(super) fn store(&self) -> [u8; 16] {
        self.leaves.as_ref().map_or([0; 16], Leaves::store)
    }

    /// The leaf of a node, zeros without a log; `None` when the log has no such node or cannot read it.
    pub(super) fn leaf(&self, node: u64) -> Option<Hash> {
        match &self.leaves {
            Some(leaves) => leaves.get(&self.conversation, NodeId::new(node)?),
            None => Some(Hash::from_bytes([0; 32])),
        }
    }

    /// The first of these nodes that can be read, and its leaf.
    pub(super) fn first_readable(&self, mut nodes: RangeInclusive<u64>) -> Option<(u64, Hash)> {
        nodes.find_map(|node| Some((node, self.leaf(node)?)))
    }

    /// The last of these nodes that can be read. Data derived from the nodes after it is not written, since its log
    /// could not be identified later. `None` where the log does not have all of these nodes.
    pub(super) fn last_readable(&self, nodes: RangeInclusive<u64>) -> Option<u64> {
        if self.leaves.as_ref().is_some_and(|leaves| leaves.count(&self.conversation) < *nodes.end()) {
            return None;
        }
        nodes.rev().find(|node| self.leaf(*node).is_some())
    }
}
