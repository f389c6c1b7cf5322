//! The messages around those that were found.

use memory_core::{Node, NodeId, NodeRange};
use serde_json::{Value, json};

use crate::output::{known, shorten};

/// The most messages on each side of one that was found.
pub(super) const MOST: u64 = 20;
/// The most characters of a message that are shown in text.
pub(super) const MOST_CHARS: usize = 120;

/// A node with `count` more on each side, wherever the conversation ends.
pub(super) fn run(node: NodeId, count: u64) -> NodeRange {
    NodeRange::single(node).widen(count, u64::MAX)
}

pub(super) fn to_json(node: &Node) -> Value {
    let message = &node.message;
    json!({"node": node.id.get(), "speaker": message.voice(), "at": known(node.at), "text": message.text()})
}

/// The beginning of what was said, with who said it.
pub(super) fn beginning(node: &Node) -> String {
    format!("{}: {}", node.message.voice(), shorten(&node.message.text(), MOST_CHARS))
}
