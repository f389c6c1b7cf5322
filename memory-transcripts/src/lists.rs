//! Lists of messages: as programs send them to a model (OpenAI Chat and Responses, Anthropic, Bedrock, LangChain), and
//! as data sets hold them.
//!
//! A record is a message of the file's single conversation, or an object or list that is a conversation of its own.

mod chat;
mod dataset;
mod dialect;
mod exchange;
mod langchain;

use std::borrow::Cow;

use memory_core::{ConversationId, Role, Timestamp};
use serde_json::Value;

use crate::{
    Conversation, Format, TranscriptError, Why, exact,
    members::{by_model, time},
    names::{Chain, conversation_id, key},
    oasst::Trees,
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
    trees: Trees,
}

/// A conversation that is being read.
#[derive(Debug)]
struct Loose {
    id: ConversationId,
    chain: Chain,
    thoughts: Thoughts,
    model: Option<String>,
    /// Time of the conversation, for messages without one.
    at: Option<Timestamp>,
    calls: dataset::Calls,
}

impl Loose {
    fn new(id: ConversationId, object: &Value) -> Self {
        Self {
            id,
            chain: Chain::default(),
            thoughts: Thoughts::default(),
            model: model_of(object).map(str::to_owned),
            at: ["timestamp", "tstamp"].iter().find_map(|name| time(&object[*name])),
            calls: dataset::Calls::default(),
        }
    }
}

impl Lists {
    pub(crate) fn new(format: Format, name: &str) -> Self {
        Self { format, name: name.to_owned(), loose: None, whole: 0, trees: Trees::default() }
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
        let mut loose = Loose::new(id, object);
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
    let named = ["model", "modelId", "model_name"].iter().find_map(|name| object[*name].as_str());
    named.or_else(|| ["id", "modelId"].iter().find_map(|name| object["modelInfo"].get(name)?.as_str()))
}

impl Loose {
    fn take(&mut self, format: Format, value: &Value, out: &mut ItemQueue) {
        self.chain.take(&exact::written(value));
        let plain = match format {
            Format::Dataset => dataset::plain(value, &mut self.calls),
            _ => Cow::Borrowed(value),
        };
        for (number, read) in dialect::message(format, &plain).into_iter().enumerate() {
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
            let at = ["timestamp", "created_at", "ts"].iter().find_map(|name| time(&value[*name]));
            out.say(&self.id, key, message, at.or(self.at));
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

impl FormatReader for Lists {
    fn record(&mut self, record: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let Some(value) = out.parsed::<Value>(record, "value")? else { return Ok(()) };
        if let Some(list) = value.as_array() {
            let messages: Vec<_> = list.iter().map(Cow::Borrowed).collect();
            self.whole(&Value::Null, &messages, out);
            return Ok(());
        }
        if self.format == Format::Dataset && self.trees.take(&value, out) {
            return Ok(());
        }
        let two = dataset::arena(&value);
        let logged = exchange::logged(&value);
        let one = std::slice::from_ref(logged.as_ref().unwrap_or(&value));
        let objects = two.as_ref().map_or(one, <[Value; 2]>::as_slice);
        let mut is_whole = false;
        for object in objects {
            let Some(exchange) = Exchange::of(object) else { continue };
            is_whole = true;
            self.whole(object, &exchange.messages, out);
            let system = dialect::system(self.format, object).map(|(name, _)| name);
            exchange.count_others(object, system, out);
        }
        if is_whole {
            return Ok(());
        }
        if !value.is_object() {
            out.skip(Why::Broken, "value that is no object");
            return Ok(());
        }
        let loose = self.loose.get_or_insert_with(|| {
            let id = conversation_id(&[&self.name]);
            out.begin(Conversation::new(id.clone()));
            Loose::new(id, &Value::Null)
        });
        loose.take(self.format, &value, out);
        Ok(())
    }

    fn finish(&mut self, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        self.trees.close(out);
        // A file of lines may continue later.
        if self.loose.as_ref().is_some_and(|loose| !loose.thoughts.is_empty()) {
            out.skip_at(Why::Unfinished, "reasoning at the end", RecordPlace::default());
        }
        Ok(())
    }
}
