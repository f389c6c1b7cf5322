//! Items of OpenAI's Responses API, which Codex writes as well.

use memory_core::{ContentBlock, Json, Message, Role};
use serde_json::{Value, json};

use crate::{
    Why,
    blocks::{self, openai},
    media::generated,
};

/// What an item says.
#[derive(Debug)]
pub(crate) enum Item {
    /// A message.
    Message(Message),
    /// Reasoning that belongs to what the model says next.
    Reasoning(ContentBlock, Option<String>),
    /// Nothing that was said.
    Skip(Why, String),
}

/// Calls of tools that the provider runs, with what they found.
const HOSTED: [&str; 7] = [
    "web_search_call",
    "file_search_call",
    "computer_call",
    "computer_call_output",
    "code_interpreter_call",
    "mcp_call",
    "tool_search_call",
];
/// Items that are notes of the program or of the API.
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

/// Reads an item. One without a type is a message.
pub(crate) fn item(item: &Value) -> Item {
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
            said(Role::Tool, vec![output(item)])
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

fn message(item: &Value) -> Item {
    let role = match text(item, "role") {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        Some("tool") => Role::Tool,
        Some(other) => return Item::Skip(Why::Unknown, format!("message of the role {other}")),
        None => return Item::Skip(Why::Broken, "message without a role".to_owned()),
    };
    said(role, item.get("content").map(openai).unwrap_or_default())
}

fn call_id(item: &Value) -> &str {
    text(item, "call_id").or(text(item, "id")).unwrap_or("unknown")
}

fn call(item: &Value, name: &str, arguments: &Value) -> ContentBlock {
    blocks::call(call_id(item), name, arguments)
}

fn output(item: &Value) -> ContentBlock {
    let output = item.get("output").unwrap_or(&Value::Null);
    // Codex has written {content, success}, too, and in older versions as a text of JSON.
    let success = output.get("success").and_then(Value::as_bool).unwrap_or(true);
    let content = if output.is_object() { output.get("content").unwrap_or(output) } else { output };
    ContentBlock::ToolResult { tool_use_id: call_id(item).to_owned(), content: openai(content), is_error: !success }
}

fn reasoning(item: &Value) -> Item {
    let texts = |name: &str| {
        let parts = item.get(name).map(openai).unwrap_or_default();
        parts.iter().map(|part| part.text().into_owned()).filter(|text| !text.is_empty()).collect::<Vec<_>>()
    };
    let (summary, content) = (texts("summary"), texts("content"));
    let text = if summary.is_empty() { content } else { summary }.join("\n\n");
    let signature = self::text(item, "encrypted_content").map(str::to_owned);
    if text.is_empty() && signature.is_none() {
        return Item::Skip(Why::Empty, "reasoning".to_owned());
    }
    let id = self::text(item, "id").map(str::to_owned);
    Item::Reasoning(ContentBlock::Reasoning { text, signature }, id)
}

/// Joins reasoning to what the model says next.
#[derive(Debug, Default)]
pub(crate) struct Thoughts {
    blocks: Vec<ContentBlock>,
    ids: Vec<String>,
}

/// The member of a message's metadata that holds the ids of its reasoning, without which the API does not take it back.
const IDS: &str = "reasoning_ids";

impl Thoughts {
    pub(crate) fn push(&mut self, block: ContentBlock, id: Option<String>) {
        self.blocks.push(block);
        self.ids.extend(id);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// A message with what was thought before it, if the model says it.
    pub(crate) fn before(&mut self, mut message: Message) -> Message {
        if message.role == Role::Assistant && !self.blocks.is_empty() {
            message.content.splice(0..0, self.blocks.drain(..));
            if !self.ids.is_empty() {
                let ids = std::mem::take(&mut self.ids);
                message.metadata.insert(IDS.to_owned(), Json::from_value(&ids.into()));
            }
        }
        message
    }
}
