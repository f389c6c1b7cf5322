//! The message shape of each API.

use memory_core::{ContentBlock, Message, Role, json::message_from_strands};
use serde_json::Value;

use super::{chat, langchain};
use crate::{
    Format, Why,
    blocks::{Blocks, anthropic_value},
    media::wrap,
    members::{keep, others},
    responses::{self, ListItem},
};

/// Members of a message of Anthropic's API, and of Cline's, that are read.
const TAKEN: [&str; 9] = ["role", "content", "id", "model", "type", "timestamp", "created_at", "ts", "modelInfo"];

/// Content of a value of a list.
pub(super) fn message(format: Format, value: &Value) -> Vec<ListItem> {
    if let Some(text) = value.as_str() {
        return vec![Message::user(text).into()];
    }
    match format {
        Format::Responses => vec![responses::item(value)],
        Format::Anthropic => vec![anthropic(value)],
        Format::Bedrock => {
            let mut value = value.clone();
            wrap(&mut value);
            vec![match message_from_strands(&value) {
                Ok(message) => message.into(),
                Err(error) => ListItem::Skip(Why::Broken, format!("message ({})", error.at)),
            }]
        }
        Format::LangChain => vec![langchain::message(value)],
        _ => chat::message(value),
    }
}

/// The instructions of a request, with the name of their member.
pub(super) fn system(format: Format, object: &Value) -> Option<(&'static str, Message)> {
    let says_so = |name: &&str| object.get(*name).is_some_and(Value::is_string);
    let name = match format {
        Format::Anthropic if says_so(&"system_prompt") => "system_prompt",
        Format::Anthropic | Format::Bedrock => "system",
        Format::Responses => "instructions",
        _ => ["system", "instructions", "system_prompt"].into_iter().find(says_so)?,
    };
    let mut blocks = Blocks::default();
    match format {
        Format::Anthropic => blocks = anthropic_value(object.get(name)?),
        Format::Bedrock => {
            for block in object.get("system")?.as_array()? {
                if let Some(text) = block["text"].as_str() {
                    blocks.add((ContentBlock::Text(text.to_owned()), others(block, &["text"])));
                }
            }
        }
        _ => blocks.blocks.push(ContentBlock::Text(object.get(name)?.as_str()?.to_owned())),
    }
    (!crate::out::says_nothing(&blocks.blocks)).then(|| (name, blocks.message(Role::System)))
}

fn anthropic(value: &Value) -> ListItem {
    let role = match value["role"].as_str() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        Some("tool") => Role::Tool,
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
    keep(&mut message, others(value, &TAKEN));
    let id = value["id"].as_str().map(str::to_owned);
    ListItem::Message(Box::new(message), id)
}
