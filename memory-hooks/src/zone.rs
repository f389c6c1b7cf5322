//! The user's time zone in messages that state none.

use memory_core::{
    ConversationId, Message, NodeDraft, NodeRange,
    port::{Appended, StoreError},
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
        // The message may be there since before the zone or the redaction was configured, or since it was another.
        Err(error @ StoreError::KeyConflict { .. }) => {
            let mut as_there = drafts.clone();
            for (draft, states_own) in as_there.iter_mut().zip(&states_own) {
                take_stored(parts, conversation, &mut draft.message, *states_own).await?;
            }
            if as_there == drafts { Err(error) } else { parts.store.append(conversation, as_there).await }
        }
        appended => appended,
    }
}

/// Puts the message that has the same key in the place of one that differs from it by its UTC offset, which it did not
/// state, or by what a redaction masks.
async fn take_stored(
    parts: &Parts,
    conversation: &ConversationId,
    message: &mut Message,
    states_own: bool,
) -> Result<(), StoreError> {
    let Some(key) = message.key.clone() else { return Ok(()) };
    let Some(node) = parts.store.find_key(conversation, &key).await? else { return Ok(()) };
    let read = parts.store.whole_nodes(conversation, NodeRange::single(node)).await?;
    let Some(stored) = read.nodes.into_iter().next().filter(|stored| !stored.is_erased) else { return Ok(()) };
    let stored = stored.message;
    if !states_own {
        message.metadata.remove("utc_offset");
        if let Some(offset) = stored.utc_offset() {
            message.state_utc_offset(offset);
        }
    }
    if parts.are_alike(message, &stored) {
        *message = stored;
    }
    Ok(())
}
