//! A conversation to ask questions of, and the budget of its packed messages.

use std::str::FromStr;

use anyhow::{Context, Error, Result, bail, ensure};
use memory_core::{ConversationId, Message, MessageKey, Node, NodeDraft, NodeId, NodeOutline, NodeRange, Timestamp};

use super::{EvalParts, Question};

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

/// Overhead tokens of a message in addition to its text, as many as `score.py` charges.
pub(super) const PER_MESSAGE: u32 = 8;

/// The most tokens of the packed messages of one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// A fixed number of tokens.
    Tokens(u32),
    /// A tenth of the tokens of all messages.
    Tenth,
}

impl Budget {
    /// The budget for a conversation, in tokens.
    #[must_use]
    pub(super) fn of(self, outline: &[NodeOutline]) -> u32 {
        match self {
            Self::Tokens(tokens) => tokens,
            Self::Tenth => {
                let all: u64 = outline.iter().map(|node| u64::from(cost(node))).sum();
                u32::try_from(all / 10).unwrap_or(u32::MAX)
            }
        }
    }
}

/// Tokens of a shown message.
#[must_use]
pub(super) fn cost(node: &NodeOutline) -> u32 {
    node.tokens.saturating_add(PER_MESSAGE)
}

impl FromStr for Budget {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.parse() {
            Ok(0) => bail!("a budget of 0 tokens packs nothing"),
            Ok(tokens) => Ok(Self::Tokens(tokens)),
            Err(_) if text == "tenth" => Ok(Self::Tenth),
            Err(_) => bail!("expected a number of tokens, or `tenth`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use memory_core::{Role, Timestamp};

    use super::*;

    #[test]
    fn a_tenth_counts_the_headers() {
        let node = |tokens| {
            let mut node = NodeOutline::new(Timestamp::default(), Role::User);
            node.tokens = tokens;
            node
        };
        let outline = [node(92), node(42), node(42)];
        assert_eq!("tenth".parse::<Budget>().unwrap().of(&outline), 20);
        assert_eq!("300".parse::<Budget>().unwrap().of(&outline), 300);
        assert!("0".parse::<Budget>().is_err() && "third".parse::<Budget>().is_err());
    }
}
