//! Plans of erasures, made before anything is written.

use std::collections::BTreeSet;

use memory_core::{
    ConversationId, Node, NodeId, NodeRange, NodeSet, NoteId, ViewId,
    port::{ConversationState, Note, NoteChange, Revision, StoreError},
    view::ViewDraft,
};

use memory_hooks::MadeOf;

use super::{EraseError, EraseRequest, ErasurePlan, ErasureTarget, matching::matching};
use crate::parts::Parts;

/// Messages and notes that are read at once.
const CHUNK: u64 = 256;

/// The plan for `request`. Nothing is written.
///
/// # Errors
/// If a conversation or none of the named messages exists, the pattern is invalid, or the store fails.
pub async fn plan(parts: &Parts, request: &EraseRequest) -> Result<ErasurePlan, EraseError> {
    let states = parts.store.conversations().await?;
    let mut plan = ErasurePlan::default();
    match request {
        EraseRequest::Nodes { conversation, nodes } => {
            let state = erasable(parts, conversation).await?;
            check_there(&state, nodes)?;
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
            plan = matching(parts, &states, request).await?;
        }
    }
    with_made_of(parts, &states, &mut plan).await?;
    plan.conversations.sort_by(|a, b| a.conversation.cmp(&b.conversation));
    Ok(plan)
}

/// Adds the documents that were made of messages that go.
async fn with_made_of(parts: &Parts, states: &[ConversationState], plan: &mut ErasurePlan) -> Result<(), EraseError> {
    let targets = plan.conversations.iter().map(|target| (target.conversation.clone(), target.nodes.clone())).collect();
    for state in MadeOf::documents(&*parts.store, states, &targets).await? {
        if plan.conversations.iter().all(|target| target.conversation != state.id) {
            plan.conversations.extend(whole(parts, states, &state).await?);
        }
    }
    Ok(())
}

/// Checks that some of these messages exist: a number beyond the last one is a slip.
fn check_there(state: &ConversationState, nodes: &[NodeRange]) -> Result<(), EraseError> {
    match nodes.iter().find(|run| run.first().get() > state.nodes) {
        Some(run) => {
            let (conversation, node) = (state.id.clone(), run.first());
            Err(StoreError::UnknownNode { conversation, node, nodes: state.nodes }.into())
        }
        None => Ok(()),
    }
}

/// State of a conversation that keeps no receipts.
async fn erasable(parts: &Parts, conversation: &ConversationId) -> Result<ConversationState, EraseError> {
    let state = parts.store.conversation(conversation).await?;
    if is_of_receipts(&state) { Err(EraseError::Receipts(state.id)) } else { Ok(state) }
}

/// True if the conversation keeps receipts, which hold nothing to erase.
pub(super) fn is_of_receipts(state: &ConversationState) -> bool {
    ConversationId::of_receipts(state.owner.as_ref()).is_ok_and(|receipts| receipts == state.id)
}

pub(super) async fn nodes_of(
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
    Ok((target.is_any() || has_labels).then_some(target))
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
    let goes = |note: &Note| is_whole || note.sources.iter().any(|run| covers(*run));
    let gone: Vec<_> = notes(parts, state).await?.into_iter().filter(goes).collect();
    let mut views = 0;
    if let Some(last) = ViewId::new(state.views) {
        let read = parts.store.views(id, ViewId::FIRST, last).await?;
        let runs: Vec<_> = gone.iter().map(|note| [note.id; 2]).collect();
        let goes = |body: &ViewDraft| !body.is_erased() && (is_whole || body.may_hold(&nodes, &runs));
        views = read.iter().filter(|view| goes(&view.body)).count() as u64;
    }
    Ok(ErasureTarget {
        messages: nodes.iter().map(|run| run.count()).sum(),
        shared_with: shared_with(states, state, &nodes),
        nodes,
        summaries: summaries as u64,
        views,
        notes: gone.len() as u64,
        is_whole,
        with_title: is_whole && state.title.is_some(),
        ..ErasureTarget::new(id.clone())
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
            let read = parts.store.whole_nodes(id, run).await?.nodes;
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
    let named = about(&notes(parts, state).await?, name);
    let mut target = ErasureTarget::new(state.id.clone());
    target.notes = named.len() as u64;
    target.named_notes = named.into_iter().map(|id| [id, id]).collect();
    target.documents = vec![name.to_owned()];
    Ok(target.is_any().then_some(target))
}

/// All readable notes of a conversation.
pub(super) async fn notes(parts: &Parts, state: &ConversationState) -> Result<Vec<Note>, EraseError> {
    let mut notes = Vec::new();
    let mut first = 1;
    while first <= state.notes {
        let last = state.notes.min(first + CHUNK - 1);
        notes.extend(parts.store.notes(&state.id, NoteId::after(first - 1), NoteId::after(last - 1)).await?);
        first = last + 1;
    }
    Ok(notes)
}

/// Notes about a text, under any name that it had.
pub(super) fn about(notes: &[Note], name: &str) -> BTreeSet<NoteId> {
    let names_of = |note: &Note| match &note.change {
        NoteChange::Write { name, .. } | NoteChange::Append { name, .. } | NoteChange::Remove { name } => {
            (name.clone(), None)
        }
        NoteChange::Rename { from, to } => (from.clone(), Some(to.clone())),
    };
    let changes: Vec<_> = notes.iter().map(|note| (note.id, names_of(note))).collect();
    let mut names = BTreeSet::from([name.to_owned()]);
    let is_in = |names: &BTreeSet<String>, other: &str| {
        names
            .iter()
            .any(|name| other.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    };
    loop {
        let renamed = changes.iter().filter_map(|(_, (from, to))| Some((from, to.as_ref()?)));
        let more: Vec<_> = renamed.filter(|(from, to)| is_in(&names, to) && !names.contains(*from)).collect();
        if more.is_empty() {
            break;
        }
        names.extend(more.into_iter().map(|(from, _)| from.clone()));
    }
    let is_about = |name: &str, to: Option<&String>| is_in(&names, name) || to.is_some_and(|to| is_in(&names, to));
    changes.iter().filter(|(_, (name, to))| is_about(name, to.as_ref())).map(|(id, _)| *id).collect()
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
