//! Scans the messages of a conversation for facts that later prompts need.

use std::sync::Arc;

use memory_core::{ConversationId, Message, Node, NodeId, NodeRange, Role, SourceClass, plan::Tree};
use memory_strategies::{Speaker, changing, standing};

use crate::{MadeOf, MemoryError, learned::Learned, ports::Ports, snapshot_cache::Snapshot};

/// Messages of a long conversation that are scanned when it is first opened: the newest ones, and the most important of
/// those before. Later messages are scanned as they come.
const NEWEST: u64 = 20_000;
const WEIGHTIEST: usize = 10_000;
/// Messages read at once, to bound memory.
const CHUNK: u64 = 1024;

/// Facts from the messages of a conversation, up to its last.
pub(crate) async fn learned(
    ports: &Ports,
    conversation: &ConversationId,
    snapshot: &Snapshot,
) -> Result<Learned, MemoryError> {
    let total = snapshot.tree.total();
    let mut learned = snapshot.learned.clone();
    if learned.seen >= total {
        return Ok(learned);
    }
    let in_a_row = in_a_row(total, learned.seen);
    for run in unread(&snapshot.tree, learned.seen) {
        let read = ports.store.readable_nodes(conversation, run).await?;
        for node in read.nodes.iter().filter(|node| speaks(node)) {
            let text = node.message.text();
            add(&mut learned, node, &text);
            if node.id.get() > in_a_row {
                Arc::make_mut(&mut learned.links).add(node, &text);
            }
        }
    }
    learned.seen = total;
    ports.snapshots.keep_learned(conversation, learned.clone());
    Ok(learned)
}

/// True if the statements of a message count. Those of hidden messages and documents do not.
pub(crate) fn speaks(node: &Node) -> bool {
    let is_of_document =
        SourceClass::of(&node.message) == SourceClass::Document || node.message.metadata.contains_key(MadeOf::MEMBER);
    !node.is_hidden() && !is_of_document
}

/// The number of messages after which all are scanned.
fn in_a_row(total: u64, seen: u64) -> u64 {
    if seen == 0 { total.saturating_sub(NEWEST) } else { seen }
}

/// The messages after the first `seen` that are scanned, as runs to read at once.
fn unread(tree: &Tree, seen: u64) -> Vec<NodeRange> {
    let total = tree.total();
    let from = in_a_row(total, seen);
    let mut older: Vec<_> = (1..=from.min(total)).filter(|_| seen == 0).filter_map(NodeId::new).collect();
    let weight = |node: &NodeId| tree.node(*node).map_or(0.0, memory_core::NodeOutline::importance);
    older.retain(|node| tree.node(*node).is_some_and(|outline| outline.role == Role::User));
    older.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then(b.cmp(a)));
    older.truncate(WEIGHTIEST);
    older.sort_unstable();
    let mut runs = NodeRange::merge(older.into_iter().map(NodeRange::single).collect());
    let mut first = from + 1;
    while first <= total {
        let last = (first + CHUNK - 1).min(total);
        runs.extend(NodeId::new(first).zip(NodeId::new(last)).and_then(|(first, last)| NodeRange::new(first, last)));
        first = last + 1;
    }
    runs
}

/// Adds the lines of a message. A tool's answer and an application's instruction have none.
fn add(learned: &mut Learned, node: &Node, text: &str) {
    let message = &node.message;
    let name = message.speaker_or_role();
    if !learned.speakers.contains(name) {
        Arc::make_mut(&mut learned.speakers).insert(name.to_owned());
    }
    let Some(speaker) = speaker(message) else { return };
    if speaker == Speaker::Model {
        learned.lines.note_model();
    }
    let is_tool = message.tool_results().next().is_some() || message.tool_calls().next().is_some();
    if message.keep_out_of_summaries || is_tool {
        return;
    }
    learned.lines.add(node.id, name, standing(text, speaker));
    if speaker != Speaker::Model {
        let changes: Vec<_> = changing(text).into_iter().map(|sentence| (node.id, sentence.to_owned())).collect();
        if !changes.is_empty() {
            Arc::make_mut(&mut learned.changes).extend(changes);
        }
    }
}

/// Who speaks in a message; `None` for a tool and an application.
pub(crate) fn speaker(message: &Message) -> Option<Speaker> {
    match message.role {
        Role::User => Some(Speaker::User),
        Role::Assistant if is_named(message) => Some(Speaker::Person),
        Role::Assistant => Some(Speaker::Model),
        _ => None,
    }
}

/// True if a person speaks in the model's place.
fn is_named(message: &Message) -> bool {
    let name = message.speaker.as_deref().map(str::trim).unwrap_or_default();
    message.role == Role::Assistant && !name.is_empty() && !name.eq_ignore_ascii_case(Role::Assistant.as_str())
}
