//! Sessions of Gemini CLI, as one object or as a log of changes, and contents of Google's API.
//!
//! The log repeats a message whenever one of its calls ends, takes messages back, and replaces the messages that the
//! model is shown. A message that was taken back stays, on a branch of its own.

mod parts;

use std::collections::HashMap;

use memory_core::{Message, Role};
use serde_json::Value;

pub(crate) use parts::Parts;

use crate::{
    TranscriptError, Why,
    blocks::Blocks,
    branches::{BranchNode, Chats},
    members::{by_model, keep, others, says_something, time},
    names::Chain,
    out::{ItemQueue, says_nothing},
    reader::FormatReader,
    records::RecordPlace,
    turn::{Turn, thought},
};

/// Members of a message that are read, or carry no content.
#[rustfmt::skip]
const TAKEN: [&str; 11] = [
    "id", "timestamp", "type", "content", "displayContent", "toolCalls", "thoughts", "tokens", "model", "role", "parts",
];
/// Members of a session that are settings and notes.
#[rustfmt::skip]
const SESSION_NOTES: [&str; 11] = [
    "sessionId", "projectHash", "startTime", "lastUpdated", "messages", "summary", "directories", "kind",
    "activeExtensionName", "authType", "memoryScratchpad",
];
/// Members of a call that are read, or are for display.
#[rustfmt::skip]
const CALL_NOTES: [&str; 11] = [
    "id", "name", "args", "result", "status", "timestamp", "displayName", "description", "resultDisplay",
    "renderOutputAsMarkdown", "agentId",
];
/// Beginnings of texts that the program puts before a person's words.
const BOILERPLATE: [&str; 3] = ["<session_context>", "<hook_context>", "This is the Gemini CLI. We are setting up"];
/// Types of messages. A record of any other type only adds to the message of its id.
#[rustfmt::skip]
const TYPES: [&str; 9] = ["user", "gemini", "model", "function", "tool", "system", "info", "error", "warning"];
/// Beginning of a summary that the model is shown in place of history.
const SNAPSHOT: &str = "<state_snapshot>";

#[derive(Debug, Default)]
pub(crate) struct Gemini {
    name: String,
    session: Session,
    chats: Chats,
}

/// A session that is being read.
#[derive(Debug, Default)]
struct Session {
    id: Option<String>,
    title: Option<String>,
    messages: Vec<Recorded>,
    places: HashMap<String, usize>,
    /// Messages that were not taken back.
    live: Vec<String>,
    /// Source of ids for messages without one.
    chain: Chain,
}

/// A message, in the order of the first records.
#[derive(Debug)]
struct Recorded {
    id: String,
    /// The message before it.
    parent: Option<String>,
    value: Value,
    /// Place of its first record.
    place: RecordPlace,
}

/// Adds a later record to the message of the same id: what the record lacks stays.
fn update(there: &mut Value, later: Value) {
    let (Some(members), Value::Object(later)) = (there.as_object_mut(), later) else { return };
    for (name, value) in later {
        let is_note = name == "type" && !value.as_str().is_some_and(|kind| TYPES.contains(&kind));
        if !is_note && says_something(&value) || !members.contains_key(&name) {
            members.insert(name, value);
        }
    }
}

impl Session {
    fn take(&mut self, message: Value, place: RecordPlace) {
        self.chain.take(&crate::exact::written(&message));
        let id = message.get("id").and_then(Value::as_str).map_or_else(|| self.chain.key().to_string(), str::to_owned);
        if let Some(there) = self.places.get(&id).and_then(|place| self.messages.get_mut(*place)) {
            update(&mut there.value, message);
            return;
        }
        self.places.insert(id.clone(), self.messages.len());
        self.messages.push(Recorded { id: id.clone(), parent: self.live.last().cloned(), value: message, place });
        self.live.push(id);
    }

    /// Takes back a message and what follows it; all of them if the session has no such message.
    fn rewind(&mut self, to: &str) {
        let place = self.live.iter().position(|id| id == to).unwrap_or_default();
        self.live.truncate(place);
    }

    /// Takes the messages that the model is shown from now on. Known ones are updated; repetitions of others are
    /// skipped.
    fn replace(&mut self, shown: Vec<Value>, out: &mut ItemQueue) {
        for message in shown {
            let said = &message;
            let is_there = said["id"].as_str().is_some_and(|id| self.places.contains_key(id));
            let repeats = |there: &Recorded| {
                ["type", "content", "toolCalls"].iter().all(|name| there.value.get(name) == said.get(name))
            };
            if !is_there && self.messages.iter().any(repeats) {
                out.skip(Why::Repeated, "message that the model is shown again");
            } else {
                self.take(message, out.place);
            }
        }
    }
}

impl Gemini {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    fn emit(&mut self, out: &mut ItemQueue) {
        let session = std::mem::take(&mut self.session);
        let mut parts = Parts::default();
        let mut nodes = Vec::with_capacity(session.messages.len());
        let end = out.place;
        for Recorded { id, parent, value, place } in &session.messages {
            out.place = *place;
            let messages = messages(value, &mut parts, out);
            nodes.push(BranchNode { id, parent: parent.as_deref(), messages, at: time(&value["timestamp"]) });
        }
        out.place = end;
        if nodes.is_empty() {
            return;
        }
        let id = session.id.as_deref().unwrap_or(&self.name);
        let main = session.live.last().map(String::as_str);
        self.chats.emit(id, session.title.as_deref(), nodes, main, "message", out);
    }

    /// Reads the members of a session.
    fn describe(&mut self, session: &Value, out: &mut ItemQueue) {
        let id = session["sessionId"].as_str();
        if id.is_some() && self.session.id.is_some() && id != self.session.id.as_deref() {
            self.emit(out);
        }
        out.unknown("session.", session, &SESSION_NOTES);
        self.session.id = id.map(str::to_owned).or(self.session.id.take());
        self.session.title = session["summary"].as_str().map(str::to_owned).or(self.session.title.take());
    }
}

/// The messages of a record: an answer with calls also gives their results.
fn messages(value: &Value, parts: &mut Parts, out: &mut ItemQueue) -> Vec<Message> {
    let role = match value["type"].as_str().or(value["role"].as_str()) {
        Some("user") => Role::User,
        Some("gemini" | "model") => Role::Assistant,
        Some("function" | "tool") => Role::Tool,
        Some("system") => Role::System,
        Some(note @ ("info" | "error" | "warning")) => {
            out.skip(Why::Note, note);
            return Vec::new();
        }
        other => {
            out.skip(Why::Unknown, &format!("message of the type {}", other.unwrap_or("(none)")));
            return Vec::new();
        }
    };
    let content = parts.blocks(value.get("parts").unwrap_or(&value["content"]));
    let mut messages = match role {
        Role::Assistant => answer(value, content, parts),
        _ => vec![content.of_role(role)],
    };
    messages.retain(|message| !says_nothing(&message.content));
    let said = messages.first().map(Message::text).unwrap_or_default();
    if role == Role::User && BOILERPLATE.iter().any(|begin| said.trim_start().starts_with(begin)) {
        out.skip(Why::Note, "context of the program");
        return Vec::new();
    }
    if said.trim_start().starts_with(SNAPSHOT) {
        out.skip(Why::View, "summary of a compaction");
        return Vec::new();
    }
    match messages.first_mut() {
        Some(first) => {
            if value["tokens"].is_object() {
                first.metadata.insert("usage".to_owned(), crate::exact::json(&value["tokens"]));
            }
            keep(first, others(value, &TAKEN));
        }
        None => out.skip(Why::Empty, role.as_str()),
    }
    messages.into_iter().map(|message| by_model(message, value["model"].as_str())).collect()
}

fn answer(value: &Value, content: Blocks, parts: &mut Parts) -> Vec<Message> {
    let mut turn = Turn::default();
    for thinking in value["thoughts"].as_array().into_iter().flatten() {
        let texts: Vec<_> = ["subject", "description"].iter().filter_map(|name| thinking[*name].as_str()).collect();
        turn.say(thought(&texts.join("\n")));
    }
    content.each().for_each(|block| turn.say(block));
    for call in value["toolCalls"].as_array().into_iter().flatten() {
        let name = call["name"].as_str().unwrap_or("unknown");
        let id = parts.call_id(call["id"].as_str(), name);
        let beside = others(call, &CALL_NOTES);
        let result = parts.result_of(&id, call);
        turn.call((crate::blocks::call(&id, name, &call["args"]), beside), result);
    }
    turn.messages()
}

impl FormatReader for Gemini {
    fn record(&mut self, record: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let Some(mut value) = out.parsed::<Value>(record, "value")? else { return Ok(()) };
        let list = |value: &mut Value, name: &str| match value.get_mut(name).map(Value::take) {
            Some(Value::Array(list)) => list,
            _ => Vec::new(),
        };
        if let Some(to) = value.get("$rewindTo").and_then(Value::as_str) {
            self.session.rewind(to);
        } else if let Some(set) = value.get_mut("$set") {
            let shown = list(set, "messages");
            self.describe(set, out);
            self.session.replace(shown, out);
        } else if value.get("parts").is_some() || value.get("id").is_some() && value.get("type").is_some() {
            self.session.take(value, out.place);
        } else {
            let said: Vec<_> = ["messages", "history", "contents"].iter().map(|name| list(&mut value, name)).collect();
            if said.iter().all(Vec::is_empty) && value.get("sessionId").is_none() {
                out.skip(Why::Unknown, "record");
                return Ok(());
            }
            if let Some(members) = value.as_object_mut() {
                members.remove("history");
                members.remove("contents");
            }
            self.describe(&value, out);
            said.into_iter().flatten().for_each(|message| self.session.take(message, out.place));
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        self.emit(out);
        Ok(())
    }
}
