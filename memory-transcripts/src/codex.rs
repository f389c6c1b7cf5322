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
    #[serde(default)]
    repeats: Option<bool>,
    #[serde(default)]
    is_asked: bool,
}

impl Codex {
    pub(crate) fn new(stem: &str) -> Self {
        Self { stem: stem.to_owned(), ..Self::default() }
    }

    /// Resumes from the state of an earlier reader of the file.
    pub(crate) fn resumed(stem: &str, state: &str, out: &mut ItemQueue) -> Option<Self> {
        let State { conversation, model, cwd, chain, key, repeats, is_asked } = serde_json::from_str(state).ok()?;
        if let (Some(id), Some(key)) = (&conversation, key) {
            out.go_on(id, key);
        }
        let events = Unrepeated { repeats, is_asked, ..Unrepeated::default() };
        Some(Self { conversation, model, cwd, chain: Chain(chain), events, ..Self::new(stem) })
    }

    fn item(&mut self, payload: &Value, at: Option<Timestamp>, before: Chain, out: &mut ItemQueue) {
        let message = match item(payload) {
            ListItem::Skip(why, what) => return out.skip(why, &what),
            ListItem::Reasoning(block, beside, id) => {
                self.events.said(&block.text(), out);
                self.asked(out);
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
        let left = self.events.left();
        self.left(left, at, out);
    }

    fn left(&mut self, left: Vec<Event>, at: Option<Timestamp>, out: &mut ItemQueue) {
        let mut texts = Vec::new();
        for Event { kind, text, .. } in left {
            match kind {
                EventKind::Thought => {
                    self.thoughts.push((ContentBlock::Reasoning { text, signature: None }, Map::new()), None);
                }
                EventKind::Answer | EventKind::Prompt => texts.push(ContentBlock::Text(text)),
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

    /// Emits a person's words that only an event holds, and what was left before them. The answer to them follows.
    fn asked(&mut self, out: &mut ItemQueue) {
        while let Some((left, Event { text, key: of, at, .. })) = self.events.asked() {
            self.left(left, at, out);
            self.say_as(key(&format!("{of}.event")), Message::user(text), at, out);
        }
    }

    fn say(&mut self, message: Message, at: Option<Timestamp>, out: &mut ItemQueue) {
        if message.role == Role::User {
            let words = message.text();
            let is_there = self.events.repeat_prompt(&words, out);
            self.asked(out);
            self.interrupted(at, out);
            self.events.prompt = (!is_there).then_some(words);
        } else {
            if message.role == Role::Assistant {
                self.events.said(&message.text(), out);
            }
            self.asked(out);
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

/// Words that an event holds.
#[derive(Debug)]
struct Event {
    kind: EventKind,
    text: String,
    name: String,
    place: RecordPlace,
    /// Key of its record, for words that no item repeats.
    key: MessageKey,
    at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventKind {
    Thought,
    Answer,
    Prompt,
}

/// Events with reasoning and words. Items repeat them unless the turn was interrupted, or the program writes only
/// events.
#[derive(Debug, Default)]
struct Unrepeated {
    /// Events that no item has repeated yet.
    waiting: Vec<Event>,
    /// Texts of the model's items of this turn.
    items: Vec<String>,
    /// Text of the person's last item, until an event repeats it.
    prompt: Option<String>,
    /// True if an earlier reader ended after such an item.
    is_asked: bool,
    /// True once an item has repeated an event, false once words were read that no item repeats.
    repeats: Option<bool>,
}

/// True if one text holds the other, whatever the white space.
fn is_same(one: &str, other: &str) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (one, other) = (plain(one), plain(other));
    one.contains(&other) || !one.is_empty() && other.contains(&one)
}

impl Unrepeated {
    /// Records an event; true if it waits for the item that repeats it.
    fn take(&mut self, payload: &Value, key: MessageKey, at: Option<Timestamp>, out: &mut ItemQueue) -> bool {
        let name = format!("event_msg/{}", payload["type"].as_str().unwrap_or("without type"));
        let kind = match payload["type"].as_str() {
            Some("agent_reasoning" | "agent_reasoning_raw_content") => Some(EventKind::Thought),
            Some("agent_message") => Some(EventKind::Answer),
            Some("user_message") => Some(EventKind::Prompt),
            _ => None,
        };
        let text = payload["message"].as_str().or(payload["text"].as_str()).unwrap_or_default().trim();
        let is_of_program = kind == Some(EventKind::Prompt) && BOILERPLATE.iter().any(|begin| text.starts_with(begin));
        let kind = kind.filter(|_| !text.is_empty() && !is_of_program);
        let is_there = match kind {
            Some(EventKind::Prompt) => {
                let is_asked = std::mem::take(&mut self.is_asked);
                self.prompt.take_if(|prompt| is_same(prompt, text)).is_some() || is_asked
            }
            Some(_) => self.items.iter().any(|item| item.contains(text)),
            None => false,
        };
        match kind.filter(|_| !is_there) {
            Some(kind) => {
                self.waiting.push(Event { kind, text: text.to_owned(), name, place: out.place, key, at });
                true
            }
            None => {
                self.repeats = is_there.then_some(true).or(self.repeats);
                out.skip(Why::Repeated, &name);
                false
            }
        }
    }

    /// Drops the events that an item repeats; true if there were any.
    fn drop_repeated(&mut self, is_repeated: impl Fn(&Event) -> bool, out: &mut ItemQueue) -> bool {
        let before = self.waiting.len();
        for event in self.waiting.extract_if(.., |event| is_repeated(event)) {
            self.repeats = Some(true);
            out.skip_at(Why::Repeated, &event.name, event.place);
        }
        self.waiting.len() < before
    }

    /// Records the text of an item of the model.
    fn said(&mut self, words: &str, out: &mut ItemQueue) {
        self.drop_repeated(|event| event.kind != EventKind::Prompt && words.contains(event.text.as_str()), out);
        self.items.push(words.to_owned());
        self.is_asked = false;
    }

    /// Drops the prompt that an item of the person repeats; true if there was one.
    fn repeat_prompt(&mut self, words: &str, out: &mut ItemQueue) -> bool {
        self.drop_repeated(|event| event.kind == EventKind::Prompt && is_same(words, &event.text), out)
    }

    /// The first prompt that no item repeats, and the events before it.
    fn asked(&mut self) -> Option<(Vec<Event>, Event)> {
        let place = self.waiting.iter().position(|event| event.kind == EventKind::Prompt)?;
        let mut left: Vec<_> = self.waiting.drain(..=place).collect();
        let prompt = left.pop()?;
        self.repeats = self.repeats.or(Some(false));
        Some((left, prompt))
    }

    /// Ends the turn; returns the events that no item repeated.
    fn left(&mut self) -> Vec<Event> {
        self.items.clear();
        std::mem::take(&mut self.waiting)
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
                if payload["type"] == "user_message" {
                    self.asked(out);
                }
                if self.events.take(payload, self.chain.key(), at, out) {
                    self.held.get_or_insert((out.place.start, before));
                }
                if payload["type"] == "turn_aborted" {
                    self.asked(out);
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
        if self.events.repeats == Some(false) {
            // No item will repeat what the last events say.
            self.asked(out);
            for Event { kind, text, key: of, at, .. } in self.events.left() {
                if kind == EventKind::Answer {
                    self.say_as(key(&format!("{of}.event")), Message::assistant(text), at, out);
                }
            }
        }
        if !self.thoughts.is_empty() {
            out.skip_at(Why::Unfinished, "reasoning at the end", RecordPlace::default());
        }
        self.events.waiting.iter().for_each(|event| out.skip_at(Why::Unfinished, &event.name, event.place));
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
            repeats: self.events.repeats,
            is_asked: self.events.is_asked || self.events.prompt.is_some(),
        };
        serde_json::to_string(&state).unwrap_or_default()
    }
}
