//! The export of ChatGPT: a list of conversations, each a tree of messages.

mod content;

use std::collections::HashMap;

use memory_core::{ContentBlock, Message, Role, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    TranscriptError, Why,
    branches::{BranchNode, Chats},
    members::{by_model, keep, others},
    out::{ItemQueue, says_nothing},
    reader::FormatReader,
};
use content::content;

/// Reader of exported conversations.
#[derive(Debug, Default)]
pub(crate) struct ChatGpt {
    chats: Chats,
}

#[derive(Deserialize)]
struct Chat {
    id: Option<String>,
    conversation_id: Option<String>,
    title: Option<String>,
    create_time: Option<f64>,
    current_node: Option<String>,
    mapping: Option<Map<String, Value>>,
    #[serde(flatten)]
    others: Value,
}

/// Members of a chat that are settings and notes.
#[rustfmt::skip]
const CHAT_NOTES: [&str; 33] = [
    "async_status", "atlas_mode_enabled", "blocked_urls", "context_scopes", "conversation_origin",
    "conversation_template_id", "default_model_slug", "disabled_tool_ids", "gizmo_id", "gizmo_type", "is_archived",
    "is_do_not_remember", "is_read_only", "is_starred", "is_study_mode", "is_temporary_chat", "memory_scope",
    "moderation_results", "owner", "pinned_time", "plugin_ids", "safe_urls", "shared_conversation_id", "sugar_item_id",
    "sugar_item_visible", "update_time", "user_id", "voice", "workspace_id", "rebase_developer_message",
    "rebase_system_message", "is_public", "id",
];
/// Members of a message that are notes, or are read elsewhere.
const MESSAGE_NOTES: [&str; 5] = ["id", "update_time", "status", "end_turn", "weight"];
#[rustfmt::skip]
const METADATA_NOTES: [&str; 13] = [
    "attachments", "can_save", "default_model_slug", "finish_details", "is_complete",
    "is_visually_hidden_from_conversation", "message_type", "model_slug", "parent_id", "request_id", "timestamp_",
    "turn_exchange_id", "voice_mode_message",
];

#[derive(Default, Deserialize)]
#[serde(default)]
struct Node {
    parent: Option<String>,
    message: Option<ChatMessage>,
    #[serde(flatten)]
    others: Value,
}

#[derive(Deserialize)]
struct ChatMessage {
    #[serde(default)]
    author: Value,
    create_time: Option<f64>,
    #[serde(default)]
    content: Value,
    recipient: Option<String>,
    #[serde(default)]
    metadata: Value,
    #[serde(flatten)]
    others: Value,
}

#[expect(clippy::cast_possible_truncation, reason = "clamped by the cast")]
fn time(seconds: Option<f64>) -> Option<Timestamp> {
    seconds
        .filter(|seconds| seconds.is_finite() && *seconds > 0.0)
        .map(|seconds| Timestamp::from_millis((seconds * 1e3).round() as i64))
}

impl FormatReader for ChatGpt {
    fn record(&mut self, record: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let Some(chat) = out.parsed::<Chat>(record, "conversation")? else { return Ok(()) };
        let (Some(mapping), Some(id)) = (chat.mapping, chat.conversation_id.or(chat.id)) else {
            out.skip(Why::Unknown, "record without conversation");
            return Ok(());
        };
        out.unknown("", &chat.others, &CHAT_NOTES);
        let mut read = Vec::with_capacity(mapping.len());
        for (id, node) in mapping {
            match serde_json::from_value::<Node>(node) {
                Ok(node) => {
                    out.unknown("node.", &node.others, &["id", "children"]);
                    read.push((id, node));
                }
                Err(_) => {
                    out.skip(Why::Broken, "node");
                    read.push((id, Node::default()));
                }
            }
        }
        link(&mut read);
        // Only the tree links a tool call to its result: the result names the tool and is a child of the call.
        let calls: HashMap<&str, &str> =
            read.iter().filter_map(|(id, node)| Some((id.as_str(), called(node.message.as_ref()?)?))).collect();
        let node = |(id, node): &(String, Node)| {
            let call = node.parent.as_deref().filter(|parent| calls.contains_key(parent)).map(str::to_owned);
            let said = node.message.as_ref().and_then(|said| message(id, said, call, out));
            (said, node.message.as_ref().and_then(|said| time(said.create_time)).or(time(chat.create_time)))
        };
        let said: Vec<_> = read.iter().map(node).collect();
        let nodes = read.iter().zip(said).map(|((id, node), (said, at))| BranchNode {
            id,
            parent: node.parent.as_deref(),
            messages: said.into_iter().collect(),
            at,
        });
        self.chats.emit(&id, chat.title.as_deref(), nodes.collect(), chat.current_node.as_deref(), "node", out);
        Ok(())
    }
}

/// Gives nodes without a parent the one that names them as its child. Where no node names another, each follows the one
/// before it.
fn link(nodes: &mut [(String, Node)]) {
    let mut parents: HashMap<String, String> = HashMap::new();
    for (id, node) in nodes.iter() {
        let children =
            node.others.get("children").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        parents.extend(children.map(|child| (child.to_owned(), id.clone())));
    }
    let is_list = parents.is_empty() && nodes.iter().all(|(_, node)| node.parent.is_none());
    let mut before = None;
    for (id, node) in nodes {
        let parent = if is_list { before.replace(id.clone()) } else { parents.remove(id) };
        node.parent = node.parent.take().or(parent);
    }
}

/// The tool that a message calls.
fn called(said: &ChatMessage) -> Option<&str> {
    let author = &said.author;
    let role = author["role"].as_str()?;
    let recipient = said.recipient.as_deref().filter(|recipient| !recipient.is_empty() && *recipient != "all")?;
    (role == "assistant").then_some(recipient)
}

fn message(id: &str, said: &ChatMessage, call: Option<String>, out: &mut ItemQueue) -> Option<Message> {
    let (author, metadata) = (&said.author, &said.metadata);
    let role = match author["role"].as_str() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        Some("tool") => Role::Tool,
        Some(other) => {
            out.skip(Why::Unknown, &format!("message of the role {other}"));
            return None;
        }
        None => {
            out.skip(Why::Broken, "message without a role");
            return None;
        }
    };
    if metadata["is_visually_hidden_from_conversation"] == true {
        out.skip(Why::Note, "hidden message");
        return None;
    }
    let mut blocks = content(&said.content, out)?;
    blocks.extend(attachments(metadata, &blocks));
    if says_nothing(&blocks) {
        out.skip(Why::Empty, role.as_str());
        return None;
    }
    let mut message = match (called(said), role) {
        (Some(tool), _) => Message::new(role, content::as_call(id, tool, blocks)),
        (None, Role::Tool) => {
            let tool_use_id = call.unwrap_or_else(|| id.to_owned());
            Message::new(role, vec![ContentBlock::ToolResult { tool_use_id, content: blocks, is_error: false }])
        }
        (None, _) => Message::new(role, blocks),
    };
    message.speaker = author["name"].as_str().filter(|name| !name.is_empty()).map(str::to_owned);
    message = by_model(message, metadata["model_slug"].as_str());
    let mut beside = others(&said.others, &MESSAGE_NOTES);
    if beside.get("channel").is_some_and(|channel| channel == "final") {
        beside.remove("channel");
    }
    for (name, members) in [
        ("metadata", others(metadata, &METADATA_NOTES)),
        ("author", others(author, &["role", "name"])),
        ("content", others(&said.content, &content::TAKEN)),
    ] {
        if !members.is_empty() {
            beside.insert(name.to_owned(), members.into());
        }
    }
    keep(&mut message, beside);
    Some(message)
}

/// Attachments of a message that its content does not show already.
fn attachments(metadata: &Value, blocks: &[ContentBlock]) -> Vec<ContentBlock> {
    let shown: Vec<String> = blocks.iter().map(|block| block.text().into_owned()).collect();
    let document = |file: &Value| {
        let id = file["id"].as_str();
        let is_shown = id.is_some_and(|id| !id.is_empty() && shown.iter().any(|shown| shown.contains(id)));
        (!is_shown).then(|| crate::blocks::file(file["name"].as_str(), None, id))
    };
    metadata["attachments"].as_array().into_iter().flatten().filter_map(document).collect()
}
