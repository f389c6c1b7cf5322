//! Sessions that repeat the beginning of another, as a resumed one does: each becomes a fork.

use memory::{ConversationId, Message, MessageKey, NodeId};

use super::{Appender, StoredPart};
use crate::{Error, erased::is_unique};

/// Beginning that a new conversation shares with others; the default shares nothing yet.
#[derive(Debug, Default)]
pub(super) struct Shared {
    others: Vec<ConversationId>,
    /// The last shared message.
    node: Option<NodeId>,
}

impl Appender<'_> {
    /// True if a message repeats the next one of other conversations, as the beginning of a resumed session does. At
    /// the first message that does not, the conversation becomes a fork of one of them.
    pub(super) async fn repeats(
        &mut self,
        id: &ConversationId,
        shared: Shared,
        message: &Message,
    ) -> Result<bool, Error> {
        let Some(key) = message.key.as_ref().filter(|key| is_unique(key)) else {
            self.fork_of(id, shared).await?;
            return Ok(false);
        };
        let others = match shared.node {
            Some(_) => shared.others.clone(),
            None => self.beginning_with(id, key).await?,
        };
        let next = shared.node.map_or(NodeId::FIRST, NodeId::next);
        let mut left = Vec::new();
        for other in others.into_iter().filter(|other| other != id) {
            if self.store().find_key(&other, key).await? != Some(next) {
                continue;
            }
            match self.there(&other, message).await? {
                StoredPart::Same(node) | StoredPart::Erased(node) if node == next => left.push(other),
                _ => {}
            }
        }
        if left.is_empty() {
            self.fork_of(id, shared).await?;
            return Ok(false);
        }
        if let Some(target) = self.targets.get_mut(id) {
            target.shared = Some(Shared { others: left, node: Some(next) });
        }
        Ok(true)
    }

    /// Conversations that may begin with the message of this key, those of this import included.
    async fn beginning_with(&mut self, id: &ConversationId, key: &MessageKey) -> Result<Vec<ConversationId>, Error> {
        let stored = match self.stored.take() {
            Some(stored) => stored,
            None => self.store().conversations().await?.into_iter().map(|state| state.id).collect(),
        };
        let begun = self.begun.entry(key.clone()).or_default();
        let mut found = begun.clone();
        begun.push(id.clone());
        if !found.is_empty() {
            self.flush_all().await?;
        }
        for other in &stored {
            if self.store().find_key(other, key).await? == Some(NodeId::FIRST) {
                found.push(other.clone());
            }
        }
        self.stored = Some(stored);
        Ok(found)
    }

    /// Makes a conversation a fork after the messages that it shares.
    async fn fork_of(&mut self, id: &ConversationId, shared: Shared) -> Result<(), Error> {
        let (Some(other), Some(node)) = (shared.others.into_iter().next(), shared.node) else { return Ok(()) };
        let forked = self.parts.memory.conversation(other).fork(node, id.clone()).await?;
        if let Some(target) = self.targets.get_mut(id) {
            target.conversation = forked;
        }
        Ok(())
    }

    /// Ends what a conversation shares with others: its next message is its own.
    pub(super) async fn part(&mut self, id: &ConversationId) -> Result<(), Error> {
        match self.targets.get_mut(id).and_then(|target| target.shared.take()) {
            Some(shared) => self.fork_of(id, shared).await,
            None => Ok(()),
        }
    }

    pub(super) async fn part_all(&mut self) -> Result<(), Error> {
        for id in self.order.clone() {
            self.part(&id).await?;
        }
        Ok(())
    }
}
