//! What an erasure erases, found before anything is written.

use std::collections::{BTreeMap, BTreeSet};

use memory_core::{
    ConversationId, Node, NodeId, NodeRange, NodeSet, NoteId, ViewId,
    port::{ConversationState, NoteChange, Revision},
};

use super::{EraseError, EraseRequest, ErasurePlan, ErasureTarget};
use crate::parts::Parts;

/// Messages and notes that are read at once.
const CHUNK: u64 = 256;

/// What `request` would erase. Nothing is written.
///
/// # Errors
/// If a conversation does not exist, or the store fails.
pub async fn plan(parts: &Parts, request: &EraseRequest) -> Result<ErasurePlan, EraseError> {
    let states = parts.store.conversations().await?;
    let mut plan = ErasurePlan::default();
    match request {
        EraseRequest::Nodes { conversation, nodes } => {
            let state = erasable(parts, conversation).await?;
            plan.conversations.extend(nodes_of(parts, &states, &state, nodes.clone()).await?);
        }
        EraseRequest::Conversation(conversation) => {
            let state = erasable(parts, conversation).await?;
            plan.conversations.extend(whole(parts, &states, &state).await?);
        }
        EraseRequest::Document { conversation, name } => {
            let state = erasable(parts, conversation).await?;
            plan.conversations.extend(document(parts, &state, name).await?);
        }
        EraseRequest::Owner(owner) => {
            for state in states.iter().filter(|state| state.owner.as_ref() == Some(owner) && !is_of_receipts(state)) {
                plan.conversations.extend(whole(parts, &states, state).await?);
            }
        }
        EraseRequest::Matching(request) => {
            let found = parts.memory.find(request.clone()).await?;
            let mut nodes: BTreeMap<ConversationId, Vec<NodeRange>> = BTreeMap::new();
            for found in found.matches {
                nodes.entry(found.conversation).or_default().push(NodeRange::single(found.node));
            }
            for (conversation, nodes) in nodes {
                let state = parts.store.conversation(&conversation).await?;
                plan.conversations.extend(nodes_of(parts, &states, &state, nodes).await?);
            }
        }
    }
    plan.conversations.sort_by(|a, b| a.conversation.cmp(&b.conversation));
    Ok(plan)
}

/// State of a conversation that keeps no receipts.
async fn erasable(parts: &Parts, conversation: &ConversationId) -> Result<ConversationState, EraseError> {
    let state = parts.store.conversation(conversation).await?;
    if is_of_receipts(&state) { Err(EraseError::Receipts(state.id)) } else { Ok(state) }
}

/// True if the conversation keeps receipts, which hold nothing to erase.
fn is_of_receipts(state: &ConversationState) -> bool {
    ConversationId::of_receipts(state.owner.as_ref()).is_ok_and(|receipts| receipts == state.id)
}

async fn nodes_of(
    parts: &Parts,
    states: &[ConversationState],
    state: &ConversationState,
    nodes: Vec<NodeRange>,
) -> Result<Option<ErasureTarget>, EraseError> {
    let Some(all) = NodeRange::first_n(state.nodes) else { return Ok(None) };
    let outlines = parts.store.outline(&state.id).await?;
    let turns = memory_core::plan::turns(&outlines);
    // A result without its call, or a call without its result, is refused by every provider.
    let turn_of = |node: NodeId| {
        let turn = turns.partition_point(|turn| turn.last() < node);
        turns.get(turn).copied().unwrap_or(NodeRange::single(node))
    };
    let asked = nodes.iter().filter_map(|run| run.common(all)).flat_map(NodeRange::iter).map(turn_of).collect();
    let is_left = |node: &NodeId| outlines.get(node.index()).is_some_and(|outline| !outline.is_erased);
    let left: NodeSet = NodeRange::merge(asked).into_iter().flat_map(NodeRange::iter).filter(is_left).collect();
    if left.is_empty() {
        return Ok(None);
    }
    let mut target = target(parts, states, state, left.runs().to_vec(), false).await?;
    target.with_title = match state.own_title() {
        Some(title) => holds_title(parts, &state.id, &target.nodes, title).await?,
        None => false,
    };
    Ok(Some(target))
}

async fn whole(
    parts: &Parts,
    states: &[ConversationState],
    state: &ConversationState,
) -> Result<Option<ErasureTarget>, EraseError> {
    let kept = state.forked_from.as_ref().map_or(0, |from| from.node.get());
    let own = NodeId::new(kept + 1).zip(NodeId::new(state.nodes)).and_then(|(first, last)| NodeRange::new(first, last));
    let outlines = parts.store.outline(&state.id).await?;
    let is_left = |node: &NodeId| outlines.get(node.index()).is_some_and(|outline| !outline.is_erased);
    let left: NodeSet = own.into_iter().flat_map(NodeRange::iter).filter(is_left).collect();
    let mut target = target(parts, states, state, left.runs().to_vec(), true).await?;
    target.kept = kept;
    let has_labels = state.title.is_some() || !state.tags.is_empty();
    let is_any = target.messages + target.summaries + target.notes + target.views > 0 || has_labels;
    Ok(is_any.then_some(target))
}

async fn target(
    parts: &Parts,
    states: &[ConversationState],
    state: &ConversationState,
    nodes: Vec<NodeRange>,
    is_whole: bool,
) -> Result<ErasureTarget, EraseError> {
    let id = &state.id;
    let covers = |span: NodeRange| nodes.iter().any(|run| run.common(span).is_some());
    // Their texts are not needed, and a long conversation has thousands.
    let there = parts.store.changes(id, Revision::default()).await?;
    let summaries = there.summaries.iter().filter(|summary| covers(summary.span)).count();
    let mut views = 0;
    if let Some(last) = ViewId::new(state.views) {
        let read = parts.store.views(id, ViewId::FIRST, last).await?;
        let goes = |body: &memory_core::view::ViewDraft| !body.is_erased() && (is_whole || body.may_hold(&nodes));
        views = read.iter().filter(|view| goes(&view.body)).count() as u64;
    }
    let mut notes = 0;
    let mut first = 1;
    while first <= state.notes {
        let last = state.notes.min(first + CHUNK - 1);
        let read = parts.store.notes(id, NoteId::after(first - 1), NoteId::after(last - 1)).await?;
        notes += read.iter().filter(|note| is_whole || note.sources.iter().any(|run| covers(*run))).count() as u64;
        first = last + 1;
    }
    Ok(ErasureTarget {
        conversation: id.clone(),
        messages: nodes.iter().map(|run| run.count()).sum(),
        shared_with: shared_with(states, state, &nodes),
        nodes,
        summaries: summaries as u64,
        views,
        notes,
        named_notes: Vec::new(),
        is_whole,
        with_title: is_whole && state.title.is_some(),
        kept: 0,
    })
}

/// The other conversations that have some of these nodes: those that they were shared from, and the forks of all.
pub(super) fn shared_with(
    states: &[ConversationState],
    state: &ConversationState,
    nodes: &[NodeRange],
) -> Vec<ConversationId> {
    let Some(first) = nodes.first().map(|run| run.first()) else { return Vec::new() };
    let mut found = BTreeSet::from([state.id.clone()]);
    loop {
        let before = found.len();
        for one in states {
            let Some(from) = one.forked_from.as_ref().filter(|from| from.node >= first) else { continue };
            if found.contains(&one.id) || found.contains(&from.conversation) {
                found.insert(from.conversation.clone());
                found.insert(one.id.clone());
            }
        }
        if found.len() == before {
            break;
        }
    }
    found.remove(&state.id);
    found.into_iter().collect()
}

/// True if the words of a title are in one of these messages.
async fn holds_title(parts: &Parts, id: &ConversationId, nodes: &[NodeRange], title: &str) -> Result<bool, EraseError> {
    let title = title.trim_end_matches('…').trim().to_lowercase();
    for run in nodes {
        for run in chunks(*run) {
            let read = parts.store.readable_nodes(id, run).await?.nodes;
            let holds = |node: &Node| node.message.text().to_lowercase().contains(&title);
            if read.iter().any(holds) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The notes about a named text, under any name that it had.
async fn document(parts: &Parts, state: &ConversationState, name: &str) -> Result<Option<ErasureTarget>, EraseError> {
    let mut changes: Vec<(NoteId, String, Option<String>)> = Vec::new();
    let mut first = 1;
    while first <= state.notes {
        let last = state.notes.min(first + CHUNK - 1);
        let read = parts.store.notes(&state.id, NoteId::after(first - 1), NoteId::after(last - 1)).await?;
        changes.extend(read.into_iter().map(|note| match note.change {
            NoteChange::Write { name, .. } | NoteChange::Append { name, .. } | NoteChange::Remove { name } => {
                (note.id, name, None)
            }
            NoteChange::Rename { from, to } => (note.id, from, Some(to)),
        }));
        first = last + 1;
    }
    let mut names = BTreeSet::from([name.to_owned()]);
    let is_in = |names: &BTreeSet<String>, other: &str| {
        names
            .iter()
            .any(|name| other.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    };
    loop {
        let renamed = changes.iter().filter_map(|(_, from, to)| Some((from, to.as_ref()?)));
        let more: Vec<_> = renamed.filter(|(from, to)| is_in(&names, to) && !names.contains(*from)).collect();
        if more.is_empty() {
            break;
        }
        names.extend(more.into_iter().map(|(from, _)| from.clone()));
    }
    let is_about = |(_, name, to): &&(NoteId, String, Option<String>)| {
        is_in(&names, name) || to.as_ref().is_some_and(|to| is_in(&names, to))
    };
    let named: Vec<_> = changes.iter().filter(is_about).map(|(id, ..)| [*id, *id]).collect();
    Ok((!named.is_empty()).then(|| ErasureTarget {
        conversation: state.id.clone(),
        nodes: Vec::new(),
        messages: 0,
        summaries: 0,
        views: 0,
        notes: named.len() as u64,
        named_notes: named,
        is_whole: false,
        with_title: false,
        shared_with: Vec::new(),
        kept: 0,
    }))
}

/// A run in pieces that are read at once.
pub(super) fn chunks(run: NodeRange) -> impl Iterator<Item = NodeRange> {
    let mut next = Some(run.first());
    std::iter::from_fn(move || {
        let first = next?;
        let last = NodeId::new(first.get() + CHUNK - 1)?.min(run.last());
        next = Some(last.next()).filter(|next| *next <= run.last());
        NodeRange::new(first, last)
    })
}
