//! Sessions of pi and of OpenClaw: entries of a tree by `parentId`, as lines of a file or rows of a database.
//!
//! As in Claude Code, an entry that continues an earlier entry than the last one begins a fork, so later entries never
//! change what earlier ones gave.

use std::collections::HashMap;

use memory_core::{ContentBlock, ConversationId, Json, Media, Message, MessageKey, Role, Timestamp};
use serde_json::{Map, Value};

use crate::{
    Conversation, TranscriptError, Why,
    blocks::{self, Blocks, unknown},
    exact,
    item::ForkPoint,
    members::{by_model, keep, others, said_by},
    names::{Chain, conversation_id, key, short},
    out::{ItemQueue, says_nothing},
    reader::FormatReader,
};

/// Members that describe a session, apart from its name.
#[rustfmt::skip]
const SESSION_NOTES: [&str; 10] = [
    "type", "version", "id", "timestamp", "cwd", "parentSession", "provider", "modelId", "thinkingLevel",
    "branchedFrom",
];
/// Entry types that are notes of the program.
const NOTES: [&str; 6] = ["custom", "model_change", "thinking_level_change", "label", "session_info", "reset"];

/// Reader of a session's entries.
#[derive(Debug, Default)]
pub(crate) struct Pi {
    session: String,
    /// True if the caller has named the session, so that its entries do not.
    is_named: bool,
    /// Metadata members of the first message.
    opening: Vec<(&'static str, String)>,
    /// Time of the next entry, if the entry states none.
    written: Option<Timestamp>,
    /// For each entry, its branch and the number of messages up to it.
    spots: HashMap<String, (usize, usize)>,
    branches: Vec<Branch>,
    current: usize,
    chain: Chain,
}

#[derive(Debug)]
struct Branch {
    conversation: ConversationId,
    /// The last message that the branch shares with another.
    shared: Option<MessageKey>,
    keys: Vec<MessageKey>,
}

impl Branch {
    fn key(&self, message: usize) -> Option<MessageKey> {
        match message.checked_sub(1) {
            None => self.shared.clone(),
            Some(index) => self.keys.get(index).cloned(),
        }
    }
}

impl Pi {
    pub(crate) fn new(stem: &str) -> Self {
        Self { session: stem.to_owned(), ..Self::default() }
    }

    /// A reader of the session with this name. The first message gets `opening` as metadata.
    #[cfg(feature = "sqlite")]
    pub(crate) fn of_session(session: &str, opening: Vec<(&'static str, String)>) -> Self {
        Self { is_named: true, opening, ..Self::new(session) }
    }

    /// Reads an entry with the time at which it was written.
    #[cfg(feature = "sqlite")]
    pub(crate) fn entry(
        &mut self,
        entry: &str,
        written: Option<Timestamp>,
        out: &mut ItemQueue,
    ) -> Result<(), TranscriptError> {
        self.written = written;
        self.record(entry, out)
    }

    /// The conversation of the session's main path, once it has a message.
    pub(crate) fn main(&self) -> Option<&ConversationId> {
        self.branches.first().map(|branch| &branch.conversation)
    }

    /// The branch that an entry continues; a new one if the entry begins a fork.
    fn branch(&mut self, id: &str, parent: Option<&str>, out: &mut ItemQueue) -> usize {
        if self.branches.is_empty() {
            return self.begin(&[&self.session.clone()], None, out);
        }
        let Some((number, message)) = parent.and_then(|parent| self.spots.get(parent).copied()) else {
            return self.current;
        };
        let Some(branch) = self.branches.get(number) else { return self.current };
        if branch.keys.len() == message {
            return number;
        }
        let fork = branch.key(message).map(|after| ForkPoint::new(branch.conversation.clone(), after));
        self.begin(&[&self.session.clone(), &short(id)], fork, out)
    }

    fn begin(&mut self, name: &[&str], fork: Option<ForkPoint>, out: &mut ItemQueue) -> usize {
        let conversation = conversation_id(name);
        let shared = fork.as_ref().map(|fork| fork.after.clone());
        out.begin(Conversation::new(conversation.clone()).fork(fork));
        self.branches.push(Branch { conversation, shared, keys: Vec::new() });
        self.branches.len() - 1
    }

    /// Gives an entry without a message the position of its parent.
    fn pass(&mut self, entry: &Value) {
        let here = (self.current, self.branches.get(self.current).map_or(0, |branch| branch.keys.len()));
        let spot = entry["parentId"].as_str().and_then(|parent| self.spots.get(parent).copied()).unwrap_or(here);
        if let Some(id) = entry["id"].as_str() {
            self.spots.entry(id.to_owned()).or_insert(spot);
        }
    }

    fn said(&mut self, entry: &Value, mut message: Message, at: Option<Timestamp>, out: &mut ItemQueue) {
        let id = entry["id"].as_str().map_or_else(|| self.chain.key().to_string(), str::to_owned);
        let number = self.branch(&id, entry["parentId"].as_str(), out);
        self.current = number;
        let Some(branch) = self.branches.get_mut(number) else { return };
        for (name, value) in self.opening.drain(..) {
            message.metadata.insert(name.to_owned(), Json::string(&value));
        }
        branch.keys.push(key(&id));
        let spot = (number, branch.keys.len());
        out.say(&branch.conversation, key(&id), message, at);
        self.spots.insert(id, spot);
    }
}

/// Time of an entry, or of its message.
fn time(entry: &Value) -> Option<Timestamp> {
    let of = |value: &Value| match value {
        Value::String(text) => text.parse().ok(),
        number => number.as_i64().map(Timestamp::from_millis),
    };
    of(&entry["timestamp"]).or_else(|| of(entry.pointer("/message/timestamp")?))
}

/// A message in pi's shape; `None` for an unknown role.
fn message(said: &Value) -> Option<Message> {
    let text = |name: &str| said[name].as_str();
    let mut read = Blocks::default();
    match &said["content"] {
        Value::String(text) => read.blocks.push(ContentBlock::Text(text.clone())),
        Value::Array(blocks) => blocks.iter().for_each(|one| read.add((block(one), beside(one)))),
        _ => {}
    }
    let mut message = match text("role")? {
        "user" => read.message(Role::User),
        "assistant" => read.message(Role::Assistant),
        "system" => read.message(Role::System),
        "toolResult" => {
            let is_error = said["isError"].as_bool().unwrap_or(false);
            let mut result = Blocks::default();
            result.add(read.result(text("toolCallId").unwrap_or("unknown"), is_error));
            result.message(Role::Tool)
        }
        // A command that the user ran.
        "bashExecution" => {
            let shown = format!("$ {}\n{}", text("command").unwrap_or_default(), text("output").unwrap_or_default());
            let mut message = Message::user(shown);
            message.metadata.extend(read.extra());
            message
        }
        _ => return None,
    };
    let taken: &[&str] = match text("role")? {
        "bashExecution" => &["role", "command", "output", "timestamp"],
        "toolResult" => &["role", "content", "toolCallId", "isError", "timestamp"],
        _ => &["role", "content", "model", "usage", "timestamp", "__openclaw"],
    };
    keep(&mut message, others(said, taken));
    message = by_model(message, text("model"));
    if said["usage"].is_object() {
        message.metadata.insert("usage".to_owned(), Json::from_value(&said["usage"]));
    }
    Some(match said.get("__openclaw").filter(|_| message.role == Role::User) {
        Some(identity) => said_by(message, identity),
        None => message,
    })
}

/// Members of a block that core's block cannot represent.
fn beside(block: &Value) -> Map<String, Value> {
    let taken: &[&str] = match block["type"].as_str() {
        Some("text") => &["type", "text"],
        Some("thinking") => &["type", "thinking", "thinkingSignature"],
        Some("toolCall") => &["type", "id", "name", "arguments"],
        Some("image") => &["type", "mimeType", "data", "url"],
        _ => return Map::new(),
    };
    others(block, taken)
}

/// A block in pi's shape. A block of another type is kept verbatim.
pub(crate) fn block(block: &Value) -> ContentBlock {
    let text = |name: &str| block[name].as_str();
    let kept = || unknown(&block.to_string());
    match text("type") {
        Some("text") => text("text").map_or_else(kept, |text| ContentBlock::Text(text.to_owned())),
        Some("thinking") => text("thinking").map_or_else(kept, |thinking| ContentBlock::Reasoning {
            text: thinking.to_owned(),
            signature: text("thinkingSignature").map(str::to_owned),
        }),
        Some("toolCall") => match (text("id"), text("name")) {
            (Some(id), Some(name)) => blocks::call(id, name, &block["arguments"]),
            _ => kept(),
        },
        Some("image") => match (text("mimeType"), text("data")) {
            (Some(kind), Some(data)) => blocks::image(&format!("data:{kind};base64,{data}")),
            _ => text("url").map_or_else(kept, |url| ContentBlock::Image(Media::Url(url.to_owned()))),
        },
        _ => kept(),
    }
}

impl FormatReader for Pi {
    fn record(&mut self, record: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        self.chain.take(record);
        let Some(entry) = &exact::parse(record).ok().filter(Value::is_object) else {
            out.skip_line();
            return Ok(());
        };
        let text = |name: &str| entry[name].as_str();
        let kind = text("type").unwrap_or("without type");
        let known = text("id").is_some_and(|id| self.spots.contains_key(id));
        match kind {
            "session" => out.unknown("session.", entry, &SESSION_NOTES),
            "message" => out.unknown("", entry, &["type", "id", "parentId", "timestamp", "message"]),
            _ => {}
        }
        let why = match kind {
            "session" => {
                if let (Some(id), true) = (text("id"), self.branches.is_empty()) {
                    if !self.is_named {
                        self.session = id.to_owned();
                    }
                    self.opening.extend(text("cwd").map(|cwd| ("cwd", cwd.to_owned())));
                }
                return Ok(());
            }
            "message" | "custom_message" if known => Why::Repeated,
            "message" => match entry.get("message").map(message) {
                Some(Some(message)) if !says_nothing(&message.content) => {
                    self.said(entry, message, time(entry).or(self.written), out);
                    return Ok(());
                }
                Some(Some(_)) => Why::Empty,
                Some(None) => Why::Unknown,
                None => Why::Broken,
            },
            // An extension wrote it for the model.
            "custom_message" => Why::View,
            "compaction" | "branch_summary" => Why::View,
            note if NOTES.contains(&note) => {
                let name = text("name").filter(|_| note == "session_info");
                if let (Some(name), Some(conversation)) = (name, self.main()) {
                    out.title(conversation, name, Vec::new());
                }
                Why::Note
            }
            _ => Why::Unknown,
        };
        self.pass(entry);
        out.skip(why, kind);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Item;

    #[test]
    fn a_session_is_a_tree_whose_branches_are_forks() {
        let entry = |id: &str, parent: Value, kind: &str, message: Value| json!({"type": kind, "id": id, "parentId": parent, "timestamp": "2026-03-02T09:14:00.000Z", "message": message});
        let entries = [
            json!({"type": "session", "version": 3, "id": "s-1", "timestamp": "t", "cwd": "/w"}),
            entry("a", Value::Null, "message", json!({"role": "user", "content": "Look."})),
            entry(
                "b",
                "a".into(),
                "message",
                json!({"role": "assistant", "model": "m", "content": [
                {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "s"},
                {"type": "toolCall", "id": "t", "name": "read", "arguments": {"path": "x"}}]}),
            ),
            entry(
                "c",
                "b".into(),
                "message",
                json!({"role": "toolResult", "toolCallId": "t", "toolName": "read",
                "content": [{"type": "text", "text": "no file"}], "isError": true}),
            ),
            entry("k", "c".into(), "compaction", Value::Null),
            entry("d", "k".into(), "message", json!({"role": "user", "content": "Go on."})),
            entry(
                "e",
                "a".into(),
                "message",
                json!({"role": "assistant", "content": [{"type": "text", "text": "Other."}]}),
            ),
            entry("f", Value::Null, "hologram", Value::Null),
        ];
        let mut out = ItemQueue::new("x.jsonl".to_owned(), "pi");
        let mut reader = Pi::new("x");
        for entry in entries {
            reader.record(&entry.to_string(), &mut out).unwrap();
        }
        let mut said = Vec::new();
        let mut forks = Vec::new();
        for item in out.items {
            match item {
                Item::Said(one) => {
                    said.push(format!("{} {}: {}", one.conversation, one.message.role, one.message.text()))
                }
                Item::Conversation(conversation) => forks.extend(conversation.fork.map(|fork| fork.after.to_string())),
                Item::Title(..) | Item::Summarized(_) => {}
            }
        }
        let expected = [
            "s-1 user: Look.",
            "s-1 assistant: Hm.\nread({\"path\":\"x\"})",
            "s-1 tool: error:\nno file",
            "s-1 user: Go on.",
            "s-1-e assistant: Other.",
        ];
        assert_eq!(said, expected);
        assert_eq!(forks, ["a"]);
        assert_eq!(out.report.skipped().map(|skipped| skipped.why).collect::<Vec<_>>(), [Why::Unknown, Why::View]);
    }
}
