//! Bodies of requests.
#![expect(clippy::indexing_slicing, reason = "JSON without a member is null, and an object takes every member")]

use memory_core::{
    Message, Role,
    json::message_to_json,
    port::{Breakpoint, ChatRequest, ToolSpec},
};
use serde_json::{Value, json};

/// Breakpoints that a request may have.
const MAX_BREAKPOINTS: usize = 4;

/// The body of `POST /v1/messages`.
pub(super) fn body(request: &ChatRequest, model: &str, most: u32, is_stream: bool) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    // The last ones hold the longest prefixes.
    let from = request.breakpoints.len().saturating_sub(MAX_BREAKPOINTS);
    let breakpoints = request.breakpoints.get(from..).unwrap_or_default();
    for (index, message) in request.messages.iter().enumerate() {
        let mut blocks = blocks(message, model);
        for Breakpoint { block, .. } in breakpoints.iter().filter(|breakpoint| breakpoint.message == index) {
            mark(&mut blocks, *block);
        }
        let content: Vec<_> = blocks.into_iter().map(|(_, block)| block).collect();
        if content.is_empty() {
            continue;
        }
        let role = if message.role == Role::Assistant { "assistant" } else { "user" };
        messages.push(json!({"role": role, "content": content}));
    }
    let mut body = json!({"model": model, "max_tokens": most});
    if let Some(system) = &request.system {
        body["system"] = system.as_str().into();
    }
    body["messages"] = messages.into();
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    if is_stream {
        body["stream"] = true.into();
    }
    body
}

fn tool(tool: &ToolSpec) -> Value {
    let ToolSpec { name, description, input_schema, .. } = tool;
    json!({"name": name, "description": description, "input_schema": input_schema.to_value()})
}

/// The blocks of a message that may be sent, each with its index in the message.
fn blocks(message: &Message, model: &str) -> Vec<(usize, Value)> {
    let mut blocks = Vec::new();
    for (index, block) in message.content.iter().enumerate() {
        let mut one = Message::new(message.role, vec![block.clone()]);
        one.metadata.clone_from(&message.metadata);
        one.content = one.content_for(Some(model));
        if one.content.is_empty() {
            continue;
        }
        let mut block = match message_to_json(&one)["content"].take() {
            Value::Array(mut blocks) if !blocks.is_empty() => blocks.swap_remove(0),
            text => json!({"type": "text", "text": text}),
        };
        match block["type"].as_str() {
            // Blank texts and unsigned reasoning are refused.
            Some("text") if block["text"].as_str().is_some_and(|text| text.trim().is_empty()) => continue,
            Some("thinking") if block.get("signature").is_none() => continue,
            // The input has to be an object.
            Some("tool_use") if !block["input"].is_object() => block["input"] = json!({"arguments": block["input"]}),
            // Blocks of other services have no type.
            None => block = json!({"type": "text", "text": one.text()}),
            _ => {}
        }
        blocks.push((index, block));
    }
    blocks
}

/// Marks the last block up to `index` that can end a cached prefix.
fn mark(blocks: &mut [(usize, Value)], index: usize) {
    let can = |block: &Value| !matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"));
    if let Some((_, block)) = blocks.iter_mut().rev().find(|(at, block)| *at <= index && can(block)) {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
}
