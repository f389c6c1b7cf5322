//! What is asked of a conversation whatever the request.

use memory::Conversation;
use memory_core::ConversationState;

use super::BridgeError;

/// The state of a conversation; `None` before its first message.
pub(super) async fn state_of(conversation: &Conversation) -> Result<Option<ConversationState>, BridgeError> {
    let (store, id) = (conversation.memory().parts().store.clone(), conversation.id().clone());
    match conversation.memory().run(async move { Ok(store.conversation(&id).await?) }).await {
        Ok(state) => Ok(Some(state)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
