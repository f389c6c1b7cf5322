//! Sessions of Strands in the log: an agent's messages are a conversation, and the session's documents are notes of
//! another, since a session has several agents.
//!
//! A document (a session, an agent, or a message whose record was changed) is recorded whole each time it changes. The
//! last one counts.

use std::{collections::BTreeMap, convert::Infallible, fmt::Display};

use memory::{Conversation, Error, Memory};
use memory_core::{
    Json, MessageKey, Node, NodeId, NodeRange,
    json::{message_from_strands, message_to_strands},
    port::{NoteChange, StoreError},
};
use memory_hooks::DocumentsNow;
use memory_transcripts::{agent_name, escaped_part};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    BridgeError,
    conversation::{is_same, keyed, state_of},
    message::StrandsMessage,
};

/// Request to a session.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum SessionRequest {
    CreateSession {
        session_id: String,
        session: Value,
    },
    ReadSession {
        session_id: String,
    },
    CreateAgent {
        session_id: String,
        agent_id: String,
        agent: Value,
    },
    ReadAgent {
        session_id: String,
        agent_id: String,
    },
    UpdateAgent {
        session_id: String,
        agent_id: String,
        agent: Value,
    },
    CreateMessage {
        session_id: String,
        agent_id: String,
        message: Map<String, Value>,
    },
    ReadMessage {
        session_id: String,
        agent_id: String,
        message_id: u64,
    },
    UpdateMessage {
        session_id: String,
        agent_id: String,
        message: Map<String, Value>,
    },
    ListMessages {
        session_id: String,
        agent_id: String,
        limit: Option<u64>,
        #[serde(default)]
        offset: u64,
    },
    WriteMultiAgent {
        session_id: String,
        multi_agent_id: String,
        state: Value,
    },
    ReadMultiAgent {
        session_id: String,
        multi_agent_id: String,
    },
}

impl SessionRequest {
    pub(super) const OPS: [&'static str; 11] = [
        "create_session",
        "read_session",
        "create_agent",
        "read_agent",
        "update_agent",
        "create_message",
        "read_message",
        "update_message",
        "list_messages",
        "write_multi_agent",
        "read_multi_agent",
    ];
}

/// The documents of each session that was read, so that reading continues where it ended.
pub(super) type Documents = BTreeMap<String, memory::Documents>;

/// The sessions of a store.
pub(super) struct Sessions<'a> {
    pub(super) memory: &'a Memory,
    pub(super) documents: &'a mut Documents,
}

/// The member of a message's metadata that holds the other members of its record.
const RECORD: &str = "strands_record";
/// The document of the session itself.
const SESSION: &str = "session";

impl Sessions<'_> {
    pub(super) async fn answer(&mut self, request: SessionRequest) -> Result<Value, BridgeError> {
        use SessionRequest as Ask;
        match request {
            Ask::CreateSession { session_id, session } => {
                if !self.begin(&session_id, SESSION, &session).await? {
                    return Err(BridgeError::SessionExists(format!("session {session_id} already exists")));
                }
                Ok(json!({"session": session}))
            }
            Ask::ReadSession { session_id } => Ok(json!({"session": self.document(&session_id, SESSION).await?})),
            Ask::CreateAgent { session_id, agent_id, agent } => {
                self.check_session(&session_id).await?;
                let name = agent_document(&agent_id);
                if !self.begin(&session_id, &name, &agent).await?
                    && self.document(&session_id, &name).await?.as_ref() != Some(&agent)
                {
                    let why = format!("agent {agent_id} is in session {session_id} already, and is another one");
                    return Err(BridgeError::SessionExists(why));
                }
                Ok(json!({"conversation": agent_name(&session_id, &agent_id)}))
            }
            Ask::ReadAgent { session_id, agent_id } => {
                let agent = self.document(&session_id, &agent_document(&agent_id)).await?;
                Ok(json!({"agent": agent, "conversation": agent_name(&session_id, &agent_id)}))
            }
            Ask::UpdateAgent { session_id, agent_id, agent } => {
                self.check_agent(&session_id, &agent_id).await?;
                self.write(&session_id, &agent_document(&agent_id), &agent).await?;
                Ok(json!({}))
            }
            Ask::CreateMessage { session_id, agent_id, message } => {
                self.check_agent(&session_id, &agent_id).await?;
                self.create_message(&session_id, &agent_id, message).await
            }
            Ask::ReadMessage { session_id, agent_id, message_id } => {
                let read = self.list(&session_id, &agent_id, message_id, Some(1)).await?;
                Ok(json!({"message": read.into_iter().next()}))
            }
            Ask::UpdateMessage { session_id, agent_id, message } => {
                let id = message_id(&message)?;
                if self.list(&session_id, &agent_id, id, Some(1)).await?.is_empty() {
                    return Err(BridgeError::NoSession(format!("agent {agent_id} has no message {id}")));
                }
                self.write(&session_id, &message_document(&agent_id, id), &message.into()).await?;
                Ok(json!({}))
            }
            Ask::ListMessages { session_id, agent_id, limit, offset } => {
                self.check_agent(&session_id, &agent_id).await?;
                Ok(json!({"messages": self.list(&session_id, &agent_id, offset, limit).await?}))
            }
            Ask::WriteMultiAgent { session_id, multi_agent_id, state } => {
                self.check_session(&session_id).await?;
                self.write(&session_id, &multi_agent_document(&multi_agent_id), &state).await?;
                Ok(json!({}))
            }
            Ask::ReadMultiAgent { session_id, multi_agent_id } => {
                Ok(json!({"state": self.document(&session_id, &multi_agent_document(&multi_agent_id)).await?}))
            }
        }
    }

    async fn check_session(&mut self, session: &str) -> Result<(), BridgeError> {
        match self.document(session, SESSION).await? {
            Some(_) => Ok(()),
            None => Err(BridgeError::NoSession(format!("session {session} does not exist"))),
        }
    }

    async fn check_agent(&mut self, session: &str, agent: &str) -> Result<(), BridgeError> {
        match self.document(session, &agent_document(agent)).await? {
            Some(_) => Ok(()),
            None => Err(BridgeError::NoSession(format!("agent {agent} does not exist in session {session}"))),
        }
    }

    /// The conversation of this name.
    fn conversation(&self, name: &str) -> Result<Conversation, BridgeError> {
        self.memory.conversation(name).map_err(|error| BridgeError::Config(error.to_string()))
    }

    /// The documents of a session.
    fn documents(&mut self, session: &str) -> Result<memory::Documents, BridgeError> {
        if let Some(known) = self.documents.get(session) {
            return Ok(known.clone());
        }
        let documents = self.memory.documents(&documents_of(session));
        let documents = documents.map_err(|error| BridgeError::Config(error.to_string()))?;
        self.documents.insert(session.to_owned(), documents.clone());
        Ok(documents)
    }

    /// The latest form of a document.
    async fn document(&mut self, session: &str, name: &str) -> Result<Option<Value>, BridgeError> {
        let name = name.to_owned();
        let text =
            self.documents(session)?.look(move |now| now.get(&name).map(|document| document.text.clone())).await?;
        Ok(text.map(|text| serde_json::from_str(&text).unwrap_or_default()))
    }

    /// Appends a new document; `false` if one exists under its name.
    async fn begin(&mut self, session: &str, name: &str, document: &Value) -> Result<bool, BridgeError> {
        let (name, text) = (name.to_owned(), document.to_string());
        let change = move |now: DocumentsNow<'_>| match now.get(&name) {
            Some(_) => Err(()),
            None => Ok((NoteChange::Write { name: name.clone(), text: text.clone() }, ())),
        };
        Ok(self.documents(session)?.change(change).await?.is_ok())
    }

    /// Appends a document.
    async fn write(&mut self, session: &str, name: &str, document: &Value) -> Result<(), BridgeError> {
        let (name, text) = (name.to_owned(), document.to_string());
        let change = move |_: DocumentsNow<'_>| {
            Ok::<_, Infallible>((NoteChange::Write { name: name.clone(), text: text.clone() }, ()))
        };
        let Ok(()) = self.documents(session)?.change(change).await?;
        Ok(())
    }

    /// Appends a message, which a manager over the same conversation may have done before, and answers its id.
    async fn create_message(
        &mut self,
        session: &str,
        agent: &str,
        mut record: Map<String, Value>,
    ) -> Result<Value, BridgeError> {
        let id = message_id(&record)?;
        let index = usize::try_from(id).unwrap_or(usize::MAX);
        let message = record.remove("message").unwrap_or_default();
        let read = message_from_strands(&message).map_err(|source| BridgeError::Message { index, source })?;
        let conversation = self.conversation(&agent_name(session, agent))?;
        let made = message.as_object().cloned().is_some_and(|members| StrandsMessage(members).is_view());
        let tracked = message.get("tracking_id").and_then(Value::as_str);
        for key in tracked.map(str::to_owned).into_iter().chain([format!("message:{id}")]) {
            let key = MessageKey::new(&key).map_err(|error| BridgeError::Malformed(error.to_string()))?;
            if let Some(there) = keyed(&conversation, &key).await? {
                // A view of the message has other words, and is never appended.
                if made || there.is_erased || is_same(&there.message, &read) {
                    let there = there.id.get() - 1;
                    // A repetition of the same words redacts them.
                    if record.get("redact_message").is_some_and(|redacted| !redacted.is_null()) {
                        record.insert("message".to_owned(), message);
                        record.insert("message_id".to_owned(), there.into());
                        self.write(session, &message_document(agent, there), &record.into()).await?;
                    }
                    return Ok(json!({"message_id": there}));
                }
                continue;
            }
            let nodes = state_of(&conversation).await?.map_or(0, |state| state.nodes);
            if nodes < id {
                return Err(BridgeError::NoSession(format!(
                    "agent {agent} has {nodes} messages, so the next has not the id {id}"
                )));
            }
            if made {
                let why = format!("message {id} was made from the log of agent {agent}, which is not appended to it");
                return Err(BridgeError::SessionExists(why));
            }
            if nodes > id {
                break;
            }
            let mut read = read.key(key);
            read.metadata.insert(RECORD.to_owned(), Json::from_value(&record.into()));
            match conversation.append(read).await {
                // Another process may have appended in between, so the id may differ from the given one.
                Ok(appended) => return Ok(json!({"message_id": appended.node.get() - 1})),
                Err(Error::Store(StoreError::KeyConflict { .. })) => break,
                Err(error) => return Err(error.into()),
            }
        }
        let next = state_of(&conversation).await?.map_or(0, |state| state.nodes);
        Err(BridgeError::MessageExists { agent: agent.to_owned(), id, next })
    }

    /// The records of messages.
    async fn list(
        &mut self,
        session: &str,
        agent: &str,
        offset: u64,
        limit: Option<u64>,
    ) -> Result<Vec<Value>, BridgeError> {
        let conversation = self.conversation(&agent_name(session, agent))?;
        let nodes = state_of(&conversation).await?.map_or(0, |state| state.nodes);
        let last = limit.map_or(nodes, |limit| nodes.min(offset.saturating_add(limit)));
        let ends = NodeId::new(offset.saturating_add(1)).zip(NodeId::new(last));
        let Some(range) = ends.and_then(|(first, last)| NodeRange::new(first, last)) else { return Ok(Vec::new()) };
        let prefix = message_document(agent, "");
        let documents = self.documents(session)?;
        let changed = documents.look(move |now| {
            let changed = now.all().filter_map(|(name, document)| {
                Some((name.strip_prefix(&prefix)?.parse().ok()?, document.text.clone()))
            });
            changed.collect::<BTreeMap<u64, String>>()
        });
        let changed = changed.await?;
        let of = |node: &Node| serde_json::from_str(changed.get(&(node.id.get() - 1))?).ok();
        Ok(conversation.messages(range).await?.iter().map(|node| of(node).unwrap_or_else(|| record(node))).collect())
    }
}

/// The record of a message.
fn record(node: &Node) -> Value {
    let at = node.at.to_string();
    let mut record = json!({
        "message": message_to_strands(&node.message),
        "message_id": node.id.get() - 1,
        "redact_message": null,
        "created_at": at,
        "updated_at": at,
    });
    if let (Some(members), Some(Value::Object(given))) =
        (record.as_object_mut(), node.message.metadata.get(RECORD).map(Json::to_value))
    {
        // The position counts, in case another process was first.
        members.extend(given.into_iter().filter(|(name, _)| name != "message_id"));
    }
    record
}

fn message_id(record: &Map<String, Value>) -> Result<u64, BridgeError> {
    let id = record.get("message_id").and_then(Value::as_u64);
    id.ok_or_else(|| BridgeError::Malformed("a record of a message has a `message_id` from 0".to_owned()))
}

fn agent_document(agent: &str) -> String {
    format!("agent:{}", escaped_part(agent))
}

fn multi_agent_document(multi_agent: &str) -> String {
    format!("multi-agent:{}", escaped_part(multi_agent))
}

fn message_document(agent: &str, id: impl Display) -> String {
    format!("message:{}:{id}", escaped_part(agent))
}

/// The conversation that holds the documents of a session.
fn documents_of(session: &str) -> String {
    format!("strands-documents:{}", escaped_part(session))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_sessions_share_a_conversation() {
        assert_eq!(agent_name("trip", "default"), "strands:trip:default");
        assert_ne!(agent_name("a:b", "c"), agent_name("a", "b:c"));
        assert_eq!(agent_name("a b", "é/x"), "strands:a%20b:%C3%A9%2Fx");
    }
}
