//! The message shape of each API.

use memory_core::{ContentBlock, Message, Role, message_from_strands};
use serde_json::Value;

use super::{chat, langchain};
use crate::{
    Why,
    blocks::{Blocks, anthropic_value},
    media::wrapped,
    members::{keep, others},
    responses::{self, ListItem},
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

impl Dialect {
    pub(super) fn message(self, value: &Value) -> Vec<ListItem> {
        if let Some(text) = value.as_str() {
            return vec![Message::user(text).into()];
        }
        match self {
            Self::Chat => chat::message(value),
            Self::Responses => vec![responses::item(value)],
            Self::Anthropic => vec![anthropic(value)],
            Self::Bedrock => vec![match message_from_strands(&wrapped(value.clone())) {
                Ok(message) => message.into(),
                Err(error) => ListItem::Skip(Why::Broken, format!("message ({})", error.at)),
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
                    if let Some(text) = block["text"].as_str() {
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
        Some((name, blocks.message(Role::System)))
    }
}

fn anthropic(value: &Value) -> ListItem {
    let role = match value["role"].as_str() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        Some(other) => return ListItem::Skip(Why::Unknown, format!("message of the role {other}")),
        None => return ListItem::Skip(Why::Unknown, "value without a role".to_owned()),
    };
    let mut read = anthropic_value(&value["content"]);
    // A failed compaction has no content and changed nothing.
    let failed = |block: &ContentBlock| match block {
        ContentBlock::Unknown(json) => {
            let value = &json.to_value();
            value["type"] == "compaction" && value["content"].is_null() && value["encrypted_content"].is_null()
        }
        _ => false,
    };
    if read.blocks.iter().any(failed) && read.extra.is_empty() {
        read.blocks.retain(|block| !failed(block));
    }
    let mut message = read.message(role);
    keep(&mut message, others(value, &["role", "content", "id", "model", "type", "timestamp", "created_at"]));
    let id = value["id"].as_str().map(str::to_owned);
    ListItem::Message(Box::new(message), id)
}
