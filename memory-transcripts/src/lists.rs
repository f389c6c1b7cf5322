//! Lists of messages as programs send them to a model: OpenAI Chat and Responses, Anthropic, Bedrock, LangChain.
//!
//! A record is a message of the file's single conversation, or an object or list that is a conversation of its own.

mod chat;
mod dialect;
mod exchange;
mod langchain;

use std::borrow::Cow;

use memory_core::{ConversationId, Role, Timestamp};
use serde_json::Value;

use crate::{
    Conversation, Format, TranscriptError, Why, exact,
    members::by_model,
    names::{Chain, conversation_id, key},
    out::{ItemQueue, says_nothing},
    reader::FormatReader,
    records::RecordPlace,
    responses::{ListItem, Thoughts},
};
use exchange::{Exchange, NAMES};

/// Reader of such files.
#[derive(Debug)]
pub(crate) struct Lists {
    format: Format,
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
    pub(crate) fn new(format: Format, name: &str) -> Self {
        Self { format, name: name.to_owned(), loose: None, whole: 0 }
    }

    /// Emits a conversation that is a single record.
    fn whole(&mut self, object: &Value, messages: &[Cow<'_, Value>], out: &mut ItemQueue) {
        self.whole += 1;
        let text = |name: &str| object[name].as_str();
        let named = NAMES.iter().find_map(|name| text(name)).map(|name| conversation_id(&[name]));
        let id = named.unwrap_or_else(|| match self.whole {
            1 => conversation_id(&[&self.name]),
            number => conversation_id(&[&self.name, &number.to_string()]),
        });
        out.begin(Conversation::new(id.clone()).title(text("title").and_then(crate::out::usable_title)));
        let mut loose = Loose {
            id,
            chain: Chain::default(),
            thoughts: Thoughts::default(),
            model: model_of(object).map(str::to_owned),
        };
        if let Some((name, system)) = dialect::system(self.format, object) {
            let mut chain = Chain::default();
            chain.take(&object.get(name).map(exact::written).unwrap_or_default());
            out.say(&loose.id, chain.key(), system, None);
        }
        for message in messages {
            loose.take(self.format, message, out);
        }
        loose.think(out);
    }
}

/// Model that a request or response names.
fn model_of(object: &Value) -> Option<&str> {
    object["model"].as_str().or(object["modelId"].as_str())
}

impl Loose {
    fn take(&mut self, format: Format, value: &Value, out: &mut ItemQueue) {
        self.chain.take(&exact::written(value));
        for (number, read) in dialect::message(format, value).into_iter().enumerate() {
            let (message, id) = match read {
                ListItem::Message(message, id) => (*message, id),
                ListItem::Reasoning(block, beside, id) => {
                    self.thoughts.push((block, beside), id);
                    continue;
                }
                ListItem::Skip(why, what) => {
                    out.skip(why, &what);
                    continue;
                }
            };
            if message.role == Role::User {
                self.think(out);
            }
            let message = self.thoughts.before(message);
            if says_nothing(&message.content) {
                out.skip(Why::Empty, message.role.as_str());
                continue;
            }
            let key = match id {
                Some(id) => key(&id),
                None if number == 0 => self.chain.key(),
                None => key(&format!("{}.{number}", self.chain.key())),
            };
            let model = model_of(value).or(self.model.as_deref()).filter(|_| message.model().is_none());
            let message = by_model(message, model);
            out.say(&self.id, key, message, time(value));
        }
    }

    /// Emits reasoning that no message followed.
    fn think(&mut self, out: &mut ItemQueue) {
        if let Some(message) = self.thoughts.alone() {
            let message = by_model(message, self.model.as_deref());
            out.say(&self.id, key(&format!("{}.thought", self.chain.key())), message, None);
        }
    }
}

/// Time of a message, if a program added it to the message.
fn time(value: &Value) -> Option<Timestamp> {
    let text = |name: &str| value[name].as_str()?.parse().ok();
    text("timestamp").or_else(|| text("created_at"))
}

impl FormatReader for Lists {
    fn record(&mut self, record: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let Some(value) = out.parsed::<Value>(record, "value")? else { return Ok(()) };
        if let Some(list) = value.as_array() {
            let messages: Vec<_> = list.iter().map(Cow::Borrowed).collect();
            self.whole(&Value::Null, &messages, out);
            return Ok(());
        }
        if let Some(exchange) = Exchange::of(&value) {
            self.whole(&value, &exchange.messages, out);
            let system = dialect::system(self.format, &value).map(|(name, _)| name);
            exchange.count_others(&value, system, out);
            return Ok(());
        }
        if !value.is_object() {
            out.skip(Why::Broken, "value that is no object");
            return Ok(());
        }
        let loose = self.loose.get_or_insert_with(|| {
            let id = conversation_id(&[&self.name]);
            out.begin(Conversation::new(id.clone()));
            Loose { id, chain: Chain::default(), thoughts: Thoughts::default(), model: None }
        });
        loose.take(self.format, &value, out);
        Ok(())
    }

    fn finish(&mut self, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        // A file of lines may continue later.
        if self.loose.as_ref().is_some_and(|loose| !loose.thoughts.is_empty()) {
            out.skip_at(Why::Unfinished, "reasoning at the end", RecordPlace::default());
        }
        Ok(())
    }
}
