//! Requests for a recorded view.

use std::fmt;

use memory_core::{NodeId, Timestamp, ViewId, view::View};

/// A request for a past view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AsOf {
    /// Last view shown before any message after this one.
    Node(NodeId),
    /// Last view shown up to and including this time.
    Time(Timestamp),
    /// View with this number.
    View(ViewId),
}

impl AsOf {
    /// True if a view matches the request.
    pub(crate) fn is_met_by(&self, view: &View) -> bool {
        match self {
            Self::Node(node) => view.body.nodes <= node.get(),
            Self::Time(at) => view.body.at <= *at,
            Self::View(id) => view.id == *id,
        }
    }
}

impl fmt::Display for AsOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => write!(f, "up to message {node}"),
            Self::Time(at) => write!(f, "until {at}"),
            Self::View(id) => write!(f, "under number {id}"),
        }
    }
}
