//! Messages of OpenAI's Chat Completions API.

use memory_core::{ContentBlock, Message, Role};
use serde_json::Value;

use super::dialect::Read;
use crate::{Why, blocks};

pub(super) fn message(value: &Value) -> Vec<Read> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let role = match text("role") {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        Some("tool" | "function") => Role::Tool,
        Some(other) => return vec![Read::Skip(Why::Unknown, format!("message of the role {other}"))],
        None => return vec![Read::Skip(Why::Unknown, "value without a role".to_owned())],
    };
    let content = value.get("content").map(blocks::openai).unwrap_or_default();
    if role == Role::Tool {
        let tool_use_id = text("tool_call_id").or(text("name")).unwrap_or("unknown").to_owned();
        let result = ContentBlock::ToolResult { tool_use_id, content, is_error: false };
        return vec![Read::said(Message::new(role, vec![result]))];
    }
    let mut all = Vec::new();
    // Servers of open models send the reasoning beside the content.
    if let Some(reasoning) = text("reasoning_content").or(text("reasoning")).filter(|text| !text.is_empty()) {
        all.push(ContentBlock::Reasoning { text: reasoning.to_owned(), signature: None });
    }
    all.extend(content);
    let refusal = text("refusal").filter(|text| !text.is_empty());
    all.extend(refusal.map(|text| ContentBlock::Text(text.to_owned())));
    let audio = value.get("audio").and_then(|audio| audio.get("transcript")?.as_str());
    all.extend(audio.map(|text| ContentBlock::Text(text.to_owned())));
    all.extend(value.get("tool_calls").and_then(Value::as_array).into_iter().flatten().map(call));
    if let Some(function) = value.get("function_call").filter(|function| function.is_object()) {
        // Of the time before calls had ids: the result repeats the name.
        let name = function.get("name").and_then(Value::as_str).unwrap_or("unknown");
        all.push(blocks::call(name, name, function.get("arguments").unwrap_or(&Value::Null)));
    }
    let mut message = Message::new(role, all);
    message.speaker = text("name").map(str::to_owned);
    vec![Read::said(message)]
}

fn call(call: &Value) -> ContentBlock {
    let id = call.get("id").and_then(Value::as_str);
    let function = call.get("function").or(call.get("custom"));
    match (id, function) {
        (Some(id), Some(function)) => {
            let name = function.get("name").and_then(Value::as_str).unwrap_or("unknown");
            let arguments = function.get("arguments").or(function.get("input")).unwrap_or(&Value::Null);
            blocks::call(id, name, arguments)
        }
        _ => blocks::unknown(&call.to_string()),
    }
}
