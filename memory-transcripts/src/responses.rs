//! Items of OpenAI's Responses API, which Codex writes too.

use memory_core::{ContentBlock, Json, Message, Role};
use serde_json::{Map, Value, json};

use crate::{
    Why,
    blocks::{self, openai},
    media::generated,
    members::{keep, others},
};

/// Content of an item.
#[derive(Debug)]
pub(crate) enum Item {
    /// A message.
    Message(Message),
    /// Reasoning that belongs to the model's next message.
    Reasoning(ContentBlock, Map<String, Value>, Option<String>),
    /// No message; why, and the name to count.
    Skip(Why, String),
}

/// Types of calls of tools that the provider runs, which include their results.
const HOSTED: [&str; 7] = [
    "web_search_call",
    "file_search_call",
    "computer_call",
    "computer_call_output",
    "code_interpreter_call",
    "mcp_call",
    "tool_search_call",
];
/// Types of items that are notes of the program or of the API.
const NOTES: [&str; 6] = [
    "ghost_snapshot",
    "compaction_trigger",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
    "other",
];

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

/// Reads an item. An item without a type is a message.
pub(crate) fn item(item: &Value) -> Item {
    let mut read = read(item);
    if let Item::Message(message) = &mut read {
        let kind = text(item, "type").unwrap_or("message");
        let mut beside = others(item, taken_of(kind));
        if let Some(output) = item.get("output").filter(|_| kind.ends_with("_output") && !HOSTED.contains(&kind)) {
            let inner =
                if output.get("content").is_some() { others(output, &["content", "success"]) } else { Map::new() };
            if !inner.is_empty() {
                beside.insert("output".to_owned(), inner.into());
            }
        }
        if !HOSTED.contains(&kind) {
            keep(message, beside);
        }
    }
    read
}

/// Members of an item that are read, by the item's type.
fn taken_of(kind: &str) -> &'static [&'static str] {
    match kind {
        "message" => &["type", "role", "content", "model", "timestamp", "created_at"],
        "function_call" => &["type", "name", "arguments", "call_id", "timestamp"],
        "custom_tool_call" => &["type", "name", "input", "call_id", "timestamp"],
        "local_shell_call" => &["type", "action", "call_id", "timestamp"],
        "image_generation_call" => &["type", "result", "timestamp"],
        _ => &["type", "output", "call_id", "timestamp"],
    }
}

fn read(item: &Value) -> Item {
    let skip = |why, what: &str| Item::Skip(why, what.to_owned());
    let kind = text(item, "type").unwrap_or("message");
    match kind {
        "message" => message(item),
        "reasoning" => reasoning(item),
        "function_call" => {
            let arguments = item.get("arguments").unwrap_or(&Value::Null);
            said(Role::Assistant, vec![call(item, text(item, "name").unwrap_or("unknown"), arguments)])
        }
        "custom_tool_call" => {
            let input = json!({"input": item.get("input")});
            said(Role::Assistant, vec![call(item, text(item, "name").unwrap_or("unknown"), &input)])
        }
        "local_shell_call" => {
            let action = item.get("action").unwrap_or(&Value::Null);
            said(Role::Assistant, vec![call(item, "local_shell", action)])
        }
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
            let mut blocks = blocks::Blocks::default();
            blocks.add(output(item));
            with_extra(Role::Tool, blocks)
        }
        "compaction" | "compaction_summary" | "context_compaction" => skip(Why::View, kind),
        "item_reference" => skip(Why::Repeated, kind),
        "image_generation_call" => match generated(item) {
            Some(picture) => said(Role::Assistant, vec![picture]),
            None => skip(Why::NoPlace, kind),
        },
        hosted if HOSTED.contains(&hosted) => said(Role::Assistant, vec![blocks::unknown(&item.to_string())]),
        note if NOTES.contains(&note) => skip(Why::Note, note),
        other => skip(Why::Unknown, other),
    }
}

fn said(role: Role, content: Vec<ContentBlock>) -> Item {
    Item::Message(Message::new(role, content))
}

fn with_extra(role: Role, blocks: blocks::Blocks) -> Item {
    let mut message = Message::new(role, Vec::new());
    message.metadata.extend(blocks.extra());
    message.content = blocks.blocks;
    Item::Message(message)
}

fn message(item: &Value) -> Item {
    let role = match text(item, "role") {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        Some("tool") => Role::Tool,
        Some(other) => return Item::Skip(Why::Unknown, format!("message of the role {other}")),
        None => return Item::Skip(Why::Broken, "message without a role".to_owned()),
    };
    with_extra(role, item.get("content").map(openai).unwrap_or_default())
}

fn call_id(item: &Value) -> &str {
    text(item, "call_id").or(text(item, "id")).unwrap_or("unknown")
}

fn call(item: &Value, name: &str, arguments: &Value) -> ContentBlock {
    blocks::call(call_id(item), name, arguments)
}

fn output(item: &Value) -> (ContentBlock, Map<String, Value>) {
    let output = item.get("output").unwrap_or(&Value::Null);
    // Codex has also written {content, success}, in older versions as JSON text.
    let success = output.get("success").and_then(Value::as_bool).unwrap_or(true);
    let content = if output.is_object() { output.get("content").unwrap_or(output) } else { output };
    blocks::openai_result(call_id(item), content, !success)
}

fn reasoning(item: &Value) -> Item {
    let mut beside = others(item, &["type", "summary", "content", "encrypted_content", "id", "timestamp"]);
    let mut texts = |name: &str| {
        let parts = item.get(name).map(openai).unwrap_or_default();
        if !parts.extra.is_empty() {
            beside.insert(name.to_owned(), parts.extra.clone().into());
        }
        parts.blocks.iter().map(|part| part.text().into_owned()).filter(|text| !text.is_empty()).collect::<Vec<_>>()
    };
    let (summary, content) = (texts("summary"), texts("content"));
    // The summary may repeat a part of the full reasoning.
    let is_in = |text: &String| !content.iter().any(|whole| whole.contains(text.as_str()));
    let texts: Vec<_> = summary.into_iter().filter(is_in).chain(content.clone()).collect();
    let text = texts.join("\n\n");
    let signature = self::text(item, "encrypted_content").map(str::to_owned);
    if text.is_empty() && signature.is_none() {
        return Item::Skip(Why::Empty, "reasoning".to_owned());
    }
    let id = self::text(item, "id").map(str::to_owned);
    Item::Reasoning(ContentBlock::Reasoning { text, signature }, beside, id)
}

/// Collects reasoning for the model's next message.
#[derive(Debug, Default)]
pub(crate) struct Thoughts {
    blocks: blocks::Blocks,
    ids: Vec<String>,
}

/// Metadata member of a message with the ids of its reasoning; the API rejects reasoning without them.
const IDS: &str = "reasoning_ids";

impl Thoughts {
    pub(crate) fn push(&mut self, block: (ContentBlock, Map<String, Value>), id: Option<String>) {
        self.blocks.add(block);
        self.ids.extend(id);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.blocks.is_empty()
    }

    /// Reasoning that no message followed, as a message of the model.
    pub(crate) fn alone(&mut self) -> Option<Message> {
        (!self.is_empty()).then(|| self.before(Message::new(Role::Assistant, Vec::new())))
    }

    /// Puts the collected reasoning before a message of the model.
    pub(crate) fn before(&mut self, mut message: Message) -> Message {
        if message.role == Role::Assistant && !self.is_empty() {
            std::mem::take(&mut self.blocks).put_before(&mut message);
            if !self.ids.is_empty() {
                let ids = std::mem::take(&mut self.ids);
                message.metadata.insert(IDS.to_owned(), Json::from_value(&ids.into()));
            }
        }
        message
    }
}
