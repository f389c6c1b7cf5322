//! Sessions of opencode: an export, its folder of small files, or its database. Each gives the session, then each
//! message followed by its parts.

use std::path::{Path, PathBuf};

use memory_core::{ContentBlock, ConversationId, Json, Media, Message, Role};
use serde_json::{Map, Value};

use crate::{
    Conversation, Limits, TranscriptError, Why,
    blocks::{Blocks, call, file, image, unknown},
    exact,
    members::{by_model, others, says_something, time},
    names::{conversation_id, key},
    out::{ItemQueue, says_nothing, usable_title},
    reader::FormatReader,
    strands::entries,
    turn::{Extended, Turn, result, text, thought},
};

/// Types of parts that are notes of the program.
#[rustfmt::skip]
const NOTES: [&str; 8] = ["step-finish", "snapshot", "patch", "retry", "agent", "compaction", "source-url", "start"];
/// Beginning of a title that the program made up.
const UNTITLED: &str = "New session - ";

#[derive(Debug, Default)]
pub(crate) struct OpenCode {
    name: String,
    session: Value,
    conversation: Option<ConversationId>,
    /// The message whose parts are being read.
    info: Value,
    parts: Vec<Value>,
    /// Number of messages of the session so far, which names one without an id.
    messages: u64,
}

impl OpenCode {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Takes a session, a message or a part.
    pub(crate) fn take(&mut self, mut value: Value, out: &mut ItemQueue) {
        let is = |value: &Value, name: &str| value.get(name).is_some_and(Value::is_string);
        let is_session = |value: &Value| is(value, "id") && value["messages"].is_array();
        if value.get("info").is_some() || is_session(&value) {
            let mut list = |name: &str| match value.get_mut(name).map(Value::take) {
                Some(Value::Array(list)) => list,
                _ => Vec::new(),
            };
            let (messages, parts) = (list("messages"), list("parts"));
            let info = value.get_mut("info").map(Value::take);
            self.take(info.unwrap_or(value), out);
            self.parts.extend(parts);
            messages.into_iter().for_each(|message| self.take(message, out));
        } else if is(&value, "role") {
            if !self.info.is_null() {
                self.close(out);
            }
            self.info = value;
        } else if is(&value, "messageID") {
            self.parts.push(value);
        } else if is(&value, "id") {
            if !self.info.is_null() {
                self.close(out);
            }
            (self.session, self.conversation, self.messages) = (value, None, 0);
        } else {
            out.skip(Why::Unknown, "record");
        }
    }

    /// Ends a message: all its parts were read.
    fn close(&mut self, out: &mut ItemQueue) {
        let (info, parts) = (&std::mem::take(&mut self.info), std::mem::take(&mut self.parts));
        self.messages += 1;
        let role = match info["role"].as_str() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some(other) => return out.skip(Why::Unknown, &format!("message of the role {other}")),
            None => return out.count(Why::Broken, "part of no message", parts.len() as u64),
        };
        if info["summary"] == true {
            return out.skip(Why::View, "summary of a compaction");
        }
        let mut messages = match role {
            Role::Assistant => answer(&parts, out),
            _ => vec![asked(&parts, out)],
        };
        messages.retain(|message| !says_nothing(&message.content));
        if messages.is_empty() {
            return out.skip(Why::Empty, role.as_str());
        }
        let id = info["id"].as_str().map_or_else(|| format!("message-{}", self.messages), str::to_owned);
        let model = info["modelID"].as_str();
        for (number, message) in messages.into_iter().enumerate() {
            let mut message = by_model(message, model);
            let conversation = self.begin(info, &mut message, out);
            let key = if number == 0 { key(&id) } else { key(&format!("{id}.{number}")) };
            out.say(
                &conversation,
                key,
                message,
                info.pointer("/time/created").or(info.get("timestamp")).and_then(time),
            );
        }
    }

    /// The conversation, which begins with its first message.
    fn begin(&mut self, info: &Value, first: &mut Message, out: &mut ItemQueue) -> ConversationId {
        if let Some(conversation) = &self.conversation {
            return conversation.clone();
        }
        let session = &self.session;
        let id = session["id"].as_str().or(info["sessionID"].as_str()).unwrap_or(&self.name);
        let id = conversation_id(&[id]);
        let title = session["title"].as_str().filter(|title| !title.starts_with(UNTITLED));
        out.begin(Conversation::new(id.clone()).title(title.and_then(usable_title)));
        let cwd = session["directory"].as_str().or(info.pointer("/path/cwd").and_then(Value::as_str));
        for (name, value) in [("cwd", cwd), ("subagent_of", session["parentID"].as_str())] {
            first.metadata.extend(value.map(|value| (name.to_owned(), Json::string(value))));
        }
        self.conversation = Some(id.clone());
        id
    }
}

/// A person's message. Texts that the program added to it, such as files, are documents.
fn asked(parts: &[Value], out: &mut ItemQueue) -> Message {
    let mut said = Blocks::default();
    for part in parts {
        match (part["type"].as_str(), part["text"].as_str().or(part["prompt"].as_str())) {
            (Some("text"), Some(words)) if part["synthetic"] == true => {
                let media = Media::Text { media_type: "text/plain".to_owned(), text: words.to_owned() };
                said.add((ContentBlock::Document { title: Some("added by opencode".to_owned()), media }, Map::new()));
            }
            (Some("text" | "subtask"), Some(words)) => said.add(text(words)),
            _ => {
                if let Some(block) = other(part, out) {
                    said.add(block);
                }
            }
        }
    }
    said.message(Role::User)
}

fn answer(parts: &[Value], out: &mut ItemQueue) -> Vec<Message> {
    let mut turn = Turn::default();
    for part in parts {
        match (part["type"].as_str(), part["text"].as_str()) {
            (Some("text"), Some(words)) => turn.say(text(words)),
            (Some("reasoning"), Some(words)) => turn.say(thought(words)),
            (Some("step-start"), _) => turn.close(),
            (Some("tool"), _) => {
                let (id, state) = (part["callID"].as_str().or(part["id"].as_str()), part.get("state").unwrap_or(part));
                let id = id.unwrap_or("unknown");
                let name = part["tool"].as_str().unwrap_or("unknown");
                let answered = match state["status"].as_str() {
                    Some("completed") => Some(result(id, &state["output"], false)),
                    Some("error") => {
                        let said =
                            ["error", "output"].map(|name| &state[name]).into_iter().find(|said| says_something(said));
                        Some(result(id, said.unwrap_or(&Value::Null), true))
                    }
                    _ => None,
                };
                turn.call(
                    (call(id, name, state.get("input").unwrap_or(&state["args"])), Map::new()),
                    answered.map(|given| attached(given, state)),
                );
            }
            _ => {
                if let Some(block) = other(part, out) {
                    turn.say(block);
                }
            }
        }
    }
    turn.messages()
}

/// A result with its pictures and files.
fn attached((mut block, beside): Extended, state: &Value) -> Extended {
    if let ContentBlock::ToolResult { content, .. } = &mut block {
        content.extend(state["attachments"].as_array().into_iter().flatten().map(document));
    }
    (block, beside)
}

fn document(part: &Value) -> ContentBlock {
    let url = part["url"].as_str().unwrap_or_default();
    let is_picture = part["mime"].as_str().is_some_and(|kind| kind.starts_with("image/"));
    match url.starts_with("data:") {
        true if is_picture => image(url),
        true => file(part["filename"].as_str(), Some(url), None),
        false => file(part["filename"].as_str(), None, Some(url)),
    }
}

/// A file, a part of an unknown type as it is, or nothing for a note.
fn other(part: &Value, out: &mut ItemQueue) -> Option<Extended> {
    match part["type"].as_str().unwrap_or("without type") {
        "file" => {
            let taken = ["id", "sessionID", "messageID", "type", "mime", "filename", "url", "source"];
            Some((document(part), others(part, &taken)))
        }
        "step-start" => None,
        note if NOTES.contains(&note) => {
            out.skip(Why::Note, note);
            None
        }
        kind => {
            out.skip(Why::Unknown, &format!("part {kind} (kept as it came)"));
            Some((unknown(&exact::written(part)), Map::new()))
        }
    }
}

impl FormatReader for OpenCode {
    fn record(&mut self, record: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        if let Some(value) = out.parsed::<Value>(record, "value")? {
            self.take(value, out);
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        if !self.info.is_null() {
            self.close(out);
        }
        Ok(())
    }
}

/// True if a directory is the folder in which opencode keeps sessions, messages and parts.
pub(crate) fn is_storage(directory: &Path) -> bool {
    ["session", "message", "part"].iter().all(|name| directory.join(name).is_dir())
}

/// The sessions of a folder: for each the files of the session, of its messages, and after each those of its parts.
pub(crate) fn sessions(storage: &Path, limits: Limits) -> Result<Vec<(PathBuf, Vec<PathBuf>)>, TranscriptError> {
    let is_json = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "json");
    let files = |folder: PathBuf| match folder.is_dir() {
        true => entries(&folder, limits).map(|all| all.into_iter().filter(is_json).collect()),
        false => Ok(Vec::new()),
    };
    let mut sessions = Vec::new();
    for project in entries(&storage.join("session"), limits)?.into_iter().filter(|path| path.is_dir()) {
        for session in files(project)? {
            let id = session.file_stem().unwrap_or_default().to_owned();
            let mut read = vec![session.clone()];
            for message in files(storage.join("message").join(id))? {
                let parts = storage.join("part").join(message.file_stem().unwrap_or_default());
                read.push(message);
                read.extend(files(parts)?);
            }
            sessions.push((session, read));
        }
    }
    Ok(sessions)
}
