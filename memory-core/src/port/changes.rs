//! What happened to a conversation since somebody last looked.

use crate::{NodeId, NodeOutline, SummaryOutline};

/// How far somebody has followed a conversation: what [`Store::changes`](super::Store::changes) gives and takes.
/// It means something to the opening of the store that gave it, and to no other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Revision {
    /// Another one when the store has read everything anew.
    pub epoch: u64,
    /// How many nodes there were.
    pub nodes: u64,
    /// How many summaries were recorded, lost ones included.
    pub summaries: u64,
    /// How many times the weight or the pin of a node was changed.
    pub revised: u64,
}

/// What happened to a conversation since a [`Revision`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// Everything there is, and what was known before is void: the store was read anew, or what happened since is
    /// more than it keeps.
    pub is_whole: bool,
    /// Outlines of the nodes that were appended, in order.
    pub nodes: Vec<NodeOutline>,
    /// Nodes from before whose weight or pin was changed, as they are now.
    pub revised: Vec<(NodeId, NodeOutline)>,
    /// The summaries that were recorded and can be read, in order of their numbers. They cover no node that is neither
    /// known nor among these.
    pub summaries: Vec<SummaryOutline>,
    /// Where to go on from.
    pub revision: Revision,
}
