//! A conversation that questions are asked about.

use anyhow::{Context, Result, ensure};
use memory_cli::import::ImportedConversation;
use memory_core::{ConversationId, MessageKey, NodeDraft, NodeId, NodeOutline, Timestamp};

use super::EvalParts;

/// An imported conversation.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) id: ConversationId,
    /// What is known of each node.
    pub(super) outline: Vec<NodeOutline>,
    /// The turn that each node was.
    keys: Vec<MessageKey>,
}

impl Subject {
    /// Appends a conversation to the store. A turn without a time was said when the one before it was.
    pub(super) async fn import(parts: &EvalParts, conversation: ImportedConversation) -> Result<Self> {
        let ImportedConversation { id, messages } = conversation;
        let mut keys = Vec::with_capacity(messages.len());
        let mut drafts = Vec::with_capacity(messages.len());
        let mut now = Timestamp::default();
        for (message, at) in messages {
            now = at.unwrap_or(now);
            keys.push(message.key.clone().context("a turn has no id")?);
            let tokens = parts.counter.count(&message.text());
            drafts.push(NodeDraft::new(message, now, tokens));
        }
        parts.store.append(&id, drafts).await?;
        let outline = parts.store.outline(&id).await?;
        ensure!(outline.len() == keys.len(), "a turn id stands twice in the conversation, or another was in the store");
        Ok(Self { id, outline, keys })
    }

    /// The turn that a node was.
    pub(super) fn key(&self, node: NodeId) -> Option<MessageKey> {
        self.keys.get(node.index()).cloned()
    }
}
