//! A message with its parts, as `show` and `expand` print it.

use memory_core::{ConversationId, Node};
use memory_hooks::NodeDetails;
use memory_transcripts::exact;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The number of a message, its speaker and time.
pub(super) fn heading(node: &Node) -> String {
    let at = if node.at.is_known() { node.at.to_string() } else { "at no known time".to_owned() };
    let pinned = if node.pinned { ", pinned" } else { "" };
    let model = node.message.model().map(|model| format!(" ({model})")).unwrap_or_default();
    format!("{}: {}{model}, {at}{pinned}", node.id, node.message.voice())
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
