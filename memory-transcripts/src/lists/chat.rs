//! Messages of OpenAI's Chat Completions API.

use memory_core::{ContentBlock, Role};
use serde_json::{Map, Value};

use crate::{
    Why,
    blocks::{self, Blocks},
    members::{keep, others},
    responses::ListItem,
};

pub(super) fn message(value: &Value) -> Vec<ListItem> {
    let text = |name: &str| value[name].as_str();
    let role = match text("role") {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        Some("tool" | "function") => Role::Tool,
        Some(other) => return vec![ListItem::Skip(Why::Unknown, format!("message of the role {other}"))],
        None => return vec![ListItem::Skip(Why::Unknown, "value without a role".to_owned())],
    };
    let content = &value["content"];
    let mut all = Blocks::default();
    let said = |all: Blocks, speaker: Option<&str>, taken: &[&str]| {
        let mut message = all.message(role);
        message.speaker = speaker.map(str::to_owned);
        keep(
            &mut message,
            others(value, &[&["role", "content", "model", "timestamp", "created_at", "ts"], taken].concat()),
        );
        message.into()
    };
    if role == Role::Tool {
        let named = if text("tool_call_id").is_some() { "tool_call_id" } else { "name" };
        all.add(blocks::openai(content).result(text(named).unwrap_or("unknown"), false));
        return vec![said(all, None, &[named])];
    }
    // Servers of open models put the reasoning next to the content.
    let has_text = |name: &&str| text(name).is_some_and(|text| !text.is_empty());
    let thought = ["reasoning_content", "reasoning"].into_iter().find(has_text);
    if let Some(reasoning) = thought.and_then(text) {
        all.blocks.push(ContentBlock::Reasoning { text: reasoning.to_owned(), signature: None });
    }
    all.append(blocks::openai(content));
    let refusal = text("refusal").filter(|text| !text.is_empty());
    all.blocks.extend(refusal.map(|text| ContentBlock::Text(text.to_owned())));
    let audio = value.pointer("/audio/transcript").and_then(Value::as_str);
    all.blocks.extend(audio.map(|text| ContentBlock::Text(text.to_owned())));
    value["tool_calls"].as_array().into_iter().flatten().for_each(|one| all.add(call(one)));
    let function = &value["function_call"];
    if function.is_object() {
        // Before calls had ids, the result repeated the function's name.
        let name = function["name"].as_str().unwrap_or("unknown");
        let beside = others(function, &["name", "arguments"]);
        all.add((blocks::call(name, name, &function["arguments"]), beside));
    }
    let mut taken = vec!["name", "refusal", "tool_calls"];
    taken.extend(thought);
    taken.extend(audio.map(|_| "audio"));
    taken.extend(function.is_object().then_some("function_call"));
    // Both names may hold the same text.
    taken.extend(["reasoning_content", "reasoning"].into_iter().filter(|name| text(name) == thought.and_then(text)));
    let mut read = vec![said(all, text("name"), &taken)];
    if value["audio"].get("data").is_some() {
        read.push(ListItem::Skip(Why::NoPlace, "audio".to_owned()));
    }
    read
}

fn call(call: &Value) -> (ContentBlock, Map<String, Value>) {
    let id = call["id"].as_str();
    let function = call.get("function").or(call.get("custom"));
    match (id, function) {
        (Some(id), Some(function)) => {
            let name = function["name"].as_str().unwrap_or("unknown");
            let arguments = function.get("arguments").or(function.get("input")).unwrap_or(&Value::Null);
            let mut beside = others(call, &["id", "type", "index", "function", "custom"]);
            beside.extend(others(function, &["name", "arguments", "input"]));
            (blocks::call(id, name, arguments), beside)
        }
        _ => (blocks::unknown(&call.to_string()), Map::new()),
    }
}
