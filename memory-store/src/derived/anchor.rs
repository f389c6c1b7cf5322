//! Binding of derived files to the log that they were derived from, by the leaves of a conversation.

use std::ops::RangeInclusive;

use memory_core::{ConversationId, Hash, NodeId};

use crate::log::Leaves;

/// A conversation with the leaves of its log, if there is one.
#[derive(Clone, Debug)]
pub(super) struct Anchor {
    leaves: Option<Leaves>,
    conversation: ConversationId,
}

impl Anchor {
    /// `leaves` are those of the log; without a log the caller guarantees that nodes never change.
    pub(super) fn new(leaves: Option<&Leaves>, conversation: &ConversationId) -> Self {
        Self { leaves: leaves.cloned(), conversation: conversation.clone() }
    }

    pub(super) fn conversation(&self) -> &ConversationId {
        &self.conversation
    }

    /// Id of the log's store; zeros without a log.
    pub(super) fn store(&self) -> [u8; 16] {
        self.leaves.as_ref().map_or([0; 16], Leaves::store)
    }

    /// Leaf of a node; zeros without a log; `None` if the log lacks the node or cannot read it.
    pub(super) fn leaf(&self, node: u64) -> Option<Hash> {
        match &self.leaves {
            Some(leaves) => leaves.get(&self.conversation, NodeId::new(node)?),
            None => Some(Hash::from_bytes([0; 32])),
        }
    }

    /// First readable node of a range, with its leaf.
    pub(super) fn first_readable(&self, mut nodes: RangeInclusive<u64>) -> Option<(u64, Hash)> {
        nodes.find_map(|node| Some((node, self.leaf(node)?)))
    }

    /// Last readable node of a range. Data that is derived from later nodes is not written, since it could not be
    /// matched to a log later. `None` if the log does not have the whole range.
    pub(super) fn last_readable(&self, nodes: RangeInclusive<u64>) -> Option<u64> {
        if self.leaves.as_ref().is_some_and(|leaves| leaves.count(&self.conversation) < *nodes.end()) {
            return None;
        }
        nodes.rev().find(|node| self.leaf(*node).is_some())
    }
}
