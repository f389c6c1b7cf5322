//! Bodies of requests.
#![expect(clippy::indexing_slicing, reason = "JSON without a member is null, and an object takes every member")]

use memory_core::{
    ContentBlock, Message, Role,
    json::message_to_strands,
    port::{ChatRequest, ToolSpec},
};
use serde_json::{Map, Value, json};

/// Breakpoints that a request may have.
const MAX_BREAKPOINTS: usize = 4;

/// The body of `POST /model/ID/converse-stream`.
pub(super) fn body(request: &ChatRequest, model: &str, most: Option<u32>, extra: &Map<String, Value>) -> Value {
    let from = request.breakpoints.len().saturating_sub(MAX_BREAKPOINTS);
    let breakpoints = request.breakpoints.get(from..).unwrap_or_default();
    let mut messages = Vec::new();
    for (index, message) in request.messages.iter().enumerate() {
        let marked: Vec<_> =
            breakpoints.iter().filter(|breakpoint| breakpoint.message == index).map(|at| at.block).collect();
        let content = content(message, model, &marked);
        if !content.is_empty() {
            let role = if message.role == Role::Assistant { "assistant" } else { "user" };
            messages.push(json!({"role": role, "content": content}));
        }
    }
    let mut body = json!({"messages": messages});
    if let Some(system) = &request.system {
        body["system"] = json!([{"text": system}]);
    }
    if let Some(most) = most {
        body["inferenceConfig"] = json!({"maxTokens": most});
    }
    if !request.tools.is_empty() {
        body["toolConfig"] = json!({"tools": request.tools.iter().map(tool).collect::<Vec<_>>()});
    }
    if !extra.is_empty() {
        body["additionalModelRequestFields"] = extra.clone().into();
    }
    body
}

fn tool(tool: &ToolSpec) -> Value {
    let ToolSpec { name, description, input_schema, .. } = tool;
    let schema = json!({"json": input_schema.to_value()});
    json!({"toolSpec": {"name": name, "description": description, "inputSchema": schema}})
}

/// The blocks of a message that may be sent, with a cache point after each of `marked`, or after the block before it.
fn content(message: &Message, model: &str, marked: &[usize]) -> Vec<Value> {
    let mut content: Vec<Value> = Vec::new();
    for (index, block) in message.content.iter().enumerate() {
        let mut one = Message::new(message.role, vec![block.clone()]);
        one.metadata = message.metadata.iter().filter(|(name, _)| *name == Message::MODEL).map(owned).collect();
        one.content = one.content_for(Some(model));
        let is_refused = one.content.iter().all(|block| match block {
            ContentBlock::Text(text) => text.trim().is_empty(),
            // Reasoning without a signature is of another service, or not wanted back.
            ContentBlock::Reasoning { signature, .. } => signature.is_none(),
            _ => false,
        });
        if !is_refused {
            content.push(sendable(message_to_strands(&one)["content"][0].take()));
        }
        // A cache point cannot stand first, or after reasoning.
        let may_end = content.last().is_some_and(|last| last.get("reasoningContent").is_none());
        if may_end && marked.contains(&index) {
            content.push(json!({"cachePoint": {"type": "default"}}));
        }
    }
    content
}

fn owned((name, value): (&String, &memory_core::Json)) -> (String, memory_core::Json) {
    (name.clone(), value.clone())
}

/// A block of Strands in the form of the wire: plain base64, objects as inputs, names and formats that are accepted.
fn sendable(mut block: Value) -> Value {
    if let Some(call) = block.get_mut("toolUse")
        && !call["input"].is_object()
    {
        call["input"] = json!({"arguments": call["input"]});
    }
    unwrap_bytes(&mut block);
    let results = block.pointer_mut("/toolResult/content").and_then(Value::as_array_mut);
    results.into_iter().flatten().for_each(accept_media);
    accept_media(&mut block);
    block
}

fn accept_media(block: &mut Value) {
    if let Some(format) = block.pointer_mut("/image/format")
        && *format == "jpg"
    {
        *format = "jpeg".into();
    }
    if let Some(name) = block.pointer_mut("/document/name") {
        let is_accepted = |c: &char| c.is_ascii_alphanumeric() || "-()[]".contains(*c);
        let words = name.as_str().unwrap_or_default().replace(|c: char| !is_accepted(&c), " ");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        *name = if words.is_empty() { "document".into() } else { words.into() };
    }
}

/// Bytes that Strands wraps as `{"__bytes_encoded__": true, "data": BASE64}`, as their base64.
fn unwrap_bytes(value: &mut Value) {
    match value {
        Value::Object(members) if members.contains_key("__bytes_encoded__") => {
            *value = members.get_mut("data").map(Value::take).unwrap_or_default();
        }
        Value::Object(members) => members.values_mut().for_each(unwrap_bytes),
        Value::Array(items) => items.iter_mut().for_each(unwrap_bytes),
        _ => {}
    }
}
