//! Messages that were erased from another conversation, which an import under another name would bring back.

use memory::{
    ConversationId, Message, MessageKey, Timestamp,
    port::{Store, StoreError},
};

/// Bytes of a key that no other message has by chance: a hash of what was imported, or an id as programs draw them. A
/// shorter id, such as `7`, names another message in another file.
const UNIQUE: usize = 16;

/// Conversations with erased messages, looked up once.
#[derive(Debug, Default)]
pub(crate) struct ErasedElsewhere {
    conversations: Option<Vec<ConversationId>>,
}

impl ErasedElsewhere {
    /// Takes the messages out of a batch for `to` that were erased from another conversation; returns their number.
    pub(crate) async fn take_from(
        &mut self,
        store: &dyn Store,
        to: &ConversationId,
        batch: &mut Vec<(Message, Timestamp)>,
    ) -> Result<usize, StoreError> {
        let conversations = match self.conversations.take() {
            Some(known) => known,
            None => {
                let states = store.conversations().await?;
                states.into_iter().filter(|state| state.erased > 0).map(|state| state.id).collect()
            }
        };
        let mut left = Vec::with_capacity(batch.len());
        let read = batch.len();
        for (message, at) in batch.drain(..) {
            let key = message.key.as_ref().filter(|key| key.as_str().len() >= UNIQUE);
            let mut is_erased = false;
            for other in conversations.iter().filter(|other| *other != to && key.is_some()) {
                is_erased = is_erased || was_erased(store, other, key).await?;
            }
            if !is_erased {
                left.push((message, at));
            }
        }
        *batch = left;
        self.conversations = Some(conversations);
        Ok(read - batch.len())
    }
}

async fn was_erased(store: &dyn Store, from: &ConversationId, key: Option<&MessageKey>) -> Result<bool, StoreError> {
    let Some(key) = key else { return Ok(false) };
    match store.find_key(from, key).await? {
        Some(node) => Ok(store.node(from, node).await?.is_erased),
        None => Ok(false),
    }
}
