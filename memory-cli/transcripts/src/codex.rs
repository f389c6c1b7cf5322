//! Rollouts of Codex: `{timestamp, type, payload}` a line, of which `response_item` alone is history.

use memory_core::{ContentBlock, ConversationId, Hash, Message, Role, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Conversation, TranscriptError, Why, exact,
    names::{Chain, conversation_id},
    out::{Out, says_nothing},
    records::Place,
    responses::{Item, Thoughts, item},
    shape::Shape,
};

/// How texts begin that Codex itself puts in front of what a user says.
const BOILERPLATE: [&str; 7] = [
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<permissions instructions>",
    "<turn_aborted>",
    "<skill>",
    "<collaboration_mode>",
];
/// Records that are notes of the program.
const NOTES: [&str; 2] = ["turn_context", "world_state"];

/// Reads the lines of a rollout.
#[derive(Debug)]
pub(crate) struct Codex {
    stem: String,
    conversation: Option<ConversationId>,
    /// The model of the turn.
    model: Option<String>,
    cwd: Option<String>,
    chain: Chain,
    thoughts: Thoughts,
    /// Where reasoning begins that waits for what the model says next, and the chain before it.
    held: Option<(u64, Chain)>,
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
        Self {
            stem: stem.to_owned(),
            conversation: None,
            model: None,
            cwd: None,
            chain: Chain::default(),
            thoughts: Thoughts::default(),
            held: None,
        }
    }

    /// Goes on where another reader of the file stood.
    pub(crate) fn resumed(stem: &str, state: &str, out: &mut Out) -> Option<Self> {
        let State { conversation, model, cwd, chain, key } = serde_json::from_str(state).ok()?;
        if let (Some(id), Some(key)) = (&conversation, key) {
            out.go_on(id, key);
        }
        Some(Self { conversation, model, cwd, chain: Chain(chain), ..Self::new(stem) })
    }

    fn item(&mut self, payload: &Value, at: Option<Timestamp>, place: Place, before: Chain, out: &mut Out) {
        let message = match item(payload) {
            Item::Skip(why, what) => return out.skip(why, &what, place),
            Item::Reasoning(block, id) => {
                self.thoughts.push(block, id);
                self.held.get_or_insert((place.start, before));
                return;
            }
            Item::Message(message) => message,
        };
        if message.role == Role::System {
            return out.skip(Why::Note, "developer instructions", place);
        }
        if message.role == Role::User && is_boilerplate(&message) {
            return out.skip(Why::Note, "context of the program", place);
        }
        if says_nothing(&message.content) {
            return out.skip(Why::Empty, "message", place);
        }
        self.say(message, at, out);
    }

    fn say(&mut self, message: Message, at: Option<Timestamp>, out: &mut Out) {
        if self.conversation.is_none() {
            let id = conversation_id(&[&self.stem]);
            out.begin(Conversation::new(id.clone()));
            self.conversation = Some(id);
        }
        let Some(conversation) = &self.conversation else { return };
        let mut message = self.thoughts.before(message);
        self.held = None;
        if let Some(model) = self.model.as_deref().filter(|_| message.role == Role::Assistant) {
            message = message.spoken_by(model);
        }
        if let Some(cwd) = self.cwd.take() {
            message.metadata.insert("cwd".to_owned(), memory_core::Json::string(&cwd));
        }
        out.say(conversation, self.chain.key(), message, at);
    }

    fn meta(&mut self, payload: &Value, place: Place, out: &mut Out) {
        let text = |name: &str| payload.get(name).and_then(Value::as_str);
        if self.conversation.is_some() {
            // A fork begins with what it copied, the first record of its parent included.
            return out.skip(Why::Repeated, "session_meta", place);
        }
        let id = conversation_id(&[text("id").unwrap_or(&self.stem)]);
        out.begin(Conversation::new(id.clone()));
        self.conversation = Some(id);
        self.cwd = text("cwd").map(str::to_owned);
    }
}

fn is_boilerplate(message: &Message) -> bool {
    message.content.iter().all(|block| match block {
        ContentBlock::Text(text) => BOILERPLATE.iter().any(|begin| text.trim_start().starts_with(begin)),
        _ => false,
    })
}

impl Shape for Codex {
    fn record(&mut self, record: &str, place: Place, out: &mut Out) -> Result<(), TranscriptError> {
        let Ok(value) = exact::parse(record) else {
            let why = if place.is_open { Why::Unfinished } else { Why::Broken };
            out.skip(why, "line", place);
            return Ok(());
        };
        let before = self.chain;
        self.chain.take(record);
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let at = text("timestamp").and_then(|at| at.parse().ok());
        let kind = text("type").unwrap_or("without type");
        let Some(payload) = value.get("payload") else {
            // Before there were payloads, a line was the item itself, and the first one the session.
            if value.get("type").is_none() && value.get("id").is_some() {
                self.meta(&value, place, out);
            } else if value.get("record_type").is_some() {
                out.skip(Why::Note, "state", place);
            } else {
                self.item(&value, at, place, before, out);
            }
            return Ok(());
        };
        match kind {
            "session_meta" => self.meta(payload, place, out),
            "response_item" => self.item(payload, at, place, before, out),
            "compacted" => out.skip(Why::View, "compacted", place),
            "event_msg" => {
                let kind = payload.get("type").and_then(Value::as_str).unwrap_or("without type");
                out.skip(Why::Repeated, &format!("event_msg/{kind}"), place);
            }
            note if NOTES.contains(&note) => {
                if let Some(model) = payload.get("model").and_then(Value::as_str) {
                    self.model = Some(model.to_owned());
                }
                out.skip(Why::Note, note, place);
            }
            other => out.skip(Why::Unknown, other, place),
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Out) {
        if !self.thoughts.is_empty() {
            out.skip(Why::Unfinished, "reasoning at the end", Place::default());
        }
    }

    fn held_from(&self) -> Option<u64> {
        self.held.as_ref().map(|(start, _)| *start)
    }

    fn state(&self, out: &Out) -> String {
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
