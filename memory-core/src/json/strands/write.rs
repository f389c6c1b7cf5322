//! Writing a message for Strands.

use serde_json::{Map, Value, json};

use super::{
    STRANDS,
    media::{document_format, subtype, wrapped},
};
use crate::{ContentBlock, Media, Message, Role};

pub(super) fn message(message: &Message) -> Value {
    let beside = message.metadata.get(STRANDS).map(crate::Json::to_value).unwrap_or_default();
    let given = |index: usize| beside.get("blocks")?.get(index.to_string()).cloned();
    let block = |(index, of): (usize, &ContentBlock)| given(index).unwrap_or_else(|| block(of));
    let role = if message.role == Role::Assistant { "assistant" } else { "user" };
    let mut members = Map::new();
    members.insert("role".to_owned(), role.into());
    members.insert("content".to_owned(), message.content.iter().enumerate().map(block).collect());
    members.extend(beside.get("members").and_then(Value::as_object).cloned().unwrap_or_default());
    members.into()
}

/// A block, as text if Strands lacks its kind.
pub(super) fn block(block: &ContentBlock) -> Value {
    match block {
        ContentBlock::Text(text) => json!({"text": text}),
        ContentBlock::ToolUse { id, name, input } => {
            json!({"toolUse": {"toolUseId": id, "name": name, "input": input.to_value()}})
        }
        ContentBlock::ToolResult { tool_use_id, content, is_error } => {
            let status = if *is_error { "error" } else { "success" };
            let content: Vec<_> = content.iter().map(self::block).collect();
            json!({"toolResult": {"toolUseId": tool_use_id, "status": status, "content": content}})
        }
        ContentBlock::Image(Media::Bytes { media_type, data }) => {
            json!({"image": {"format": subtype(media_type), "source": {"bytes": wrapped(data)}}})
        }
        ContentBlock::Document { title, media: Media::Bytes { media_type, data } } => {
            document(title.as_deref(), media_type, data)
        }
        ContentBlock::Document { title, media: Media::Text { media_type, text } } => {
            document(title.as_deref(), media_type, text.as_bytes())
        }
        ContentBlock::Reasoning { text, signature } => {
            let mut reasoning = json!({"text": text});
            if let (Some(signature), Some(members)) = (signature, reasoning.as_object_mut()) {
                members.insert("signature".to_owned(), signature.as_str().into());
            }
            json!({"reasoningContent": {"reasoningText": reasoning}})
        }
        ContentBlock::Unknown(json) => unknown(json.to_value()).unwrap_or_else(|| json!({"text": block.text()})),
        ContentBlock::Image(_) | ContentBlock::Document { .. } => json!({"text": block.text()}),
    }
}

/// A block of an unknown kind, if it may be one of Strands: an object that is named by its member.
fn unknown(value: Value) -> Option<Value> {
    let members = value.as_object()?;
    (!members.is_empty() && !members.contains_key("type")).then_some(value)
}

fn document(title: Option<&str>, media_type: &str, bytes: &[u8]) -> Value {
    let name = title.unwrap_or("untitled");
    json!({"document": {"format": document_format(media_type), "name": name, "source": {"bytes": wrapped(bytes)}}})
}
