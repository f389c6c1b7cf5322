//! The format of the evaluation data: a conversation a line, a question a line.

mod questions;

use std::path::Path;

use memory_core::{ConversationId, Json, Message, MessageKey, Role, Timestamp};
pub use questions::{Question, questions};
use serde::Deserialize;

use super::{
    ImportError, ImportedConversation,
    jsonl::{lines, read_text},
};

#[derive(Deserialize)]
struct Conversation {
    conversation_id: String,
    turns: Vec<Turn>,
}

#[derive(Deserialize)]
struct Turn {
    turn_id: String,
    session: Option<i64>,
    timestamp: Option<String>,
    speaker: Option<String>,
    role: String,
    text: String,
}

/// Reads a file of one conversation a line, or the `conversations.jsonl` of a directory. A turn's id becomes the
/// message's key, its session a metadata member.
///
/// # Errors
/// [`ImportError`] with the line of the first fault; also for a file without messages.
pub fn read(path: &Path) -> Result<Vec<ImportedConversation>, ImportError> {
    let path = if path.is_dir() { path.join("conversations.jsonl") } else { path.to_owned() };
    let text = read_text(&path)?;
    let mut conversations = Vec::new();
    for (line, value) in lines(&text, &path)? {
        let fault = |why: String| ImportError::Line { path: path.clone(), line, why };
        let raw: Conversation = serde_json::from_value(value).map_err(|error| fault(error.to_string()))?;
        conversations.push(conversation(raw).map_err(fault)?);
    }
    if conversations.iter().all(|conversation| conversation.messages.is_empty()) {
        return Err(ImportError::Empty { path });
    }
    Ok(conversations)
}

fn conversation(raw: Conversation) -> Result<ImportedConversation, String> {
    let id = ConversationId::new(&raw.conversation_id).map_err(|error| error.to_string())?;
    let messages = raw.turns.into_iter().map(message).collect::<Result<_, _>>()?;
    Ok(ImportedConversation { id, messages })
}

fn message(turn: Turn) -> Result<(Message, Option<Timestamp>), String> {
    let fault = |why: String| format!("turn {}: {why}", turn.turn_id);
    let role = match turn.role.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        other => return Err(fault(format!("role `{other}` is neither user nor assistant"))),
    };
    let key = MessageKey::new(&turn.turn_id).map_err(|error| fault(error.to_string()))?;
    let at = turn.timestamp.as_deref().map(str::parse).transpose();
    let at = at.map_err(|error: memory_core::InvalidTimestamp| fault(error.to_string()))?;
    let mut message = Message::text_of(role, turn.text).key(key);
    message.speaker = turn.speaker;
    message.metadata.insert("imported".to_owned(), Json::from_value(&true.into()));
    if let Some(session) = turn.session {
        message.metadata.insert("session".to_owned(), Json::from_value(&session.into()));
    }
    Ok((message, at))
}
