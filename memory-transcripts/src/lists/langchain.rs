//! Messages of LangChain: `messages_to_dict` (`{type, data}`) and `dumpd` (`{lc, type: "constructor", id, kwargs}`).

use memory_core::{ContentBlock, Json, Role};
use serde_json::Value;

use crate::{
    Why,
    blocks::{self, Blocks},
    members::{by_model, keep, others},
    responses::ListItem,
};

/// Members of a message that are read.
#[rustfmt::skip]
const TAKEN: [&str; 9] = [
    "type", "content", "status", "tool_calls", "invalid_tool_calls", "usage_metadata", "id", "example", "role",
];

pub(super) fn message(value: &Value) -> ListItem {
    let text = |name: &str| value[name].as_str();
    let is_dumped = value.get("lc").is_some();
    let (kind, data) = if is_dumped {
        let class = value["id"].as_array().and_then(|id| id.last()?.as_str()).unwrap_or_default();
        (class.to_owned(), value.get("kwargs").unwrap_or(value))
    } else {
        (text("type").unwrap_or("without type").to_owned(), value.get("data").unwrap_or(value))
    };
    let kind = kind.trim_end_matches("Chunk").trim_end_matches("Message").to_ascii_lowercase();
    let of = |name: &str| data[name].as_str();
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
        "remove" => return ListItem::Skip(Why::View, "remove".to_owned()),
        _ => return ListItem::Skip(Why::Unknown, kind),
    };
    let said = &data["content"];
    let mut content = Blocks::default();
    let named = if of("tool_call_id").is_some() { "tool_call_id" } else { "name" };
    if role == Role::Tool {
        let is_error = of("status") == Some("error");
        content.add(blocks::openai(said).result(of(named).unwrap_or("unknown"), is_error));
    } else {
        content = blocks::openai(said);
    }
    for call in data["tool_calls"].as_array().into_iter().flatten() {
        let [id, name] = ["id", "name"].map(|name| call[name].as_str().unwrap_or("unknown"));
        // Content in Anthropic's shape contains the calls already.
        let is_there =
            content.blocks.iter().any(|block| matches!(block, ContentBlock::ToolUse { id: there, .. } if there == id));
        if !is_there {
            let beside = others(call, &["id", "name", "args", "type", "index"]);
            content.add((blocks::call(id, name, &call["args"]), beside));
        }
    }
    let invalid = data["invalid_tool_calls"].as_array();
    content.blocks.extend(invalid.into_iter().flatten().map(|call| blocks::unknown(&call.to_string())));
    let mut message = content.message(role);
    if role != Role::Tool {
        message.speaker = of("name").map(str::to_owned);
    }
    let metadata = &data["response_metadata"];
    let answered = |name: &str| metadata[name].as_str();
    message = by_model(message, answered("model_name").or(answered("model")).or(answered("model_id")));
    if data["usage_metadata"].is_object() {
        message.metadata.insert("usage".to_owned(), Json::from_value(&data["usage_metadata"]));
    }
    let name = if role == Role::Tool { named } else { "name" };
    let mut beside = others(data, &[TAKEN.as_slice(), &[name]].concat());
    if is_dumped || value.get("data").is_some() {
        beside.extend(others(value, &["type", "data", "lc", "id", "kwargs", "graph"]));
    }
    keep(&mut message, beside);
    ListItem::Message(Box::new(message), of("id").filter(|id| !id.is_empty()).map(str::to_owned))
}
