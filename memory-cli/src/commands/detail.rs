//! A message with its parts, as `show` and `expand` print it.

use memory_core::{Attachment, ConversationId, Node, ToolAnswer, ToolCall};
use memory_hooks::NodeDetails;
use memory_transcripts::exact;
use serde_json::{Value, json};

use super::show;
use crate::output::{decimal, known};

/// The number of a message, who said it and when.
pub(super) fn heading(node: &Node) -> String {
    let at = if node.at.is_known() { node.at.to_string() } else { "at no known time".to_owned() };
    let pinned = if node.pinned { ", pinned" } else { "" };
    let model = node.message.model().map(|model| format!(" ({model})")).unwrap_or_default();
    format!("{}: {}{model}, {at}{pinned}", node.id, node.message.voice())
}

pub(super) fn to_json(id: &ConversationId, details: &NodeDetails) -> Value {
    let node = &details.node;
    let relates_to = node.relates_to;
    let attachments: Vec<_> = node.message.attachments().map(|file| attachment(&file)).collect();
    json!({
        "conversation": id.as_str(),
        "node": node.id.get(),
        "at": known(node.at),
        "kind": node.kind().as_str(),
        "level": details.level.as_str(),
        "expandable": details.is_expandable,
        "tokens": node.tokens,
        "lines": node.line_count,
        "importance": decimal(node.importance),
        "topics": node.topics,
        "relates_to": relates_to.map(|to| json!({"node": to.to.get(), "kind": show::relation(to.kind)})),
        "pinned": node.pinned,
        "speaker": node.message.voice(),
        "model": node.message.model(),
        "components": components(details),
        "attachments": attachments,
        "message": exact::message(&node.message),
        "text": node.message.text(),
    })
}

/// The parts of a message: for one of the model with the results of its calls, for one of a tool its own.
fn components(details: &NodeDetails) -> Value {
    let parts = details.components();
    let call = |call: &ToolCall<'_>| json!({"id": call.id, "name": call.name, "input": exact::value(call.input)});
    let answer = |answer: &ToolAnswer<'_>| {
        let node = answer.node.unwrap_or(details.node.id).get();
        json!({"id": answer.id, "node": node, "text": answer.text})
    };
    json!({
        "text": parts.text,
        "reasoning": parts.reasoning,
        "calls": parts.calls.iter().map(call).collect::<Vec<_>>(),
        "results": parts.results.iter().map(answer).collect::<Vec<_>>(),
        "errors": parts.errors.iter().map(answer).collect::<Vec<_>>(),
    })
}

fn attachment(file: &Attachment<'_>) -> Value {
    json!({
        "kind": file.kind.as_str(),
        "title": file.title,
        "media_type": file.media_type(),
        "bytes": file.bytes(),
        "url": file.url(),
    })
}
