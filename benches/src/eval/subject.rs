//! A conversation that is asked questions.

use anyhow::{Context, Result, ensure};
use memory_cli::import::{ImportedConversation, eval::Question};
use memory_core::{ConversationId, Message, MessageKey, Node, NodeDraft, NodeId, NodeOutline, NodeRange, Timestamp};

use super::EvalParts;

/// An imported conversation.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) id: ConversationId,
    /// Outline of each node.
    pub(super) outline: Vec<NodeOutline>,
    /// The turn of each node.
    keys: Vec<MessageKey>,
}

impl Subject {
    /// A conversation without messages.
    pub(super) fn empty(id: ConversationId) -> Self {
        Self { id, outline: Vec::new(), keys: Vec::new() }
    }

    /// Appends a conversation to the store.
    pub(super) async fn import(parts: &EvalParts, conversation: ImportedConversation) -> Result<Self> {
        let ImportedConversation { id, messages } = conversation;
        let mut subject = Self::empty(id);
        subject.say(parts, messages).await?;
        Ok(subject)
    }

    /// Appends its next messages. A turn without a time gets that of the turn before it.
    pub(super) async fn say(&mut self, parts: &EvalParts, messages: Vec<(Message, Option<Timestamp>)>) -> Result<()> {
        let mut drafts = Vec::with_capacity(messages.len());
        let mut now = self.outline.last().map(|last| last.at).unwrap_or_default();
        for (message, at) in messages {
            now = at.unwrap_or(now);
            self.keys.push(message.key.clone().context("a turn has no id")?);
            let tokens = parts.counter.count(&message.text());
            drafts.push(NodeDraft::new(message, now, tokens));
        }
        parts.store.append(&self.id, drafts).await?;
        self.outline = parts.store.outline(&self.id).await?;
        let is_all = self.outline.len() == self.keys.len();
        ensure!(is_all, "a turn id stands twice in the conversation, or another was in the store");
        Ok(())
    }

    /// All nodes, with their texts.
    pub(super) async fn nodes(&self, parts: &EvalParts) -> Result<Vec<Node>> {
        let Some(all) = NodeRange::first_n(self.outline.len() as u64) else { return Ok(Vec::new()) };
        Ok(parts.store.nodes(&self.id, all).await?)
    }

    /// The share of a question's evidence among some nodes, 0..=1; `None` if the data names no evidence.
    #[expect(clippy::cast_precision_loss, reason = "counts of turns")]
    pub(super) fn evidence_among(&self, question: &Question, nodes: impl Iterator<Item = NodeId>) -> Option<f64> {
        let keys = nodes.filter_map(|node| self.key(node));
        let found = keys.filter(|key| question.evidence.contains(key.as_str())).count();
        Some(found as f64 / question.evidence.len() as f64).filter(|_| !question.evidence.is_empty())
    }

    /// The turn of a node.
    pub(super) fn key(&self, node: NodeId) -> Option<MessageKey> {
        self.keys.get(node.index()).cloned()
    }
}
