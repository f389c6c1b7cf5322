//! Conversation trees of Open Assistant, whole or a message a line.

use serde_json::Value;

use memory_core::{Message, Role};

use crate::{
    Why,
    branches::{BranchNode, Chats},
    members::{keep, others, time},
    out::ItemQueue,
};

/// Members of a message that are read, or that are judgements of it.
#[rustfmt::skip]
const TAKEN: [&str; 21] = [
    "message_id", "parent_id", "text", "role", "replies", "created_date", "message_tree_id", "tree_state", "user_id",
    "lang", "review_count", "review_result", "deleted", "rank", "synthetic", "model_name", "detoxify", "emojis",
    "labels", "events", "prompt",
];

/// Reader of trees. Of single messages, those of one tree follow each other.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    chats: Chats,
    tree: String,
    messages: Vec<Value>,
}

impl Trees {
    /// Takes a tree or a message; false if the record is neither.
    pub(crate) fn take(&mut self, record: &Value, out: &mut ItemQueue) -> bool {
        let Some(tree) = record["message_tree_id"].as_str() else { return false };
        if tree != self.tree {
            self.close(out);
            tree.clone_into(&mut self.tree);
        }
        match record.get("prompt").filter(|prompt| prompt.is_object()) {
            Some(prompt) => self.walk(prompt, None),
            None => self.messages.push(record.clone()),
        }
        true
    }

    /// Adds a message and its replies, each after the message that it replies to.
    fn walk(&mut self, prompt: &Value, parent: Option<&str>) {
        let mut open = vec![(prompt, parent.map(str::to_owned))];
        while let Some((message, parent)) = open.pop() {
            let mut own = message.clone();
            if let Some(members) = own.as_object_mut() {
                members.remove("replies");
                members.insert("parent_id".to_owned(), parent.into());
            }
            self.messages.push(own);
            let id = message["message_id"].as_str().map(str::to_owned);
            let replies = message["replies"].as_array().into_iter().flatten();
            open.extend(replies.rev().map(|reply| (reply, id.clone())));
        }
    }

    /// Emits the tree that is being read. Its main path is the first one.
    pub(crate) fn close(&mut self, out: &mut ItemQueue) {
        let messages = std::mem::take(&mut self.messages);
        let mut nodes = Vec::with_capacity(messages.len());
        for message in &messages {
            let Some(id) = message["message_id"].as_str() else {
                out.skip(Why::Broken, "message without an id");
                continue;
            };
            let (parent, at) = (message["parent_id"].as_str(), time(&message["created_date"]));
            nodes.push(BranchNode { id, parent, messages: said(message, out).into_iter().collect(), at });
        }
        if !nodes.is_empty() {
            let tree = std::mem::take(&mut self.tree);
            self.chats.emit(&tree, None, nodes, None, "message", out);
        }
    }
}

fn said(value: &Value, out: &mut ItemQueue) -> Option<Message> {
    let role = match value["role"].as_str() {
        Some("prompter" | "user") => Role::User,
        Some("assistant") => Role::Assistant,
        other => {
            out.skip(Why::Unknown, &format!("message of the role {}", other.unwrap_or("(none)")));
            return None;
        }
    };
    let text = value["text"].as_str().filter(|text| !text.trim().is_empty());
    if text.is_none() {
        out.skip(Why::Empty, role.as_str());
    }
    let mut message = Message::text_of(role, text?);
    message = crate::members::by_model(message, value["model_name"].as_str().filter(|name| !name.is_empty()));
    keep(&mut message, others(value, &TAKEN));
    Some(message)
}
