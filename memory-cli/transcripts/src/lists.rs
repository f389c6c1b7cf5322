//! Lists of messages as programs send them to a model: OpenAI Chat and Responses, Anthropic, Bedrock and LangChain.
//!
//! A record is a message of the one conversation of the file, or an object or list that holds a conversation of its own.

mod chat;
mod dialect;
mod langchain;

use memory_core::{ConversationId, Message, Role, Timestamp};
use serde_json::Value;

use crate::{
    Conversation, TranscriptError, Why, exact,
    names::{Chain, conversation_id, key},
    out::{Out, says_nothing},
    records::Place,
    responses::Thoughts,
    shape::Shape,
};
pub(crate) use dialect::Dialect;
use dialect::Read;

/// Reads records.
#[derive(Debug)]
pub(crate) struct Lists {
    dialect: Dialect,
    /// The name of a conversation that has none.
    name: String,
    /// The conversation whose messages are records of their own.
    loose: Option<Loose>,
    /// Conversations that were read whole.
    whole: u64,
}

/// A conversation that is being read.
#[derive(Debug)]
struct Loose {
    id: ConversationId,
    chain: Chain,
    thoughts: Thoughts,
    model: Option<String>,
}

/// Members that name the conversation of an object.
const NAMES: [&str; 4] = ["conversation_id", "session_id", "thread_id", "chat_id"];
/// Members that hold the messages of an object.
const LISTS: [&str; 3] = ["messages", "input", "items"];

impl Lists {
    pub(crate) fn new(dialect: Dialect, name: &str) -> Self {
        Self { dialect, name: name.to_owned(), loose: None, whole: 0 }
    }

    /// A conversation of its own.
    fn whole(&mut self, object: &Value, messages: &[&Value], place: Place, out: &mut Out) {
        self.whole += 1;
        let text = |name: &str| object.get(name).and_then(Value::as_str);
        let named = NAMES.iter().find_map(|name| text(name)).map(|name| conversation_id(&[name]));
        let id = named.unwrap_or_else(|| match self.whole {
            1 => conversation_id(&[&self.name]),
            number => conversation_id(&[&self.name, &number.to_string()]),
        });
        out.begin(Conversation::new(id.clone()).title(text("title").and_then(crate::out::usable_title)));
        let mut loose = Loose { id, chain: Chain::default(), thoughts: Thoughts::default(), model: model_of(object) };
        if let Some(system) = self.dialect.system(object) {
            let mut chain = Chain::default();
            chain.take(&object.get("system").or(object.get("instructions")).map(exact::written).unwrap_or_default());
            out.say(&loose.id, chain.key(), system, None);
        }
        for message in messages {
            loose.take(self.dialect, message, place, out);
        }
        loose.end(place, out);
    }
}

/// The model that a request or an answer names.
fn model_of(object: &Value) -> Option<String> {
    let text = |name: &str| object.get(name).and_then(Value::as_str);
    text("model").or(text("modelId")).map(str::to_owned)
}

impl Loose {
    fn take(&mut self, dialect: Dialect, value: &Value, place: Place, out: &mut Out) {
        self.chain.take(&exact::written(value));
        for (number, read) in dialect.message(value).into_iter().enumerate() {
            let (message, id) = match read {
                Read::Said(message, id) => (*message, id),
                Read::Thought(block, id) => {
                    self.thoughts.push(block, id);
                    continue;
                }
                Read::Skip(why, what) => {
                    out.skip(why, &what, place);
                    continue;
                }
            };
            let message = self.thoughts.before(message);
            if says_nothing(&message.content) {
                out.skip(Why::Empty, message.role.as_str(), place);
                continue;
            }
            let key = match id {
                Some(id) => key(&id),
                None if number == 0 => self.chain.key(),
                None => key(&format!("{}.{number}", self.chain.key())),
            };
            let model = model_of(value).or_else(|| self.model.clone()).filter(|_| message.model().is_none());
            let message = match model {
                Some(model) if message.role == Role::Assistant => message.spoken_by(&model),
                _ => message,
            };
            out.say(&self.id, key, message, time(value));
        }
    }

    fn end(&self, place: Place, out: &mut Out) {
        if !self.thoughts.is_empty() {
            out.skip(Why::Unfinished, "reasoning at the end", place);
        }
    }
}

/// When a message was said, where a program has written that beside it.
fn time(value: &Value) -> Option<Timestamp> {
    let text = |name: &str| value.get(name).and_then(Value::as_str)?.parse().ok();
    text("timestamp").or_else(|| text("created_at"))
}

impl Shape for Lists {
    fn record(&mut self, record: &str, place: Place, out: &mut Out) -> Result<(), TranscriptError> {
        let value: Value = exact::parse(record).map_err(|error| out.damaged(place, crate::reader::not_json(&error)))?;
        if let Some(list) = value.as_array() {
            let messages: Vec<_> = list.iter().collect();
            self.whole(&Value::Null, &messages, place, out);
            return Ok(());
        }
        if let Some(messages) = messages_of(&value) {
            self.whole(&value, &messages, place, out);
            return Ok(());
        }
        if !value.is_object() {
            out.skip(Why::Broken, "value that is no object", place);
            return Ok(());
        }
        let loose = self.loose.get_or_insert_with(|| {
            let id = conversation_id(&[&self.name]);
            out.begin(Conversation::new(id.clone()));
            Loose { id, chain: Chain::default(), thoughts: Thoughts::default(), model: None }
        });
        loose.take(self.dialect, &value, place, out);
        Ok(())
    }

    fn finish(&mut self, out: &mut Out) {
        if let Some(loose) = &self.loose {
            loose.end(Place::default(), out);
        }
    }
}

/// The messages of a request, of an answer, or of both.
fn messages_of(object: &Value) -> Option<Vec<&Value>> {
    // A message has a role, whatever else it has.
    if object.get("role").is_some() {
        return None;
    }
    let list = |name: &str| match object.get(name) {
        Some(Value::Array(list)) => Some(list.iter().collect()),
        // The Responses API takes a text as the user's message.
        Some(text @ Value::String(_)) if name == "input" && object.get("output").is_some() => Some(vec![text]),
        _ => None,
    };
    let is_item = object.get("type").is_some();
    let output = object.get("output").and_then(Value::as_array).filter(|_| !is_item);
    let answer = object.get("choices").and_then(Value::as_array);
    let answer = answer.map(|choices| choices.first().and_then(|choice| choice.get("message")).into_iter().collect());
    let parts: Vec<Vec<&Value>> = LISTS
        .into_iter()
        .filter(|name| !is_item || *name == "messages")
        .filter_map(list)
        .chain(output.map(|output| output.iter().collect()))
        .chain(answer)
        .collect();
    (!parts.is_empty()).then(|| parts.concat())
}

/// A message of one text.
fn text_of(role: Role, text: &str) -> Message {
    Message::text_of(role, text)
}
