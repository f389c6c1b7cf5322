//! The user's time zone in messages that state none.

use memory_core::{
    ConversationId, Message, NodeDraft,
    port::{Appended, Store, StoreError},
};

use crate::parts::Parts;

/// Appends drafts, with the user's UTC offset where they state none, so that a view of them depends on the log and not
/// on a configuration.
///
/// # Errors
/// If the store fails; then nothing is appended.
pub(crate) async fn append(
    parts: &Parts,
    conversation: &ConversationId,
    mut drafts: Vec<NodeDraft>,
) -> Result<Vec<Appended>, StoreError> {
    let states_own: Vec<bool> = drafts.iter().map(|draft| draft.message.utc_offset().is_some()).collect();
    for (draft, states_own) in drafts.iter_mut().zip(&states_own) {
        if let Some(offset) = parts.clock.utc_offset(draft.at).filter(|_| !states_own) {
            draft.message.state_utc_offset(offset);
        }
    }
    if drafts.iter().all(|draft| draft.message.key.is_none()) {
        return parts.store.append(conversation, drafts).await;
    }
    match parts.store.append(conversation, drafts.clone()).await {
        // The message may be there since before the zone was configured, or since it was another.
        Err(error @ StoreError::KeyConflict { .. }) => {
            let mut as_there = drafts.clone();
            for (draft, _) in as_there.iter_mut().zip(&states_own).filter(|(_, states_own)| !**states_own) {
                take_offset(&*parts.store, conversation, &mut draft.message).await?;
            }
            if as_there == drafts { Err(error) } else { parts.store.append(conversation, as_there).await }
        }
        appended => appended,
    }
}

/// Gives a message the UTC offset of the one that has its key.
async fn take_offset(
    store: &dyn Store,
    conversation: &ConversationId,
    message: &mut Message,
) -> Result<(), StoreError> {
    let Some(key) = message.key.clone() else { return Ok(()) };
    let Some(node) = store.find_key(conversation, &key).await? else { return Ok(()) };
    message.metadata.remove("utc_offset");
    if let Some(offset) = store.node(conversation, node).await?.message.utc_offset() {
        message.state_utc_offset(offset);
    }
    Ok(())
}
