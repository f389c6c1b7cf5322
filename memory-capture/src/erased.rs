//! Messages that were erased from another conversation, which an import under another name would bring back.

use memory::{
    ConversationId, Message, MessageKey, Timestamp,
    port::{Store, StoreError},
};

/// Bytes of a key that no other message has by chance: a hash of what was imported, or an id as programs draw them. A
/// shorter id, such as `7`, names another message in another file.
const UNIQUE: usize = 16;

/// True for an id that names one message in all files: no hash of what was said, which others may have said as well.
pub(crate) fn is_unique(key: &MessageKey) -> bool {
    key.as_str().len() >= UNIQUE && !["record-", "line-"].iter().any(|begin| key.as_str().starts_with(begin))
}

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
            let is_erased = match key {
                Some(key) => was_erased(store, conversations.iter().filter(|other| *other != to), key).await?,
                None => false,
            };
            if !is_erased {
                left.push((message, at));
            }
        }
        *batch = left;
        self.conversations = Some(conversations);
        Ok(read - batch.len())
    }
}

/// True if the message with a key was erased from one of these conversations.
async fn was_erased(
    store: &dyn Store,
    conversations: impl Iterator<Item = &ConversationId>,
    key: &MessageKey,
) -> Result<bool, StoreError> {
    for from in conversations {
        if let Some(node) = store.find_key(from, key).await?
            && store.node(from, node).await?.is_erased
        {
            return Ok(true);
        }
    }
    Ok(false)
}
