//! Lists of messages as programs send them to a model: OpenAI Chat and Responses, Anthropic, Bedrock, LangChain.
//!
//! A record is a message of the file's single conversation, or an object or list that is a conversation of its own.

mod chat;
mod dialect;
mod exchange;
mod langchain;

use std::borrow::Cow;

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
use exchange::{Exchange, NAMES};

/// Reader of such files.
#[derive(Debug)]
pub(crate) struct Lists {
    dialect: Dialect,
    /// Name of a conversation that has no name of its own.
    name: String,
    /// The conversation whose messages are single records.
    loose: Option<Loose>,
    /// Number of conversations that were single records.
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
impl Lists {
    pub(crate) fn new(dialect: Dialect, name: &str) -> Self {
        Self { dialect, name: name.to_owned(), loose: None, whole: 0 }
    }

    /// Emits a conversation that is a single record.
    fn whole(&mut self, object: &Value, messages: &[Cow<'_, Value>], place: Place, out: &mut Out) {
        self.whole += 1;
        let text = |name: &str| object.get(name).and_then(Value::as_str);
        let named = NAMES.iter().find_map(|name| text(name)).map(|name| conversation_id(&[name]));
        let id = named.unwrap_or_else(|| match self.whole {
            1 => conversation_id(&[&self.name]),
            number => conversation_id(&[&self.name, &number.to_string()]),
        });
        out.begin(Conversation::new(id.clone()).title(text("title").and_then(crate::out::usable_title)));
        let mut loose = Loose { id, chain: Chain::default(), thoughts: Thoughts::default(), model: model_of(object) };
        if let Some((name, system)) = self.dialect.system(object) {
            let mut chain = Chain::default();
            chain.take(&object.get(name).map(exact::written).unwrap_or_default());
            out.say(&loose.id, chain.key(), system, None);
        }
        for message in messages {
            loose.take(self.dialect, message, place, out);
        }
        loose.think(out);
    }
}

/// Model that a request or response names.
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
                Read::Thought(block, beside, id) => {
                    self.thoughts.push((block, beside), id);
                    continue;
                }
                Read::Skip(why, what) => {
                    out.skip(why, &what, place);
                    continue;
                }
            };
            if message.role == Role::User {
                self.think(out);
            }
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

    /// Emits reasoning that no message followed.
    fn think(&mut self, out: &mut Out) {
        if let Some(message) = self.thoughts.alone() {
            let message = match &self.model {
                Some(model) => message.spoken_by(model),
                None => message,
            };
            out.say(&self.id, key(&format!("{}.thought", self.chain.key())), message, None);
        }
    }
}

/// Time of a message, if a program added it to the message.
fn time(value: &Value) -> Option<Timestamp> {
    let text = |name: &str| value.get(name).and_then(Value::as_str)?.parse().ok();
    text("timestamp").or_else(|| text("created_at"))
}

impl Shape for Lists {
    fn record(&mut self, record: &str, place: Place, out: &mut Out) -> Result<(), TranscriptError> {
        let value: Value = exact::parse(record).map_err(|error| out.damaged(place, crate::reader::not_json(&error)))?;
        if let Some(list) = value.as_array() {
            let messages: Vec<_> = list.iter().map(Cow::Borrowed).collect();
            self.whole(&Value::Null, &messages, place, out);
            return Ok(());
        }
        if let Some(exchange) = Exchange::of(&value) {
            self.whole(&value, &exchange.messages, place, out);
            let system = self.dialect.system(&value).map(|(name, _)| name);
            exchange.count_others(&value, system, place, out);
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

    fn finish(&mut self, out: &mut Out) -> Result<(), TranscriptError> {
        // A file of lines may continue later.
        if self.loose.as_ref().is_some_and(|loose| !loose.thoughts.is_empty()) {
            out.skip(Why::Unfinished, "reasoning at the end", Place::default());
        }
        Ok(())
    }
}

/// A message of a single text.
fn text_of(role: Role, text: &str) -> Message {
    Message::text_of(role, text)
}
