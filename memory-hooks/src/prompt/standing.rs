//! Standing lines: earlier instructions, preferences and decisions that still hold. What corrects what is learned with
//! them.

use std::{collections::HashMap, sync::Arc};

use memory_core::{ConversationId, Message, Node, NodeId, NodeRange, Role, plan::Tree};
use memory_strategies::{Said, Speaker, StandingLines, standing};

use super::{assembly::Assembly, options::share_of};
use crate::{
    MemoryError,
    ports::Ports,
    render::{self, Part},
    snapshot_cache::Snapshot,
    state::Links,
};

/// Messages of a long conversation that are scanned when it is first opened: the newest ones, and the most important of
/// those before. Later messages are scanned as they come.
const NEWEST: u64 = 20_000;
const WEIGHTIEST: usize = 10_000;
/// Messages read at once, to bound memory.
const CHUNK: u64 = 1024;
/// Fewest tokens of room for which standing lines are added.
const LEAST: u32 = 40;
/// Most lines from one message.
const OF_ONE: usize = 3;
/// Lines that do not fit, after which no more are tried.
const MISSES: usize = 6;

/// What the first messages of a conversation say that later prompts need.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learned {
    pub(crate) lines: Arc<StandingLines>,
    /// Which message corrects which, of the newest 20,000.
    pub(crate) links: Arc<Links>,
    /// The number of these messages.
    pub(crate) seen: u64,
}

/// What the messages of a conversation say, up to its last.
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
        for node in &read.nodes {
            let text = node.message.text();
            add(&mut learned.lines, node, &text);
            if node.id.get() > in_a_row && !node.message.keep_out_of_summaries {
                Arc::make_mut(&mut learned.links).add(node, &text);
            }
        }
    }
    learned.seen = total;
    ports.snapshots.keep_learned(conversation, learned.clone());
    Ok(learned)
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
fn add(lines: &mut Arc<StandingLines>, node: &Node, text: &str) {
    let message = &node.message;
    let is_tool = message.tool_results().next().is_some() || message.tool_calls().next().is_some();
    let speaker = match message.role {
        Role::User => Speaker::User,
        Role::Assistant if is_named(message) => Speaker::Person,
        Role::Assistant => Speaker::Model,
        _ => return,
    };
    if message.keep_out_of_summaries || is_tool {
        return;
    }
    let said = Said { node: node.id, name: message.speaker_or_role(), speaker };
    let found = standing(text, speaker);
    // The lines are shared with concurrent planners. Most messages have none and need no copy.
    if lines.learns(&said, &found) {
        Arc::make_mut(lines).add(&said, found);
    }
}

/// Whether a person speaks in the model's place.
fn is_named(message: &Message) -> bool {
    let name = message.speaker.as_deref().map(str::trim).unwrap_or_default();
    message.role == Role::Assistant && !name.is_empty() && !name.eq_ignore_ascii_case(Role::Assistant.as_str())
}

impl Assembly<'_> {
    /// The most important standing lines, in order, and their cost. Those of messages that are shown word for word are
    /// left out.
    pub(super) async fn standing(&self, shown: &[NodeRange], room: u32) -> Result<(Vec<Part>, u32), MemoryError> {
        let most = share_of(self.options.budget, self.parts.strategy.standing_share()).min(room);
        let (mut chosen, mut cost): (Vec<Part>, u32) = (Vec::new(), 0);
        if most < LEAST {
            return Ok((chosen, cost));
        }
        let mut of_one: HashMap<NodeId, usize> = HashMap::new();
        let mut misses = 0;
        for line in self.learned.lines.by_worth(self.tail.question) {
            let told = of_one.entry(line.node).or_default();
            if *told == OF_ONE || shown.iter().any(|run| run.contains(line.node)) {
                continue;
            }
            let read = self.parts.store.readable_nodes(self.conversation, NodeRange::single(line.node)).await?;
            let at = usize::try_from(line.standing.at).unwrap_or(usize::MAX);
            let bytes = at..at.saturating_add(usize::from(line.standing.bytes));
            let why = format!("standing: {}", line.standing.kind.as_str());
            let part = |node| Part::standing(node, bytes, &self.snapshot.redactor, why);
            let Some(part) = read.nodes.into_iter().next().and_then(part) else { continue };
            let mut trial = chosen.clone();
            let place = trial.partition_point(|other| other.nodes <= part.nodes);
            trial.insert(place, part);
            let tokens: u32 = render::standing_lines(&trial).iter().map(|line| self.count(line)).sum();
            if tokens <= most {
                (chosen, cost) = (trial, tokens);
                *told += 1;
            } else {
                misses += 1;
                if misses == MISSES {
                    break;
                }
            }
        }
        Ok((chosen, cost))
    }
}
