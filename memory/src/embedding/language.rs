//! The language of a store's messages, as far as it decides on the model.

use memory_core::{
    NodeId, NodeRange, Role,
    port::{Store, StoreError},
};
use memory_search::is_english;

/// Conversations that are sampled, the newest.
const CONVERSATIONS: usize = 8;
/// Messages of each that are sampled, the newest.
const MESSAGES: u64 = 32;

/// True if most of the newest messages are in other languages than English.
///
/// # Errors
/// If the store fails.
pub(super) async fn is_mostly_foreign(store: &dyn Store) -> Result<bool, StoreError> {
    let mut newest = store.conversations().await?;
    newest.retain(|conversation| conversation.nodes > 0);
    newest.sort_by_key(|conversation| std::cmp::Reverse(conversation.last_at));
    let (mut english, mut foreign) = (0, 0);
    for conversation in newest.iter().take(CONVERSATIONS) {
        let last = conversation.nodes;
        let first = NodeId::new(last.saturating_sub(MESSAGES - 1).max(1));
        let Some(range) = first.zip(NodeId::new(last)).and_then(|(first, last)| NodeRange::new(first, last)) else {
            continue;
        };
        // Other calls report what cannot be read.
        let messages = store.nodes(&conversation.id, range).await.unwrap_or_default();
        let said = messages.iter().filter(|node| matches!(node.message.said_as(), Role::User | Role::Assistant));
        for is_english in said.filter_map(|node| is_english(&node.message.text())) {
            *(if is_english { &mut english } else { &mut foreign }) += 1;
        }
    }
    Ok(foreign > english)
}
