//! Messages for OpenAI's Chat Completions API.

use base64::{Engine, prelude::BASE64_STANDARD};
use memory_core::{ContentBlock, Media, Message, Role};
use serde_json::{Value, json};

use super::LeftOut;

/// Tool results are messages of their own, each with the id of its call.
pub(super) fn messages(message: &Message, left_out: &mut LeftOut) -> Vec<Value> {
    let mut all = Vec::new();
    let mut parts = Vec::new();
    let mut calls = Vec::new();
    for block in &message.content {
        match block {
            ContentBlock::ToolUse { id, name, input } => calls.push(json!({
                "id": id, "type": "function", "function": {"name": name, "arguments": input.as_str()},
            })),
            ContentBlock::ToolResult { tool_use_id, content, is_error } => {
                let texts: Vec<_> = content.iter().map(|block| block.text().into_owned()).collect();
                let text = if *is_error { format!("error:\n{}", texts.join("\n")) } else { texts.join("\n") };
                all.push(json!({"role": "tool", "tool_call_id": tool_use_id, "content": text}));
            }
            ContentBlock::Reasoning { .. } => left_out.reasoning += 1,
            ContentBlock::Text(text) => parts.push(json!({"type": "text", "text": text})),
            // Only user messages may contain pictures and files.
            block if message.role == Role::User => parts.push(part(block, left_out)),
            block => {
                left_out.as_text += 1;
                parts.push(json!({"type": "text", "text": block.text()}));
            }
        }
    }
    if parts.is_empty() && calls.is_empty() {
        return all;
    }
    let role = match message.role {
        // The API has no role for tool output without a call, so the user says it.
        Role::User | Role::Tool => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
    };
    let texts: Option<Vec<&str>> = parts.iter().map(|part| part["text"].as_str()).collect();
    let content = match texts {
        _ if parts.is_empty() => Value::Null,
        Some(texts) => texts.join("\n").into(),
        None => parts.into(),
    };
    let mut written = json!({"role": role, "content": content});
    if let Some(members) = written.as_object_mut() {
        let name = message.speaker.as_deref().filter(|_| role != "system").and_then(fitting_name);
        members.extend(name.map(|name| ("name".to_owned(), name.into())));
        if !calls.is_empty() {
            members.insert("tool_calls".to_owned(), calls.into());
        }
    }
    all.push(written);
    all
}

/// True if the API accepts a text as a name.
pub(super) fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// The name of a speaker as the API accepts it, with `_` for spaces and signs; `None` for one with letters that it lacks.
pub(super) fn fitting_name(name: &str) -> Option<String> {
    let fitting: String = name.trim().replace(|c: char| c.is_ascii() && !is_name(c.encode_utf8(&mut [0; 4])), "_");
    (is_name(&fitting) && fitting.bytes().any(|byte| byte.is_ascii_alphanumeric())).then_some(fitting)
}

fn part(block: &ContentBlock, left_out: &mut LeftOut) -> Value {
    let data = |media_type: &str, data: &[u8]| format!("data:{media_type};base64,{}", BASE64_STANDARD.encode(data));
    match block {
        ContentBlock::Image(Media::Url(url)) if url.starts_with("http") => {
            json!({"type": "image_url", "image_url": {"url": url}})
        }
        ContentBlock::Image(Media::Bytes { media_type, data: bytes }) => {
            json!({"type": "image_url", "image_url": {"url": data(media_type, bytes)}})
        }
        ContentBlock::Document { title, media: Media::Bytes { media_type, data: bytes } } => {
            let name = title.as_deref().unwrap_or("file");
            json!({"type": "file", "file": {"filename": name, "file_data": data(media_type, bytes)}})
        }
        block => {
            left_out.as_text += 1;
            json!({"type": "text", "text": block.text()})
        }
    }
}
