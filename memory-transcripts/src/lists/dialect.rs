//! The message shape of each API.

use memory_core::{ContentBlock, Message, Role, json::message_from_strands};
use serde_json::{Map, Value};

use super::{chat, langchain, text_of};
use crate::{
    Why,
    blocks::{Blocks, anthropic_value},
    media::wrapped,
    members::{keep, others},
    responses::{self, Item},
};

/// The API whose messages a list holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// OpenAI's Chat Completions API.
    Chat,
    /// OpenAI's Responses API.
    Responses,
    /// Anthropic's Messages API.
    Anthropic,
    /// The Converse API of Amazon Bedrock.
    Bedrock,
    /// Messages of LangChain, as dictionaries or serialized.
    LangChain,
}

/// Content of one value of a list.
#[derive(Debug)]
pub(super) enum Read {
    /// A message, with its id if it has one.
    Said(Box<Message>, Option<String>),
    /// Reasoning that belongs to the model's next message.
    Thought(ContentBlock, Map<String, Value>, Option<String>),
    /// No message; why, and the name to count.
    Skip(Why, String),
}

impl Read {
    pub(super) fn said(message: Message) -> Self {
        Self::Said(Box::new(message), None)
    }
}

impl Dialect {
    pub(super) fn message(self, value: &Value) -> Vec<Read> {
        if let Some(text) = value.as_str() {
            return vec![Read::said(text_of(Role::User, text))];
        }
        match self {
            Self::Chat => chat::message(value),
            Self::Responses => vec![match responses::item(value) {
                Item::Message(message) => Read::said(message),
                Item::Reasoning(block, beside, id) => Read::Thought(block, beside, id),
                Item::Skip(why, what) => Read::Skip(why, what),
            }],
            Self::Anthropic => vec![anthropic(value)],
            Self::Bedrock => vec![match message_from_strands(&wrapped(value.clone())) {
                Ok(message) => Read::said(message),
                Err(error) => Read::Skip(Why::Broken, format!("message ({})", error.at)),
            }],
            Self::LangChain => vec![langchain::message(value)],
        }
    }

    /// The instructions of a request, with the name of their member.
    pub(super) fn system(self, object: &Value) -> Option<(&'static str, Message)> {
        let says_so = |name: &&str| object.get(*name).is_some_and(Value::is_string);
        let name = match self {
            Self::Anthropic | Self::Bedrock => "system",
            Self::Responses => "instructions",
            Self::Chat | Self::LangChain => ["system", "instructions"].into_iter().find(says_so)?,
        };
        let mut blocks = Blocks::default();
        match self {
            Self::Anthropic => blocks = anthropic_value(object.get("system")?),
            Self::Bedrock => {
                for block in object.get("system")?.as_array()? {
                    if let Some(text) = block.get("text").and_then(Value::as_str) {
                        blocks.add((ContentBlock::Text(text.to_owned()), others(block, &["text"])));
                    }
                }
            }
            Self::Responses | Self::Chat | Self::LangChain => {
                blocks.blocks.push(ContentBlock::Text(object.get(name)?.as_str()?.to_owned()));
            }
        }
        if crate::out::says_nothing(&blocks.blocks) {
            return None;
        }
        let mut message = Message::new(Role::System, Vec::new());
        blocks.put_before(&mut message);
        Some((name, message))
    }
}

fn anthropic(value: &Value) -> Read {
    let role = match value.get("role").and_then(Value::as_str) {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        Some(other) => return Read::Skip(Why::Unknown, format!("message of the role {other}")),
        None => return Read::Skip(Why::Unknown, "value without a role".to_owned()),
    };
    let mut read = value.get("content").map(anthropic_value).unwrap_or_default();
    // A failed compaction has no content and changed nothing.
    let failed = |block: &ContentBlock| match block {
        ContentBlock::Unknown(json) => {
            let value = json.to_value();
            let is_null = |name: &str| value.get(name).is_none_or(Value::is_null);
            value.get("type").and_then(Value::as_str) == Some("compaction")
                && is_null("content")
                && is_null("encrypted_content")
        }
        _ => false,
    };
    if read.blocks.iter().any(failed) && read.extra.is_empty() {
        read.blocks.retain(|block| !failed(block));
    }
    let mut message = Message::new(role, Vec::new());
    message.metadata.extend(read.extra());
    message.content = read.blocks;
    keep(&mut message, others(value, &["role", "content", "id", "model", "type", "timestamp", "created_at"]));
    let id = value.get("id").and_then(Value::as_str).map(str::to_owned);
    Read::Said(Box::new(message), id)
}
