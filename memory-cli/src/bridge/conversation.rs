//! Look-ups in a conversation that several requests share.

use memory::Conversation;
use memory_core::{Message, MessageKey, Node, json::message_to_strands, port::ConversationState};

use super::BridgeError;

/// The state of a conversation; `None` before its first message.
pub(super) async fn state_of(conversation: &Conversation) -> Result<Option<ConversationState>, BridgeError> {
    match conversation.overview().await {
        Ok(state) => Ok(Some(state)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The message under a key; `None` if the conversation has none.
pub(super) async fn keyed(conversation: &Conversation, key: &MessageKey) -> Result<Option<Node>, BridgeError> {
    match conversation.find_key(key).await {
        Ok(Some(node)) => Ok(Some(conversation.expand(node).await?)),
        Ok(None) => Ok(None),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// True if both have the same role and content, whatever their other members are.
pub(super) fn is_same(there: &Message, given: &Message) -> bool {
    let [there, given] = [there, given].map(message_to_strands);
    ["role", "content"].iter().all(|member| there.get(member) == given.get(member))
}
