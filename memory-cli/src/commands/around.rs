//! The messages around those that were found.

use memory_core::{Node, NodeId, NodeRange, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::shorten;

/// The most messages on each side of one that was found.
pub(super) const MOST: u64 = 20;
/// The most characters of a message that are shown in text.
pub(super) const MOST_CHARS: usize = 120;

/// A node with `count` more on each side, wherever the conversation ends.
pub(super) fn run(node: NodeId, count: u64) -> NodeRange {
    NodeRange::single(node).widen(count, u64::MAX)
}

/// A message in short.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Said<'a> {
    /// Its number.
    node: NodeId,
    /// The name or role of who said it.
    speaker: &'a str,
    /// When.
    at: Timestamp,
    /// What was said.
    text: String,
}

impl<'a> Said<'a> {
    pub(super) fn of(node: &'a Node) -> Self {
        Self { node: node.id, speaker: node.message.voice(), at: node.at, text: node.message.text() }
    }
}

/// The beginning of what was said, with who said it.
pub(super) fn beginning(node: &Node) -> String {
    format!("{}: {}", node.message.voice(), shorten(&node.message.text(), MOST_CHARS))
}
