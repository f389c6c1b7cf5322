//! How the messages of each interface are read.

use memory_core::{ContentBlock, Message, Role, message_from_strands};
use serde_json::Value;

use super::{chat, langchain, text_of};
use crate::{
    Why,
    blocks::anthropic_value,
    media::wrapped,
    responses::{self, Item},
};

/// The interface whose messages a list holds.
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

/// What a value of a list says.
#[derive(Debug)]
pub(super) enum Read {
    /// A message, with its id if it has one.
    Said(Box<Message>, Option<String>),
    /// Reasoning that belongs to what the model says next.
    Thought(ContentBlock, Option<String>),
    /// Nothing that was said.
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
                Item::Reasoning(block, id) => Read::Thought(block, id),
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

    /// The instructions of a request.
    pub(super) fn system(self, object: &Value) -> Option<Message> {
        let blocks = match self {
            Self::Anthropic => anthropic_value(object.get("system")?).blocks,
            Self::Bedrock => {
                let texts = object.get("system")?.as_array()?.iter().filter_map(|block| block.get("text")?.as_str());
                texts.map(|text| ContentBlock::Text(text.to_owned())).collect()
            }
            Self::Responses => vec![ContentBlock::Text(object.get("instructions")?.as_str()?.to_owned())],
            Self::Chat | Self::LangChain => return None,
        };
        (!crate::out::says_nothing(&blocks)).then(|| Message::new(Role::System, blocks))
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
    // A compaction that failed has no content and changed nothing.
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
    let id = value.get("id").and_then(Value::as_str).map(str::to_owned);
    Read::Said(Box::new(message), id)
}
