//! Messages to and from plain JSON, content blocks in the shape of Anthropic's Messages API.

use std::{collections::BTreeMap, sync::Arc};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};

use crate::{ContentBlock, Json, Media, Message, MessageKey, Role};

/// Why JSON is no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {why}")]
pub struct InvalidMessage {
    /// The member, as in `content[2].input`.
    pub at: String,
    /// What is wrong there.
    pub why: String,
}

fn invalid(at: impl Into<String>, why: impl Into<String>) -> InvalidMessage {
    InvalidMessage { at: at.into(), why: why.into() }
}

const MEMBERS: [&str; 6] = ["role", "content", "speaker", "key", "keep_out_of_summaries", "metadata"];

/// Reads `{"role", "content", "speaker"?, "key"?, "keep_out_of_summaries"?, "metadata"?}`.
///
/// A member of another name is refused rather than lost. `content` is a text or a list of blocks. A block of
/// an unknown type, or a known one with members that
/// its type does not have, is kept as it came.
///
/// # Errors
/// When a member is missing, unknown or of the wrong kind; the error names it.
pub fn message_from_json(value: &Value) -> Result<Message, InvalidMessage> {
    let map = value.as_object().ok_or_else(|| invalid("message", "expected an object"))?;
    if let Some(unknown) = map.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
        let why = format!("a message has no such member, only {}", MEMBERS.join(", "));
        return Err(invalid(unknown.as_str(), why));
    }
    let role = match text(map, "role")?.ok_or_else(|| invalid("role", "missing"))? {
        "user" | "human" => Role::User,
        "assistant" | "ai" => Role::Assistant,
        "system" | "developer" => Role::System,
        "tool" => Role::Tool,
        other => {
            return Err(invalid("role", format!("`{other}` is none of user, assistant, system, tool")));
        }
    };
    let content = match map.get("content") {
        Some(content) => blocks(content, "content")?,
        None => return Err(invalid("content", "missing")),
    };
    let key = match text(map, "key")? {
        Some(key) => Some(MessageKey::new(key).map_err(|e| invalid("key", e.to_string()))?),
        None => None,
    };
    let metadata = match map.get("metadata") {
        None | Some(Value::Null) => BTreeMap::new(),
        Some(Value::Object(entries)) => entries.iter().map(|(k, v)| (k.clone(), Json::from_value(v))).collect(),
        Some(_) => return Err(invalid("metadata", "expected an object")),
    };
    let keep_out_of_summaries = match map.get("keep_out_of_summaries") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(keep)) => *keep,
        Some(_) => return Err(invalid("keep_out_of_summaries", "expected true or false")),
    };
    let speaker = text(map, "speaker")?.map(str::to_owned);
    Ok(Message { role, speaker, content, key, metadata, keep_out_of_summaries })
}

fn text<'a>(map: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, InvalidMessage> {
    match map.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(invalid(name, "expected a text")),
    }
}

fn blocks(content: &Value, at: &str) -> Result<Vec<ContentBlock>, InvalidMessage> {
    match content {
        Value::String(text) => Ok(vec![ContentBlock::Text(text.clone())]),
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => items.iter().enumerate().map(|(i, item)| block(item, &format!("{at}[{i}]"))).collect(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => Err(invalid(at, "expected a text or a list of blocks")),
    }
}

fn block(value: &Value, at: &str) -> Result<ContentBlock, InvalidMessage> {
    let map = value.as_object().ok_or_else(|| invalid(at, "expected an object"))?;
    let known = match map.get("type").and_then(Value::as_str) {
        Some("text") => text_block(map),
        Some("tool_use") => tool_use(map),
        Some("tool_result") => return tool_result(map, value, at),
        Some("thinking") => thinking(map),
        Some("image") => {
            only(map, &["type", "source"]).and_then(|()| media(map.get("source")?)).map(ContentBlock::Image)
        }
        Some("document") => document(map),
        Some(_) => None,
        None => return Err(invalid(format!("{at}.type"), "missing")),
    };
    Ok(known.unwrap_or_else(|| ContentBlock::Unknown(Json::from_value(value))))
}

/// `None` when the block has a member that would be lost.
fn only(map: &Map<String, Value>, members: &[&str]) -> Option<()> {
    map.keys().all(|key| members.contains(&key.as_str())).then_some(())
}

fn string(map: &Map<String, Value>, name: &str) -> Option<String> {
    map.get(name)?.as_str().map(str::to_owned)
}

fn text_block(map: &Map<String, Value>) -> Option<ContentBlock> {
    only(map, &["type", "text"])?;
    string(map, "text").map(ContentBlock::Text)
}

fn tool_use(map: &Map<String, Value>) -> Option<ContentBlock> {
    only(map, &["type", "id", "name", "input"])?;
    let input = Json::from_value(map.get("input")?);
    Some(ContentBlock::ToolUse { id: string(map, "id")?, name: string(map, "name")?, input })
}

fn tool_result(map: &Map<String, Value>, value: &Value, at: &str) -> Result<ContentBlock, InvalidMessage> {
    let known = only(map, &["type", "tool_use_id", "content", "is_error"])
        .and_then(|()| Some((string(map, "tool_use_id")?, map.get("is_error").map_or(Some(false), Value::as_bool)?)));
    let Some((tool_use_id, is_error)) = known else {
        return Ok(ContentBlock::Unknown(Json::from_value(value)));
    };
    let content = map.get("content").map_or(Ok(Vec::new()), |content| blocks(content, &format!("{at}.content")))?;
    Ok(ContentBlock::ToolResult { tool_use_id, content, is_error })
}

fn thinking(map: &Map<String, Value>) -> Option<ContentBlock> {
    only(map, &["type", "thinking", "signature"])?;
    let signature = match map.get("signature") {
        None => None,
        Some(signature) => Some(signature.as_str()?.to_owned()),
    };
    Some(ContentBlock::Reasoning { text: string(map, "thinking")?, signature })
}

fn document(map: &Map<String, Value>) -> Option<ContentBlock> {
    only(map, &["type", "title", "source"])?;
    let title = match map.get("title") {
        None => None,
        Some(title) => Some(title.as_str()?.to_owned()),
    };
    Some(ContentBlock::Document { title, media: media(map.get("source")?)? })
}

fn media(source: &Value) -> Option<Media> {
    let map = source.as_object()?;
    match map.get("type")?.as_str()? {
        "url" => {
            only(map, &["type", "url"])?;
            string(map, "url").map(Media::Url)
        }
        "text" => {
            only(map, &["type", "media_type", "data"])?;
            Some(Media::Text { media_type: string(map, "media_type")?, text: string(map, "data")? })
        }
        "base64" => {
            only(map, &["type", "media_type", "data"])?;
            let data: Arc<[u8]> = BASE64_STANDARD.decode(map.get("data")?.as_str()?).ok()?.into();
            Some(Media::Bytes { media_type: string(map, "media_type")?, data })
        }
        _ => None,
    }
}

/// Writes what [`message_from_json`] reads.
#[must_use]
pub fn message_to_json(message: &Message) -> Value {
    let mut map = Map::new();
    map.insert("role".into(), message.role.as_str().into());
    if let Some(speaker) = &message.speaker {
        map.insert("speaker".into(), speaker.as_str().into());
    }
    if let Some(key) = &message.key {
        map.insert("key".into(), key.as_str().into());
    }
    map.insert("content".into(), content_to_json(&message.content));
    if message.keep_out_of_summaries {
        map.insert("keep_out_of_summaries".into(), true.into());
    }
    if !message.metadata.is_empty() {
        let entries = message.metadata.iter().map(|(name, value)| (name.clone(), value.to_value()));
        map.insert("metadata".into(), Value::Object(entries.collect()));
    }
    Value::Object(map)
}

fn content_to_json(content: &[ContentBlock]) -> Value {
    match content {
        [ContentBlock::Text(text)] => text.as_str().into(),
        blocks => Value::Array(blocks.iter().map(block_to_json).collect()),
    }
}

fn block_to_json(block: &ContentBlock) -> Value {
    match block {
        ContentBlock::Text(text) => json!({"type": "text", "text": text}),
        ContentBlock::ToolUse { id, name, input } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": input.to_value()})
        }
        ContentBlock::ToolResult { tool_use_id, content, is_error } => {
            json!({"type": "tool_result", "tool_use_id": tool_use_id, "content": content_to_json(content), "is_error": is_error})
        }
        ContentBlock::Image(media) => json!({"type": "image", "source": media_to_json(media)}),
        ContentBlock::Document { title, media } => {
            with_option(json!({"type": "document", "source": media_to_json(media)}), "title", title.as_deref())
        }
        ContentBlock::Reasoning { text, signature } => {
            with_option(json!({"type": "thinking", "thinking": text}), "signature", signature.as_deref())
        }
        ContentBlock::Unknown(json) => json.to_value(),
    }
}

fn with_option(mut value: Value, name: &str, text: Option<&str>) -> Value {
    if let (Some(map), Some(text)) = (value.as_object_mut(), text) {
        map.insert(name.to_owned(), text.into());
    }
    value
}

fn media_to_json(media: &Media) -> Value {
    match media {
        Media::Url(url) => json!({"type": "url", "url": url}),
        Media::Text { media_type, text } => {
            json!({"type": "text", "media_type": media_type, "data": text})
        }
        Media::Bytes { media_type, data } => {
            json!({"type": "base64", "media_type": media_type, "data": BASE64_STANDARD.encode(data)})
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::messages;

    #[test]
    fn a_block_with_members_we_do_not_know_is_kept_whole() {
        let cached = json!({"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}});
        let message = message_from_json(&json!({"role": "user", "content": [cached.clone()]})).unwrap();
        assert_eq!(message.text(), "hi");
        assert_eq!(message_to_json(&message)["content"][0], cached);
    }

    #[test]
    fn errors_name_the_member() {
        let check = |value: Value, at: &str| assert_eq!(message_from_json(&value).unwrap_err().at, at, "{value}");
        check(json!([]), "message");
        check(json!({"content": "x"}), "role");
        check(json!({"role": "robot", "content": "x"}), "role");
        check(json!({"role": "user"}), "content");
        check(json!({"role": "user", "content": [{"text": "x"}]}), "content[0].type");
        check(
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": 3}]}),
            "content[0].content",
        );
        check(json!({"role": "user", "content": "x", "key": ""}), "key");
        check(json!({"role": "assistant", "content": null, "tool_calls": []}), "tool_calls");
        check(json!({"role": "user", "content": "x", "keep_out_of_summarys": true}), "keep_out_of_summarys");
    }

    proptest! {
        #[test]
        fn messages_survive_the_round_trip(message in messages()) {
            prop_assert_eq!(message_from_json(&message_to_json(&message)), Ok(message));
        }
    }
}
