//! Forms of a message in the answers of commands.

use memory_core::{ConversationId, Node, NodeId, NodeRange, Timestamp};
use memory_hooks::NodeDetails;
use memory_transcripts::exact;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::output::{known, shorten};

/// The most messages on each side of a match.
pub(super) const MOST_AROUND: u64 = 20;
/// The most characters of a message that are shown in text.
pub(super) const MOST_CHARS: usize = 200;

/// A node with `count` more on each side, even beyond the end of the conversation.
pub(super) fn around(node: NodeId, count: u64) -> NodeRange {
    NodeRange::single(node).widen(count, u64::MAX)
}

/// A message with its most important members.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Brief<'a> {
    /// Number of the message.
    node: NodeId,
    /// Name or role of the speaker.
    speaker: &'a str,
    /// Time of the message.
    at: Timestamp,
    /// Text of the message.
    text: String,
}

impl<'a> Brief<'a> {
    pub(super) fn of(node: &'a Node) -> Self {
        Self { node: node.id, speaker: node.message.voice(), at: node.at, text: node.message.text() }
    }
}

/// A message with its parts, verbatim.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Detail<'a> {
    /// Conversation of the message.
    conversation: &'a ConversationId,
    #[serde(flatten)]
    details: &'a NodeDetails,
    /// Message, verbatim, as format.md describes messages.
    message: Value,
}

impl<'a> Detail<'a> {
    pub(super) fn of(conversation: &'a ConversationId, details: &'a NodeDetails) -> Self {
        Self { conversation, details, message: exact::message(&details.node.message) }
    }
}

/// The number of a message, its speaker and time.
pub(super) fn heading(node: &Node) -> String {
    let at = known(node.at).unwrap_or_else(|| "at no known time".to_owned());
    let pinned = if node.pinned { ", pinned" } else { "" };
    let disabled = if node.is_disabled { ", disabled" } else { "" };
    let model = node.message.model().map(|model| format!(" ({model})")).unwrap_or_default();
    format!("{}: {}{model}, {at}{pinned}{disabled}", node.id, node.message.voice())
}

/// The beginning of a message's text, with its speaker.
pub(super) fn beginning(node: &Node) -> String {
    format!("{}: {}", node.message.voice(), shorten(&node.message.text(), MOST_CHARS))
}
