//! Items of OpenAI's Responses API, which Codex writes too.

use memory_core::{ContentBlock, Json, Message, Role};
use serde_json::{Map, Value, json};

use crate::{
    Why,
    blocks::{self, openai},
    media::generated,
    members::{keep, others},
};

/// Content of one value of a list.
#[derive(Debug)]
pub(crate) enum ListItem {
    /// A message, with its id if it has one.
    Message(Box<Message>, Option<String>),
    /// Reasoning that belongs to the model's next message.
    Reasoning(ContentBlock, Map<String, Value>, Option<String>),
    /// A value that is no message, with the reason and the name to count.
    Skip(Why, String),
}

impl From<Message> for ListItem {
    fn from(message: Message) -> Self {
        Self::Message(Box::new(message), None)
    }
}

/// Types of calls of tools that the provider runs, which include their results.
#[rustfmt::skip]
const HOSTED: [&str; 7] = [
    "web_search_call", "file_search_call", "computer_call", "computer_call_output", "code_interpreter_call", "mcp_call",
    "tool_search_call",
];
/// Types of items that are notes of the program or of the API.
#[rustfmt::skip]
const NOTES: [&str; 6] = [
    "ghost_snapshot", "compaction_trigger", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "other",
];

/// Reads an item. An item without a type is a message.
pub(crate) fn item(item: &Value) -> ListItem {
    let mut read = read(item);
    if let ListItem::Message(message, _) = &mut read {
        let kind = item["type"].as_str().unwrap_or("message");
        let mut beside = others(item, taken_of(kind));
        if HOSTED.contains(&kind) {
            return read;
        }
        let output = &item["output"];
        if kind.ends_with("_output") && output.get("content").is_some() {
            let inner = others(output, &["content", "success"]);
            beside.extend((!inner.is_empty()).then(|| ("output".to_owned(), inner.into())));
        }
        keep(message, beside);
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

fn read(item: &Value) -> ListItem {
    let skip = |why, what: &str| ListItem::Skip(why, what.to_owned());
    let kind = item["type"].as_str().unwrap_or("message");
    let said = |block| Message::new(Role::Assistant, vec![block]).into();
    let call = |name, arguments| said(blocks::call(call_id(item), name, arguments));
    let named = item["name"].as_str().unwrap_or("unknown");
    match kind {
        "message" => message(item),
        "reasoning" => reasoning(item),
        "function_call" => call(named, &item["arguments"]),
        "custom_tool_call" => call(named, &json!({"input": item["input"]})),
        "local_shell_call" => call("local_shell", &item["action"]),
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
            let mut blocks = blocks::Blocks::default();
            blocks.add(output(item));
            blocks.message(Role::Tool).into()
        }
        "compaction" | "compaction_summary" | "context_compaction" => skip(Why::View, kind),
        "item_reference" => skip(Why::Repeated, kind),
        "image_generation_call" => match generated(item) {
            Some(picture) => said(picture),
            None => skip(Why::NoPlace, kind),
        },
        hosted if HOSTED.contains(&hosted) => said(blocks::unknown(&item.to_string())),
        note if NOTES.contains(&note) => skip(Why::Note, note),
        other => skip(Why::Unknown, other),
    }
}

fn message(item: &Value) -> ListItem {
    let role = match item["role"].as_str() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        Some("tool") => Role::Tool,
        Some(other) => return ListItem::Skip(Why::Unknown, format!("message of the role {other}")),
        None => return ListItem::Skip(Why::Broken, "message without a role".to_owned()),
    };
    openai(&item["content"]).message(role).into()
}

fn call_id(item: &Value) -> &str {
    item["call_id"].as_str().or(item["id"].as_str()).unwrap_or("unknown")
}

fn output(item: &Value) -> (ContentBlock, Map<String, Value>) {
    let output = &item["output"];
    // Codex has also written {content, success}, in older versions as JSON text.
    let success = output["success"].as_bool().unwrap_or(true);
    let content = output.get("content").unwrap_or(output);
    openai(content).result(call_id(item), !success)
}

fn reasoning(item: &Value) -> ListItem {
    let mut beside = others(item, &["type", "summary", "content", "encrypted_content", "id", "timestamp"]);
    let mut texts = |name: &str| {
        let parts = openai(&item[name]);
        beside.extend((!parts.extra.is_empty()).then(|| (name.to_owned(), parts.extra.into())));
        parts.blocks.iter().map(|part| part.text().into_owned()).filter(|text| !text.is_empty()).collect::<Vec<_>>()
    };
    let (summary, content) = (texts("summary"), texts("content"));
    // The summary may repeat a part of the full reasoning.
    let is_in = |text: &String| !content.iter().any(|whole| whole.contains(text.as_str()));
    let text = summary.into_iter().filter(is_in).chain(content.clone()).collect::<Vec<_>>().join("\n\n");
    let signature = item["encrypted_content"].as_str().map(str::to_owned);
    if text.is_empty() && signature.is_none() {
        return ListItem::Skip(Why::Empty, "reasoning".to_owned());
    }
    let id = item["id"].as_str().map(str::to_owned);
    ListItem::Reasoning(ContentBlock::Reasoning { text, signature }, beside, id)
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
