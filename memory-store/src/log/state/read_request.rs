//! A node to be read: where its record stands, and the state of it that is only in memory.

use std::sync::Arc;

use memory_core::NodeId;

use crate::log::format::{location::Location, segment::Segment};

/// A node to be read, with what events changed in it since it was appended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadRequest {
    pub(crate) node: NodeId,
    pub(crate) location: Location,
    /// The longest that its record can be, where that is known.
    pub(crate) most_bytes: Option<u32>,
    pub(crate) importance: f32,
    pub(crate) pinned: bool,
}

/// Nodes to be read, and the segments to read them from.
pub(crate) type Snapshot = (Arc<Vec<Segment>>, Vec<ReadRequest>);
