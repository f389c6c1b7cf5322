//! The messages around a match.

use memory_core::{Node, NodeId, NodeRange, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::shorten;

/// The most messages on each side of a match.
pub(super) const MOST: u64 = 20;
/// The most characters of a message that are shown in text.
pub(super) const MOST_CHARS: usize = 120;

/// A node with `count` more on each side, even beyond the end of the conversation.
pub(super) fn run(node: NodeId, count: u64) -> NodeRange {
    NodeRange::single(node).widen(count, u64::MAX)
}

/// A message with its most important members.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Said<'a> {
    /// Number of the message.
    node: NodeId,
    /// Name or role of the speaker.
    speaker: &'a str,
    /// Time of the message.
    at: Timestamp,
    /// Text of the message.
    text: String,
}

impl<'a> Said<'a> {
    pub(super) fn of(node: &'a Node) -> Self {
        Self { node: node.id, speaker: node.message.voice(), at: node.at, text: node.message.text() }
    }
}

/// The beginning of a message's text, with its speaker.
pub(super) fn beginning(node: &Node) -> String {
    format!("{}: {}", node.message.voice(), shorten(&node.message.text(), MOST_CHARS))
}
