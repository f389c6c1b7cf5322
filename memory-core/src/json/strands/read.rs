//! Reading a message of Strands.

use serde_json::{Map, Value};

use super::{
    media::{document_type, unwrapped},
    write,
};
use crate::{ContentBlock, Json, Media, Message, Role, json::InvalidMessage};

fn invalid(at: impl Into<String>, why: &str) -> InvalidMessage {
    InvalidMessage { at: at.into(), why: why.to_owned() }
}

/// Reads role and content of a message.
pub(super) fn message(value: &Value) -> Result<Message, InvalidMessage> {
    let members = value.as_object().ok_or_else(|| invalid("message", "expected an object"))?;
    let role = match members.get("role").and_then(Value::as_str) {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some(_) => return Err(invalid("role", "expected user or assistant")),
        None => return Err(invalid("role", "missing")),
    };
    let content = match members.get("content") {
        None => return Err(invalid("content", "missing")),
        Some(content) => content.as_array().ok_or_else(|| invalid("content", "expected a list of blocks"))?,
    };
    let block = |(index, value): (usize, &Value)| match value {
        Value::Object(_) => Ok(block(value)),
        _ => Err(invalid(format!("content[{index}]"), "expected an object")),
    };
    Ok(Message::new(role, content.iter().enumerate().map(block).collect::<Result<_, _>>()?))
}

/// Members and blocks that the message does not hold: `{"members": {…}, "blocks": {"2": …}}`, each only if not empty.
pub(super) fn beside(value: &Value, message: &Message) -> Map<String, Value> {
    let mut beside = Map::new();
    let is_other = |(name, _): &(&String, &Value)| !matches!(name.as_str(), "role" | "content");
    let members: Map<_, _> = value.as_object().into_iter().flatten().filter(is_other).map(owned).collect();
    if !members.is_empty() {
        beside.insert("members".to_owned(), members.into());
    }
    let given = value.get("content").and_then(Value::as_array).into_iter().flatten();
    let blocks = given.zip(&message.content).enumerate().filter(|(_, (given, block))| write::block(block) != **given);
    let blocks: Map<_, _> = blocks.map(|(index, (given, _))| (index.to_string(), given.clone())).collect();
    if !blocks.is_empty() {
        beside.insert("blocks".to_owned(), blocks.into());
    }
    beside
}

fn owned((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

/// A block; one with unknown content stays as JSON.
fn block(value: &Value) -> ContentBlock {
    known(value).unwrap_or_else(|| ContentBlock::Unknown(Json::from_value(value)))
}

fn known(value: &Value) -> Option<ContentBlock> {
    let text = |of: &Value, name: &str| of.get(name)?.as_str().map(str::to_owned);
    if let Some(said) = text(value, "text") {
        return Some(ContentBlock::Text(said));
    }
    if let Some(call) = value.get("toolUse") {
        let input = Json::from_value(call.get("input").unwrap_or(&Value::Null));
        return Some(ContentBlock::ToolUse { id: text(call, "toolUseId")?, name: text(call, "name")?, input });
    }
    if let Some(result) = value.get("toolResult") {
        let content = result.get("content")?.as_array()?.iter().map(block).collect();
        let is_error = result.get("status").and_then(Value::as_str) == Some("error");
        return Some(ContentBlock::ToolResult { tool_use_id: text(result, "toolUseId")?, content, is_error });
    }
    if let Some(image) = value.get("image") {
        let media_type = format!("image/{}", text(image, "format")?);
        return Some(ContentBlock::Image(bytes(image, media_type)?));
    }
    if let Some(document) = value.get("document") {
        let media = bytes(document, document_type(&text(document, "format")?))?;
        return Some(ContentBlock::Document { title: text(document, "name"), media });
    }
    let reasoning = value.get("reasoningContent")?.get("reasoningText")?;
    Some(ContentBlock::Reasoning { text: text(reasoning, "text")?, signature: text(reasoning, "signature") })
}

fn bytes(of: &Value, media_type: String) -> Option<Media> {
    let data = unwrapped(of.get("source")?.get("bytes")?)?.into();
    Some(Media::Bytes { media_type, data })
}
