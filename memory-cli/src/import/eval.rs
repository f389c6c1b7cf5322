//! The format of the evaluation data: a conversation a line, a question a line.

mod questions;

use std::path::Path;

use memory_core::{ConversationId, Json, Message, MessageKey, Role, Timestamp};
use memory_store::ReadLimits;
pub use questions::{Question, questions};
use serde::Deserialize;

use super::{
    ImportError, ImportedConversation,
    input::Input,
    lines::{Lines, not_json},
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

/// A file of one conversation a line.
#[derive(Debug)]
pub struct EvalFile {
    input: Input,
    conversations: Vec<ConversationId>,
}

impl EvalFile {
    /// Checks such a file, standard input for `-`, or the `conversations.jsonl` of a directory; reports the number of
    /// conversations read so far.
    ///
    /// # Errors
    /// [`ImportError`] with the line of the first fault; also for a file without messages.
    pub fn check(path: &Path, limits: ReadLimits, mut read: impl FnMut(usize)) -> Result<Self, ImportError> {
        let path = if path.is_dir() { path.join("conversations.jsonl") } else { path.to_owned() };
        let list = |lines: &mut Lines<'_>| {
            let (mut ids, mut messages) = (Vec::new(), 0);
            while let Some(conversation) = next(lines)? {
                messages += conversation.messages.len();
                ids.push(conversation.id);
                read(ids.len());
            }
            if messages == 0 { Err(ImportError::Empty { path: lines.path().to_owned() }) } else { Ok(ids) }
        };
        let (input, conversations) = Input::checked(&path, limits, list)?;
        Ok(Self { input, conversations })
    }

    /// The names of the file's conversations, in order.
    #[must_use]
    pub fn conversations(&self) -> &[ConversationId] {
        &self.conversations
    }

    /// Passes the file's conversations to `take` in order, until that fails.
    ///
    /// # Errors
    /// Errors of `take`, and [`ImportError::Changed`] for a file that changed since its check.
    pub async fn each<E: From<ImportError>>(
        &self,
        mut take: impl AsyncFnMut(ImportedConversation) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut lines = self.input.lines()?;
        let changed = || ImportError::Changed { path: self.input.path().to_owned() };
        for id in &self.conversations {
            let conversation = next(&mut lines).map_err(|_| changed())?.filter(|there| there.id == *id);
            take(conversation.ok_or_else(changed)?).await?;
        }
        Ok(())
    }
}

/// Reads such a file at once. A turn's id becomes the message's key, its session a metadata member.
///
/// # Errors
/// Same as [`EvalFile::check`].
pub fn read(path: &Path) -> Result<Vec<ImportedConversation>, ImportError> {
    let path = if path.is_dir() { path.join("conversations.jsonl") } else { path.to_owned() };
    let all = |lines: &mut Lines<'_>| {
        let mut conversations = Vec::new();
        while let Some(conversation) = next(lines)? {
            conversations.push(conversation);
        }
        Ok(conversations)
    };
    let (_, conversations) = Input::checked(&path, ReadLimits::default().line(u64::MAX >> 1), all)?;
    if conversations.iter().all(|conversation| conversation.messages.is_empty()) {
        return Err(ImportError::Empty { path });
    }
    Ok(conversations)
}

fn next(lines: &mut Lines<'_>) -> Result<Option<ImportedConversation>, ImportError> {
    let Some(line) = lines.next()? else { return Ok(None) };
    let read = serde_json::from_str(line).map_err(|error| not_json(&error)).and_then(conversation);
    read.map(Some).map_err(|why| lines.fault(why))
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
    let at = at.map_err(|error: memory_core::time::InvalidTimestamp| fault(error.to_string()))?;
    let mut message = Message::text_of(role, turn.text).key(key);
    message.speaker = turn.speaker;
    message.metadata.insert("imported".to_owned(), Json::from_value(&true.into()));
    if let Some(session) = turn.session {
        message.metadata.insert("session".to_owned(), Json::from_value(&session.into()));
    }
    Ok((message, at))
}
