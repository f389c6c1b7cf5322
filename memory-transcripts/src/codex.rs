//! Rollouts of Codex: lines `{timestamp, type, payload}`, of which only `response_item` is history.

mod exec;

use memory_core::{ContentBlock, ConversationId, Hash, Message, MessageKey, Role, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Conversation, TranscriptError, Why, exact,
    members::by_model,
    names::{Chain, conversation_id, key},
    out::{ItemQueue, says_nothing},
    reader::FormatReader,
    records::RecordPlace,
    responses::{ListItem, Thoughts, item},
};

pub(crate) use exec::Exec;

/// Beginnings of texts that Codex itself puts before a user's words.
#[rustfmt::skip]
const BOILERPLATE: [&str; 7] = [
    "<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<permissions instructions>",
    "<turn_aborted>", "<skill>", "<collaboration_mode>",
];
/// Members that describe a session, apart from its name.
#[rustfmt::skip]
const META_NOTES: [&str; 18] = [
    "agent_nickname", "agent_path", "agent_role", "base_instructions", "cli_version", "cwd", "dynamic_tools",
    "forked_from_id", "git", "id", "instructions", "memory_mode", "model_provider", "originator", "source",
    "thread_source", "timestamp", "session_id",
];
/// Record types that are notes of the program.
const NOTES: [&str; 2] = ["turn_context", "world_state"];

#[derive(Debug, Default)]
pub(crate) struct Codex {
    stem: String,
    conversation: Option<ConversationId>,
    /// Model of the current turn.
    model: Option<String>,
    cwd: Option<String>,
    chain: Chain,
    thoughts: Thoughts,
    /// Offset in bytes of the reasoning that waits for the model's next message, and the chain before it.
    held: Option<(u64, Chain)>,
    events: Unrepeated,
}

#[derive(Serialize, Deserialize)]
struct State {
    conversation: Option<ConversationId>,
    model: Option<String>,
    cwd: Option<String>,
    chain: Hash,
    key: Option<memory_core::MessageKey>,
}

impl Codex {
    pub(crate) fn new(stem: &str) -> Self {
        Self { stem: stem.to_owned(), ..Self::default() }
    }

    /// Resumes from the state of an earlier reader of the file.
    pub(crate) fn resumed(stem: &str, state: &str, out: &mut ItemQueue) -> Option<Self> {
        let State { conversation, model, cwd, chain, key } = serde_json::from_str(state).ok()?;
        if let (Some(id), Some(key)) = (&conversation, key) {
            out.go_on(id, key);
        }
        Some(Self { conversation, model, cwd, chain: Chain(chain), ..Self::new(stem) })
    }

    fn item(&mut self, payload: &Value, at: Option<Timestamp>, before: Chain, out: &mut ItemQueue) {
        let message = match item(payload) {
            ListItem::Skip(why, what) => return out.skip(why, &what),
            ListItem::Reasoning(block, beside, id) => {
                self.events.said(&block.text(), out);
                self.thoughts.push((block, beside), id);
                self.held.get_or_insert((out.place.start, before));
                return;
            }
            ListItem::Message(message, _) => *message,
        };
        if message.role == Role::System {
            return out.skip(Why::Note, "developer instructions");
        }
        if message.role == Role::User && is_boilerplate(&message) {
            return out.skip(Why::Note, "context of the program");
        }
        if says_nothing(&message.content) {
            return out.skip(Why::Empty, "message");
        }
        self.say(message, at, out);
    }

    /// Ends a turn. Emits reasoning and messages that were interrupted, and that therefore only events hold.
    fn interrupted(&mut self, at: Option<Timestamp>, out: &mut ItemQueue) {
        let mut texts = Vec::new();
        for (is_thought, text) in self.events.left() {
            if is_thought {
                self.thoughts.push((ContentBlock::Reasoning { text, signature: None }, Map::new()), None);
            } else {
                texts.push(ContentBlock::Text(text));
            }
        }
        let message = match texts.is_empty() {
            true => self.thoughts.alone(),
            false => Some(Message::new(Role::Assistant, texts)),
        };
        if let Some(message) = message {
            self.say_as(key(&format!("{}.interrupted", self.chain.key())), message, at, out);
        }
    }

    fn say(&mut self, message: Message, at: Option<Timestamp>, out: &mut ItemQueue) {
        match message.role {
            Role::User => self.interrupted(at, out),
            Role::Assistant => self.events.said(&message.text(), out),
            _ => {}
        }
        self.say_as(self.chain.key(), message, at, out);
    }

    fn say_as(&mut self, key: MessageKey, message: Message, at: Option<Timestamp>, out: &mut ItemQueue) {
        let conversation = self.conversation.get_or_insert_with(|| {
            let id = conversation_id(&[&self.stem]);
            out.begin(Conversation::new(id.clone()));
            id
        });
        let mut message = by_model(self.thoughts.before(message), self.model.as_deref());
        self.held = None;
        if let Some(cwd) = self.cwd.take() {
            message.metadata.insert("cwd".to_owned(), memory_core::Json::string(&cwd));
        }
        out.say(conversation, key, message, at);
    }

    fn meta(&mut self, payload: &Value, out: &mut ItemQueue) {
        if self.conversation.is_some() {
            // A fork begins with a copy of its parent's records, `session_meta` included.
            return out.skip(Why::Repeated, "session_meta");
        }
        out.unknown("session_meta.", payload, &META_NOTES);
        let id = conversation_id(&[payload["id"].as_str().unwrap_or(&self.stem)]);
        out.begin(Conversation::new(id.clone()));
        self.conversation = Some(id);
        self.cwd = payload["cwd"].as_str().map(str::to_owned);
    }
}

/// Events with reasoning and words of the model. Items repeat them unless the turn was interrupted.
#[derive(Debug, Default)]
struct Unrepeated {
    /// Events that no item has repeated yet: true for reasoning, the words, the event's name and place.
    waiting: Vec<(bool, String, String, RecordPlace)>,
    /// Texts of the items of this turn.
    items: Vec<String>,
}

impl Unrepeated {
    /// Records an event; true if it waits for the item that repeats it.
    fn take(&mut self, kind: &str, payload: &Value, out: &mut ItemQueue) -> bool {
        let name = format!("event_msg/{kind}");
        let text = match kind {
            "agent_reasoning" | "agent_reasoning_raw_content" => payload["text"].as_str(),
            "agent_message" => payload["message"].as_str(),
            _ => None,
        };
        let text = text.unwrap_or_default().trim();
        if text.is_empty() || self.items.iter().any(|item| item.contains(text)) {
            out.skip(Why::Repeated, &name);
            return false;
        }
        self.waiting.push((kind != "agent_message", text.to_owned(), name, out.place));
        true
    }

    /// Records the text of an item, and drops the events that it repeats.
    fn said(&mut self, words: &str, out: &mut ItemQueue) {
        self.waiting.retain(|(_, text, name, place)| {
            let is_left = !words.contains(text.as_str());
            if !is_left {
                out.skip_at(Why::Repeated, name, *place);
            }
            is_left
        });
        self.items.push(words.to_owned());
    }

    /// Ends the turn; returns the events that no item repeated.
    fn left(&mut self) -> impl Iterator<Item = (bool, String)> {
        self.items.clear();
        std::mem::take(&mut self.waiting).into_iter().map(|(is_thought, text, ..)| (is_thought, text))
    }
}

fn is_boilerplate(message: &Message) -> bool {
    message.content.iter().all(|block| match block {
        ContentBlock::Text(text) => BOILERPLATE.iter().any(|begin| text.trim_start().starts_with(begin)),
        _ => false,
    })
}

impl FormatReader for Codex {
    fn record(&mut self, record: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let Ok(value) = &exact::parse(record) else {
            out.skip_line();
            return Ok(());
        };
        let before = self.chain;
        self.chain.take(record);
        let at = value["timestamp"].as_str().and_then(|at| at.parse().ok());
        let kind = value["type"].as_str().unwrap_or("without type");
        let Some(payload) = value.get("payload") else {
            // In the oldest format a line is the item itself, without a payload, and the first line is the session.
            if value.get("type").is_none() && value.get("id").is_some() {
                self.meta(value, out);
            } else if value.get("record_type").is_some() {
                out.skip(Why::Note, "state");
            } else {
                self.item(value, at, before, out);
            }
            return Ok(());
        };
        out.unknown("", value, &["timestamp", "type", "payload", "ordinal"]);
        match kind {
            "session_meta" => self.meta(payload, out),
            "response_item" => self.item(payload, at, before, out),
            "compacted" => out.skip(Why::View, "compacted"),
            "event_msg" => {
                let kind = payload["type"].as_str().unwrap_or("without type");
                if self.events.take(kind, payload, out) {
                    self.held.get_or_insert((out.place.start, before));
                }
                if kind == "turn_aborted" {
                    self.interrupted(at, out);
                }
            }
            note if NOTES.contains(&note) => {
                if let Some(model) = payload["model"].as_str() {
                    self.model = Some(model.to_owned());
                }
                out.skip(Why::Note, note);
            }
            other => out.skip(Why::Unknown, other),
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        if !self.thoughts.is_empty() {
            out.skip_at(Why::Unfinished, "reasoning at the end", RecordPlace::default());
        }
        self.events.waiting.iter().for_each(|(.., name, place)| out.skip_at(Why::Unfinished, name, *place));
        Ok(())
    }

    fn held_from(&self) -> Option<u64> {
        self.held.as_ref().map(|(start, _)| *start)
    }

    fn state(&self, out: &ItemQueue) -> String {
        let state = State {
            conversation: self.conversation.clone(),
            model: self.model.clone(),
            cwd: self.cwd.clone(),
            chain: self.held.map_or(self.chain, |(_, before)| before).0,
            key: self.conversation.as_ref().and_then(|id| out.tip(id).cloned()),
        };
        serde_json::to_string(&state).unwrap_or_default()
    }
}
