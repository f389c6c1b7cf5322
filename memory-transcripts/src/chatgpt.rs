//! The export of ChatGPT: a list of conversations, each a tree of messages.

mod content;

use std::collections::HashMap;

use memory_core::{ContentBlock, Message, Role, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    TranscriptError, Why,
    branches::{BranchNode, Chats, give},
    exact,
    members::{keep, others},
    out::{Out, says_nothing},
    records::Place,
    shape::Shape,
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
    others: Map<String, Value>,
}

/// Members of a chat that are settings and notes.
const CHAT_NOTES: [&str; 33] = [
    "async_status",
    "atlas_mode_enabled",
    "blocked_urls",
    "context_scopes",
    "conversation_origin",
    "conversation_template_id",
    "default_model_slug",
    "disabled_tool_ids",
    "gizmo_id",
    "gizmo_type",
    "is_archived",
    "is_do_not_remember",
    "is_read_only",
    "is_starred",
    "is_study_mode",
    "is_temporary_chat",
    "memory_scope",
    "moderation_results",
    "owner",
    "pinned_time",
    "plugin_ids",
    "safe_urls",
    "shared_conversation_id",
    "sugar_item_id",
    "sugar_item_visible",
    "update_time",
    "user_id",
    "voice",
    "workspace_id",
    "rebase_developer_message",
    "rebase_system_message",
    "is_public",
    "id",
];
/// Members of a message that are notes, or are read elsewhere.
const MESSAGE_NOTES: [&str; 5] = ["id", "update_time", "status", "end_turn", "weight"];
const METADATA_NOTES: [&str; 13] = [
    "attachments",
    "can_save",
    "default_model_slug",
    "finish_details",
    "is_complete",
    "is_visually_hidden_from_conversation",
    "message_type",
    "model_slug",
    "parent_id",
    "request_id",
    "timestamp_",
    "turn_exchange_id",
    "voice_mode_message",
];

#[derive(Default, Deserialize)]
#[serde(default)]
struct Node {
    parent: Option<String>,
    message: Option<Said>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Deserialize)]
struct Said {
    author: Option<Author>,
    create_time: Option<f64>,
    content: Option<Value>,
    recipient: Option<String>,
    metadata: Option<Value>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Deserialize)]
struct Author {
    role: Option<String>,
    name: Option<String>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[expect(clippy::cast_possible_truncation, reason = "clamped by the cast")]
fn time(seconds: Option<f64>) -> Option<Timestamp> {
    seconds
        .filter(|seconds| seconds.is_finite() && *seconds > 0.0)
        .map(|seconds| Timestamp::from_millis((seconds * 1e3).round() as i64))
}

impl Shape for ChatGpt {
    fn record(&mut self, record: &str, place: Place, out: &mut Out) -> Result<(), TranscriptError> {
        let chat: Chat = match exact::read(record) {
            Ok(chat) => chat,
            Err(error) if error.is_data() => {
                out.skip(Why::Broken, "conversation", place);
                return Ok(());
            }
            Err(error) => return Err(out.damaged(place, crate::reader::not_json(&error))),
        };
        let (Some(mapping), Some(id)) = (chat.mapping, chat.conversation_id.or(chat.id)) else {
            out.skip(Why::Unknown, "record without conversation", place);
            return Ok(());
        };
        out.unknown("", &Value::Object(chat.others), &CHAT_NOTES, place);
        let mut read = Vec::with_capacity(mapping.len());
        for (id, node) in mapping {
            match serde_json::from_value::<Node>(node) {
                Ok(mut node) => {
                    let others = Value::Object(std::mem::take(&mut node.others));
                    out.unknown("node.", &others, &["id", "children"], place);
                    read.push((id, node));
                }
                Err(_) => {
                    out.skip(Why::Broken, "node", place);
                    read.push((id, Node::default()));
                }
            }
        }
        // Only the tree links a tool call to its result: the result names the tool and is a child of the call.
        let calls: HashMap<&str, &str> =
            read.iter().filter_map(|(id, node)| Some((id.as_str(), called(node.message.as_ref()?)?))).collect();
        let node = |(id, node): &(String, Node)| {
            let call = node.parent.as_deref().filter(|parent| calls.contains_key(parent)).map(str::to_owned);
            let said = node.message.as_ref().and_then(|said| message(id, said, call, place, out));
            (said, node.message.as_ref().and_then(|said| time(said.create_time)).or(time(chat.create_time)))
        };
        let said: Vec<_> = read.iter().map(node).collect();
        let nodes = read.iter().zip(said).map(|((id, node), (said, at))| BranchNode {
            id,
            parent: node.parent.as_deref(),
            said: said.into_iter().collect(),
            at,
        });
        let nodes: Vec<_> = nodes.collect();
        let id = self.chats.name(&id, &nodes);
        let before = out.report.messages;
        for _ in 0..give(&id, chat.title.as_deref(), nodes, chat.current_node.as_deref(), out) {
            out.skip(Why::Broken, "node of a cycle", place);
        }
        if out.report.messages == before {
            out.skip(Why::Empty, "conversation without messages", place);
        }
        Ok(())
    }
}

/// The tool that a message calls.
fn called(said: &Said) -> Option<&str> {
    let role = said.author.as_ref()?.role.as_deref()?;
    let recipient = said.recipient.as_deref().filter(|recipient| !recipient.is_empty() && *recipient != "all")?;
    (role == "assistant").then_some(recipient)
}

fn message(id: &str, said: &Said, call: Option<String>, place: Place, out: &mut Out) -> Option<Message> {
    let metadata = said.metadata.as_ref();
    let flag = |name: &str| metadata.and_then(|members| members.get(name)?.as_bool()) == Some(true);
    let author = said.author.as_ref();
    let role = match author.and_then(|author| author.role.as_deref()) {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        Some("tool") => Role::Tool,
        Some(other) => {
            out.skip(Why::Unknown, &format!("message of the role {other}"), place);
            return None;
        }
        None => {
            out.skip(Why::Broken, "message without a role", place);
            return None;
        }
    };
    if flag("is_visually_hidden_from_conversation") {
        out.skip(Why::Note, "hidden message", place);
        return None;
    }
    let mut blocks = content(said.content.as_ref().unwrap_or(&Value::Null), place, out)?;
    blocks.extend(attachments(metadata, &blocks));
    if says_nothing(&blocks) {
        out.skip(Why::Empty, role.as_str(), place);
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
    message.speaker = author.and_then(|author| author.name.clone()).filter(|name| !name.is_empty());
    let model = metadata.and_then(|members| members.get("model_slug")?.as_str());
    if let Some(model) = model.filter(|_| role == Role::Assistant) {
        message = message.spoken_by(model);
    }
    let mut beside = others(&Value::Object(said.others.clone()), &MESSAGE_NOTES);
    if beside.get("channel").is_some_and(|channel| channel == "final") {
        beside.remove("channel");
    }
    let of_author = author.map(|author| author.others.clone()).unwrap_or_default();
    for (name, members) in [
        ("metadata", others(metadata.unwrap_or(&Value::Null), &METADATA_NOTES)),
        ("author", others(&of_author.into(), &[])),
        ("content", others(said.content.as_ref().unwrap_or(&Value::Null), &content::TAKEN)),
    ] {
        if !members.is_empty() {
            beside.insert(name.to_owned(), members.into());
        }
    }
    keep(&mut message, beside);
    Some(message)
}

/// Attachments of a message that its content does not show already.
fn attachments(metadata: Option<&Value>, blocks: &[ContentBlock]) -> Vec<ContentBlock> {
    let shown: Vec<String> = blocks.iter().map(|block| block.text().into_owned()).collect();
    let attached = metadata.and_then(|members| members.get("attachments")?.as_array());
    let document = |file: &Value| {
        let text = |name: &str| file.get(name).and_then(Value::as_str);
        let id = text("id").unwrap_or_default();
        let is_shown = !id.is_empty() && shown.iter().any(|shown| shown.contains(id));
        (!is_shown).then(|| crate::blocks::file(text("name"), None, text("id")))
    };
    attached.into_iter().flatten().filter_map(document).collect()
}
