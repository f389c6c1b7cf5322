//! Messages of LangChain: `messages_to_dict` (`{type, data}`) and `dumpd` (`{lc, type: "constructor", id, kwargs}`).

use memory_core::{ContentBlock, Message, Role};
use serde_json::Value;

use super::dialect::Read;
use crate::{
    Why,
    blocks::{self, Blocks},
    members::{keep, others},
};

pub(super) fn message(value: &Value) -> Read {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let is_dumped = value.get("lc").is_some();
    let (kind, data) = if is_dumped {
        let class = value.get("id").and_then(Value::as_array).and_then(|id| id.last()?.as_str()).unwrap_or_default();
        (class.to_owned(), value.get("kwargs").unwrap_or(value))
    } else {
        (text("type").unwrap_or("without type").to_owned(), value.get("data").unwrap_or(value))
    };
    let kind = kind.trim_end_matches("Chunk").trim_end_matches("Message").to_ascii_lowercase();
    let of = |name: &str| data.get(name).and_then(Value::as_str);
    let role = match kind.as_str() {
        "human" | "user" => Role::User,
        "ai" | "assistant" => Role::Assistant,
        "system" | "developer" => Role::System,
        "tool" | "function" => Role::Tool,
        "chat" => match of("role") {
            Some("assistant" | "ai") => Role::Assistant,
            Some("system") => Role::System,
            _ => Role::User,
        },
        "remove" => return Read::Skip(Why::View, "remove".to_owned()),
        _ => return Read::Skip(Why::Unknown, kind),
    };
    let said = data.get("content").unwrap_or(&Value::Null);
    let mut content = Blocks::default();
    let named = if of("tool_call_id").is_some() { "tool_call_id" } else { "name" };
    if role == Role::Tool {
        let is_error = of("status") == Some("error");
        content.add(blocks::openai_result(of(named).unwrap_or("unknown"), said, is_error));
    } else {
        content = blocks::openai(said);
    }
    let calls = data.get("tool_calls").and_then(Value::as_array);
    for call in calls.into_iter().flatten() {
        let text = |name: &str| call.get(name).and_then(Value::as_str);
        let (id, name) = (text("id").unwrap_or("unknown"), text("name").unwrap_or("unknown"));
        // Content in Anthropic's shape contains the calls already.
        let is_there =
            content.blocks.iter().any(|block| matches!(block, ContentBlock::ToolUse { id: there, .. } if there == id));
        if !is_there {
            let beside = others(call, &["id", "name", "args", "type", "index"]);
            content.add((blocks::call(id, name, call.get("args").unwrap_or(&Value::Null)), beside));
        }
    }
    let invalid = data.get("invalid_tool_calls").and_then(Value::as_array);
    content.blocks.extend(invalid.into_iter().flatten().map(|call| blocks::unknown(&call.to_string())));
    let mut message = Message::new(role, std::mem::take(&mut content.blocks));
    message.metadata.extend(content.extra());
    if role != Role::Tool {
        message.speaker = of("name").map(str::to_owned);
    }
    let answered = data.get("response_metadata");
    let model = answered.and_then(|answered| {
        let text = |name: &str| answered.get(name).and_then(Value::as_str);
        text("model_name").or(text("model")).or(text("model_id"))
    });
    if let Some(model) = model.filter(|_| role == Role::Assistant) {
        message = message.spoken_by(model);
    }
    if let Some(usage) = data.get("usage_metadata").filter(|usage| usage.is_object()) {
        message.metadata.insert("usage".to_owned(), memory_core::Json::from_value(usage));
    }
    let mut taken = vec![
        "type",
        "content",
        "status",
        "tool_calls",
        "invalid_tool_calls",
        "usage_metadata",
        "id",
        "example",
        "role",
    ];
    taken.push(if role == Role::Tool { named } else { "name" });
    let mut beside = others(data, &taken);
    if is_dumped || value.get("data").is_some() {
        beside.extend(others(value, &["type", "data", "lc", "id", "kwargs", "graph"]));
    }
    keep(&mut message, beside);
    Read::Said(Box::new(message), of("id").filter(|id| !id.is_empty()).map(str::to_owned))
}
