//! The export of Claude.ai: a list of conversations, each with its messages in order.

use std::collections::VecDeque;

use memory_core::{ContentBlock, Media, Message, Role};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    Conversation, TranscriptError, Why,
    blocks::{Blocks, anthropic_value, unknown},
    branches::{BranchNode, Chats},
    members::{keep, others, time},
    names::{conversation_id, key},
    out::{ItemQueue, says_nothing, usable_title},
    reader::FormatReader,
};

/// Parent id of the first message of a conversation.
const ROOT: &str = "00000000-0000-4000-8000-000000000000";

/// Reader of exported conversations.
#[derive(Debug, Default)]
pub(crate) struct ClaudeAi {
    chats: Chats,
}

#[derive(Deserialize)]
struct Chat {
    uuid: Option<String>,
    name: Option<String>,
    chat_messages: Option<Vec<Value>>,
    #[serde(flatten)]
    others: Value,
}

/// Members of a chat and of a message that are settings and notes.
#[rustfmt::skip]
const CHAT_NOTES: [&str; 12] = [
    "account", "created_at", "current_leaf_message_uuid", "is_starred", "is_temporary", "model", "platform", "project",
    "project_uuid", "settings", "updated_at", "session_id",
];
const MESSAGE_NOTES: [&str; 4] = ["index", "truncated", "updated_at", "input_mode"];
/// Members of a file that are read, or carry no content.
#[rustfmt::skip]
const FILE_NOTES: [&str; 13] = [
    "created_at", "document_asset", "extracted_content", "file_kind", "file_name", "file_size", "file_type",
    "file_uuid", "id", "preview_asset", "preview_url", "thumbnail_asset", "thumbnail_url",
];
/// Members of a call or a result that are read, or are times.
const BLOCK_NOTES: [&str; 10] =
    ["type", "id", "name", "input", "tool_use_id", "content", "is_error", "start_timestamp", "stop_timestamp", "flags"];

#[derive(Deserialize)]
struct ChatMessage {
    uuid: Option<String>,
    sender: Option<String>,
    text: Option<String>,
    content: Option<Vec<Value>>,
    created_at: Option<String>,
    #[serde(default)]
    attachments: Vec<Value>,
    #[serde(default)]
    files: Vec<Value>,
    parent_message_uuid: Option<String>,
    #[serde(flatten)]
    others: Value,
}

impl FormatReader for ClaudeAi {
    fn record(&mut self, record: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let Some(chat) = out.parsed::<Chat>(record, "conversation")? else { return Ok(()) };
        if chat.chat_messages.is_none() && documents(&chat, out) {
            return Ok(());
        }
        let (Some(id), Some(messages)) = (chat.uuid, chat.chat_messages) else {
            out.skip(Why::Unknown, "record without conversation");
            return Ok(());
        };
        for name in others(&chat.others, &CHAT_NOTES).keys() {
            let why = if name == "summary" { Why::View } else { Why::Unknown };
            out.skip(why, &format!("member {name}"));
        }
        let mut read = Vec::with_capacity(messages.len());
        for (index, message) in messages.into_iter().enumerate() {
            match serde_json::from_value::<ChatMessage>(message) {
                Ok(said) => {
                    let uuid = said.uuid.clone().unwrap_or_else(|| format!("{id}-{index}"));
                    read.push((uuid, said));
                }
                Err(_) => out.skip(Why::Broken, "message"),
            }
        }
        let knows_parents = read.iter().any(|(_, said)| said.parent_message_uuid.is_some());
        let mut nodes = Vec::with_capacity(read.len());
        let mut before = None;
        for (id, said) in &read {
            let stated = said.parent_message_uuid.as_deref().filter(|parent| *parent != ROOT);
            let parent = if knows_parents { stated } else { before };
            let at = said.created_at.as_deref().and_then(|at| at.parse().ok());
            nodes.push(BranchNode { id, parent, messages: messages_of(id, said, out), at });
            before = Some(id.as_str());
        }
        let main = read.last().map(|(id, _)| id.as_str());
        self.chats.emit(&id, chat.name.as_deref(), nodes, main, "message", out);
        Ok(())
    }
}

/// Emits the documents of a project, and Claude's own notes on its person and on projects, which are no chats.
fn documents(chat: &Chat, out: &mut ItemQueue) -> bool {
    let members = &chat.others;
    let document = |title: Option<&str>, text: &str| {
        let media = Media::Text { media_type: "text/markdown".to_owned(), text: text.to_owned() };
        ContentBlock::Document { title: title.map(str::to_owned), media }
    };
    let mut said: Vec<(String, Role, ContentBlock)> = Vec::new();
    if let Some(notes) = members["conversations_memory"].as_str() {
        said.push(("conversations".to_owned(), Role::Assistant, document(Some("Memory of Claude"), notes)));
    }
    for (project, notes) in members["project_memories"].as_object().into_iter().flatten() {
        let notes = notes.as_str().unwrap_or_default();
        said.push((project.clone(), Role::Assistant, document(Some("Memory of a project"), notes)));
    }
    if let Some(instructions) = members["prompt_template"].as_str().filter(|text| !text.trim().is_empty()) {
        said.push(("instructions".to_owned(), Role::User, document(Some("Instructions"), instructions)));
    }
    for (number, file) in members["docs"].as_array().into_iter().flatten().enumerate() {
        let id = file["uuid"].as_str().map_or_else(|| number.to_string(), str::to_owned);
        let content = file["content"].as_str().unwrap_or_default();
        said.push((id, Role::User, document(file["filename"].as_str(), content)));
    }
    if said.is_empty() {
        return false;
    }
    let id = conversation_id(&[chat.uuid.as_deref().unwrap_or("claude-memory")]);
    out.begin(Conversation::new(id.clone()).title(chat.name.as_deref().and_then(usable_title)));
    for (name, role, block) in said {
        out.say(&id, key(&name), Message::new(role, vec![block]), time(&members["updated_at"]));
    }
    true
}

/// Messages of one record: an answer with tool results becomes model, tool and model messages.
fn messages_of(uuid: &str, said: &ChatMessage, out: &mut ItemQueue) -> Vec<Message> {
    let role = match said.sender.as_deref() {
        Some("human" | "user") => Role::User,
        Some("assistant") => Role::Assistant,
        other => {
            out.skip(Why::Unknown, &format!("message of the sender {}", other.unwrap_or("(none)")));
            return Vec::new();
        }
    };
    let mut messages = Vec::new();
    let mut current = Blocks::default();
    let mut of = role;
    let mut close = |role: Role, blocks: &mut Blocks| {
        let blocks = std::mem::take(blocks);
        if !says_nothing(&blocks.blocks) {
            messages.push(blocks.message(role));
        }
    };
    // Only order and name link a result to its call.
    let mut calls: VecDeque<(String, String)> = VecDeque::new();
    let content = said.content.as_deref().unwrap_or_default();
    for (index, block) in content.iter().enumerate() {
        let kind = block["type"].as_str().unwrap_or("without type");
        let name = block["name"].as_str().unwrap_or("unknown");
        let speaks = if kind == "tool_result" { Role::Tool } else { role };
        if speaks != of {
            close(of, &mut current);
            of = speaks;
        }
        match kind {
            "tool_use" => {
                let id = id_of(block, "id").unwrap_or_else(|| format!("{uuid}-{index}"));
                calls.push_back((id.clone(), name.to_owned()));
                let input = &block["input"];
                current.add((crate::blocks::call(&id, name, input), others(block, &BLOCK_NOTES)));
            }
            "tool_result" => {
                let by_name = calls.iter().position(|(_, called)| called == name);
                let paired = by_name.and_then(|position| calls.remove(position)).map(|(id, _)| id);
                let id = id_of(block, "tool_use_id").or(paired).unwrap_or_else(|| format!("{uuid}-{index}"));
                let content = anthropic_value(&block["content"]);
                let is_error = block["is_error"].as_bool().unwrap_or(false);
                let (result, of_content) = content.result(&id, is_error);
                let mut beside = others(block, &BLOCK_NOTES);
                beside.extend(of_content);
                current.add((result, beside));
            }
            "voice_note" => {
                let texts: Vec<_> = ["title", "text"].iter().filter_map(|name| block[*name].as_str()).collect();
                current.blocks.push(ContentBlock::Text(texts.join("\n")));
            }
            "token_budget" | "flag" => out.skip(Why::Note, kind),
            "text" | "thinking" | "image" | "document" => {
                current.append(anthropic_value(&Value::Array(vec![without_times(block)])));
            }
            other => {
                out.skip(Why::Unknown, &format!("content {other} (kept as it came)"));
                current.blocks.push(unknown(&block.to_string()));
            }
        }
    }
    // `text` repeats the content unless the content is blank.
    if let Some(text) = said.text.as_ref().filter(|_| content.iter().all(is_blank)) {
        current = Blocks { blocks: vec![ContentBlock::Text(text.clone())], ..Blocks::default() };
    }
    for (of, files) in [("attachments.", &said.attachments), ("files.", &said.files)] {
        files.iter().for_each(|file| out.unknown(of, file, &FILE_NOTES));
    }
    if of != role {
        close(of, &mut current);
    }
    current.blocks.extend(files(said));
    close(role, &mut current);
    match messages.first_mut() {
        Some(first) => keep(first, others(&said.others, &MESSAGE_NOTES)),
        None => out.skip(Why::Empty, role.as_str()),
    }
    messages
}

fn is_blank(block: &Value) -> bool {
    block["text"].as_str().is_none_or(|text| text.trim().is_empty())
        && block["type"].as_str().is_none_or(|kind| matches!(kind, "text" | "token_budget" | "flag"))
}

fn id_of(block: &Value, name: &str) -> Option<String> {
    block[name].as_str().filter(|id| !id.is_empty()).map(str::to_owned)
}

/// A block without its members for times and flags.
fn without_times(block: &Value) -> Value {
    let mut block = block.clone();
    if let Some(members) = block.as_object_mut() {
        for name in ["start_timestamp", "stop_timestamp", "flags"] {
            members.remove(name);
        }
        // An export may hold only the summaries that were shown.
        if members.get("thinking").is_some_and(|thinking| thinking == "")
            && let Some(Value::Array(shown)) = members.remove("summaries")
        {
            let shown: Vec<_> = shown.iter().filter_map(|one| one["summary"].as_str()).collect();
            members.insert("thinking".to_owned(), shown.join("\n").into());
        }
        members.retain(|_, value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()));
    }
    block
}

/// Attachments of a message: extracted texts, and the names of all other files.
fn files(said: &ChatMessage) -> Vec<ContentBlock> {
    let text = |file: &Value, name: &str| file[name].as_str().map(str::to_owned);
    let mut blocks = Vec::new();
    let mut names = Vec::new();
    for file in &said.attachments {
        let title = text(file, "file_name").filter(|name| !name.is_empty());
        names.extend(title.clone());
        let media = match text(file, "extracted_content") {
            Some(content) => {
                let given = text(file, "file_type").filter(|kind| kind.contains('/'));
                Media::Text { media_type: given.unwrap_or_else(|| "text/plain".to_owned()), text: content }
            }
            None => Media::Url(title.clone().unwrap_or_else(|| "unknown".to_owned())),
        };
        blocks.push(ContentBlock::Document { title, media });
    }
    for file in &said.files {
        let name = text(file, "file_name").filter(|name| !name.is_empty());
        if name.as_ref().is_some_and(|name| names.contains(name)) {
            continue;
        }
        let address = text(file, "file_uuid");
        blocks.push(crate::blocks::file(name.as_deref(), None, address.as_deref()));
    }
    blocks
}
