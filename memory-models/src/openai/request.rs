//! Bodies of requests.
#![expect(clippy::indexing_slicing, reason = "JSON without a member is null, and an object takes every member")]

use std::borrow::Cow;

use base64::{Engine, prelude::BASE64_STANDARD};
use memory_core::{
    ContentBlock, Json, Media, Message, Role,
    port::{ChatRequest, ToolSpec},
};
use serde_json::{Value, json};

/// The body of `POST /chat/completions`.
pub(super) fn body(request: &ChatRequest, model: &str, most: Option<u32>, is_openai: bool, is_stream: bool) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    messages.extend(request.system.as_ref().map(|system| json!({"role": "system", "content": system})));
    request.messages.iter().for_each(|message| push(&mut messages, message, model));
    let mut body = json!({"model": model, "messages": messages});
    let mut set = |name: &str, value: Value| body[name] = value;
    if let Some(most) = most {
        set(if is_openai { "max_completion_tokens" } else { "max_tokens" }, most.into());
    }
    if !request.tools.is_empty() {
        set("tools", request.tools.iter().map(tool).collect());
    }
    if is_stream {
        set("stream", true.into());
        set("stream_options", json!({"include_usage": true}));
    }
    body
}

fn tool(tool: &ToolSpec) -> Value {
    let ToolSpec { name, description, input_schema, .. } = tool;
    let function = json!({"name": name, "description": description, "parameters": input_schema.to_value()});
    json!({"type": "function", "function": function})
}

/// Pushes a message. Results of tools that it holds go first, as messages of their own.
fn push(messages: &mut Vec<Value>, message: &Message, model: &str) {
    let blocks = message.content_for(Some(model));
    if message.role == Role::Assistant {
        messages.push(assistant(&blocks));
        return;
    }
    let mut content: Vec<Value> = Vec::new();
    let mut is_plain = true;
    for block in &blocks {
        let ContentBlock::ToolResult { tool_use_id, content: result, .. } = block else {
            is_plain &= matches!(block, ContentBlock::Text(_));
            content.extend(part(block));
            continue;
        };
        // A result takes text only; its pictures follow in a message of the user.
        let (media, text): (Vec<_>, Vec<_>) = result.iter().partition(|block| is_picture(block));
        is_plain &= media.is_empty();
        content.extend(media.into_iter().filter_map(part));
        let text: Vec<Cow<'_, str>> = text.iter().map(|block| block.text()).collect();
        messages.push(json!({"role": "tool", "tool_call_id": tool_use_id, "content": text.join("\n")}));
    }
    if content.is_empty() {
        return;
    }
    let role = if message.role == Role::System { "system" } else { "user" };
    // Many servers take text as a string only, not as parts.
    let content = if is_plain { text_of(&content).into() } else { Value::from(content) };
    messages.push(json!({"role": role, "content": content}));
}

fn text_of(parts: &[Value]) -> String {
    parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}

fn is_picture(block: &ContentBlock) -> bool {
    matches!(block, ContentBlock::Image(Media::Url(_) | Media::Bytes { .. }))
}

/// A part of a user's message; `None` for a block that has no place in one.
fn part(block: &ContentBlock) -> Option<Value> {
    let text = || block.text();
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    Some(match block {
        ContentBlock::Image(Media::Url(url)) => image(url),
        ContentBlock::Image(Media::Bytes { media_type, data }) => image(&data_url(media_type, data)),
        ContentBlock::Document { title, media: Media::Bytes { media_type, data } } => {
            let name = title.as_deref().unwrap_or("document");
            json!({"type": "file", "file": {"filename": name, "file_data": data_url(media_type, data)}})
        }
        ContentBlock::Reasoning { .. } => return None,
        // An unknown block with a type was read from such a message, and goes back unchanged.
        ContentBlock::Unknown(json) => match json.to_value() {
            value if value["type"].is_string() => value,
            _ => json!({"type": "text", "text": text()}),
        },
        _ => json!({"type": "text", "text": text()}),
    })
}

fn assistant(blocks: &[ContentBlock]) -> Value {
    let (mut said, mut calls, mut details) = (Vec::new(), Vec::new(), None);
    for block in blocks {
        match block {
            ContentBlock::ToolUse { id, name, input } => {
                let function = json!({"name": name, "arguments": arguments(input)});
                calls.push(json!({"id": id, "type": "function", "function": function}));
            }
            // The API has no place for reasoning, and other models need none.
            ContentBlock::Reasoning { .. } => {}
            ContentBlock::Unknown(json) => match json.to_value().get_mut("reasoning_details") {
                Some(given) => details = Some(given.take()),
                None => said.push(block.text()),
            },
            _ => said.push(block.text()),
        }
    }
    let said = said.join("\n");
    let content = if said.is_empty() && !calls.is_empty() { Value::Null } else { said.into() };
    let mut message = json!({"role": "assistant", "content": content});
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    if let Some(details) = details {
        message["reasoning_details"] = details;
    }
    message
}

/// Arguments as the model wrote them; invalid JSON was kept as a text.
fn arguments(input: &Json) -> String {
    match input.to_value() {
        Value::String(text) => text,
        _ => input.to_string(),
    }
}

fn data_url(media_type: &str, data: &[u8]) -> String {
    format!("data:{media_type};base64,{}", BASE64_STANDARD.encode(data))
}
