//! Failures of tools, in words for the model.

use memory::{Conversation, ConversationId, Error, Memory, NodeId, text::one_line};

/// A failure of a tool, in words for the model.
#[derive(Debug)]
pub struct Failure(pub String);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(one_line(&described(&error)).into_owned())
    }
}

/// An error with its causes.
fn described(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// The conversation that a model names: by its id, the beginning of one, its title, or `last`.
///
/// # Errors
/// If none matches, or the store fails, in words for the model.
pub async fn conversation(memory: &Memory, name: &str) -> Result<Conversation, Failure> {
    let name = name.trim();
    // A whole id is the most frequent case, and needs no look at all conversations.
    if name != "last"
        && let Ok(conversation) = memory.conversation(name)
        && conversation.overview().await.is_ok()
    {
        return Ok(conversation);
    }
    memory.resume(name).await.map_err(|error| match error.is_not_found() {
        true => Failure(format!("Conversation {} not found: list_conversations shows those there are", named(name))),
        false => error.into(),
    })
}

/// The conversation with this id.
pub(crate) fn whole(memory: &Memory, id: &ConversationId) -> Result<Conversation, Failure> {
    memory.conversation(id.as_str()).map_err(|error| Failure(error.to_string()))
}

/// The number of a message.
pub(crate) fn node(number: u64) -> Result<NodeId, Failure> {
    NodeId::new(number).ok_or_else(|| Failure("Node 0 not found: messages are numbered from 1".to_owned()))
}

/// `Node 99 not found`, with the existing numbers.
pub(crate) async fn no_node(conversation: &Conversation, node: NodeId) -> Failure {
    let id = conversation.id();
    Failure(match conversation.overview().await {
        Ok(state) => format!("Node {node} not found: conversation {id} has {} messages, numbered from 1", state.nodes),
        Err(_) => format!("Node {node} not found in conversation {id}"),
    })
}

/// A name as a model gave it, shortened, on one line.
#[must_use]
pub fn named(name: &str) -> String {
    let short: String = name.chars().take(80).collect();
    format!("`{}`", one_line(&short))
}
