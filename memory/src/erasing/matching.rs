//! Matches of a pattern: messages with all that is kept of them, titles, tags, named texts, and what goes only with those.

use std::collections::{BTreeMap, BTreeSet};

use memory_core::{
    ConversationId, Node, NodeId, NodeRange, SummaryId, ViewId,
    port::{ConversationState, Conversations, Note, NoteChange, Revision},
};
use memory_search::{FindRequest, TextPattern};

use super::{
    EraseError, ErasurePlan, ErasureTarget, HeldIn, StillHeld, TagPlaces,
    attack::texts_of,
    plan::{about, chunks, is_of_receipts, nodes_of, notes},
};
use crate::parts::Parts;

/// Plan of an erasure of everything in which a pattern matches.
pub(super) async fn matching(
    parts: &Parts,
    states: &[ConversationState],
    request: &FindRequest,
) -> Result<ErasurePlan, EraseError> {
    let pattern = TextPattern::compile(&request.pattern)?;
    let mut nodes: BTreeMap<ConversationId, Vec<NodeRange>> = BTreeMap::new();
    for found in parts.memory.find(request.clone().disabled(true)).await?.matches {
        nodes.entry(found.conversation).or_default().push(NodeRange::single(found.node));
    }
    let mut plan = ErasurePlan::default();
    let scope: BTreeSet<_> = request.scope.states(&*parts.store).await?.into_iter().map(|state| state.id).collect();
    // Named texts are no conversations, which a scope of all leaves out.
    let is_of_all = matches!(request.scope.conversations, Conversations::All);
    for state in states {
        if is_of_receipts(state) || !(scope.contains(&state.id) || is_of_all && state.is_of_notes()) {
            continue;
        }
        let mut found = nodes.remove(&state.id).unwrap_or_default();
        // Messages that a fork shares are erased in the conversation that they were said in.
        let shared = state.forked_from.as_ref().filter(|from| scope.contains(&from.conversation));
        let first = NodeId::new(shared.map_or(0, |from| from.node.get()) + 1);
        let own = first.zip(NodeId::new(state.nodes)).and_then(|(first, last)| NodeRange::new(first, last));
        let own = own.filter(|_| !state.is_of_notes());
        let asked = own.and_then(|own| request.range.map_or(Some(own), |asked| asked.common(own)));
        for run in asked.into_iter().flat_map(chunks) {
            let read = parts.store.whole_nodes(&state.id, run).await?;
            let holding = read.nodes.iter().filter(|node| !node.is_erased && holds(node, &pattern));
            found.extend(holding.map(|node| NodeRange::single(node.id)));
        }
        let target = nodes_of(parts, states, state, found).await?;
        let mut target = target.unwrap_or_else(|| ErasureTarget::new(state.id.clone()));
        if request.range.is_none() {
            labels(state, &pattern, &mut target);
            documents(&notes(parts, state).await?, &pattern, &mut target);
        }
        held(parts, state, &pattern, &target, &mut plan.held).await?;
        plan.conversations.extend(target.is_any().then_some(target));
    }
    Ok(plan)
}

/// True if the pattern matches in anything that a message has.
fn holds(node: &Node, pattern: &TextPattern) -> bool {
    let mut texts = node.topics.clone();
    texts_of(&node.message.content, &mut texts);
    texts.extend(node.message.metadata.iter().flat_map(|(name, value)| [name.clone(), value.as_str().to_owned()]));
    texts.extend(node.message.speaker.clone());
    texts.extend(node.message.key.as_ref().map(ToString::to_string));
    texts.iter().any(|text| pattern.is_in(text))
}

fn labels(state: &ConversationState, pattern: &TextPattern, target: &mut ErasureTarget) {
    target.with_title |= state.title.as_ref().is_some_and(|title| pattern.is_in(title));
    let own: BTreeSet<_> = state.own_tags().into_iter().collect();
    let matched = |tag: &&String| own.contains(*tag) && pattern.is_in(tag);
    target.tags = state.tags.iter().filter(matched).cloned().collect();
    let at = state.tags.iter().enumerate().filter(|(_, tag)| matched(tag)).map(|(place, _)| place).collect();
    target.tag_places = TagPlaces { of: state.tags.len(), at };
}

/// Texts in whose name or any version the pattern matches, with all their versions: one version alone would bring
/// back the one before.
fn documents(notes: &[Note], pattern: &TextPattern, target: &mut ErasureTarget) {
    let mut names = BTreeSet::new();
    for note in notes {
        match &note.change {
            NoteChange::Write { name, text } | NoteChange::Append { name, text } => {
                names.extend((pattern.is_in(name) || pattern.is_in(text)).then(|| name.clone()));
            }
            NoteChange::Remove { name } => names.extend(pattern.is_in(name).then(|| name.clone())),
            NoteChange::Rename { from, to } => {
                names.extend([from, to].into_iter().filter(|name| pattern.is_in(name)).cloned());
            }
        }
    }
    let ids: BTreeSet<_> = names.iter().flat_map(|name| about(notes, name)).collect();
    let goes_anyway =
        |note: &&Note| note.sources.iter().any(|run| target.nodes.iter().any(|gone| gone.common(*run).is_some()));
    let more = notes.iter().filter(|note| ids.contains(&note.id) && !goes_anyway(note)).count() as u64;
    target.notes += more;
    target.named_notes = ids.into_iter().map(|id| [id, id]).collect();
    target.documents = names.into_iter().collect();
}

/// Matches of the pattern that stay when `target` goes.
async fn held(
    parts: &Parts,
    state: &ConversationState,
    pattern: &TextPattern,
    target: &ErasureTarget,
    held: &mut Vec<StillHeld>,
) -> Result<(), EraseError> {
    let id = &state.id;
    let mut add = |place, number, command| {
        held.push(StillHeld { conversation: id.clone(), place, number, command });
    };
    if pattern.is_in(id.as_str()) {
        add(HeldIn::Name, None, None);
    }
    if let Some(last) = ViewId::new(state.views) {
        for view in parts.store.views(id, ViewId::FIRST, last).await? {
            let body = &view.body;
            let titles = body.elsewhere.iter().filter_map(|other| other.title.as_ref());
            let matches = pattern.is_in(&body.question) || titles.into_iter().any(|title| pattern.is_in(title));
            if matches && !body.may_hold(&target.nodes, &[]) {
                let asked_before = (body.nodes + 1).min(state.nodes);
                add(HeldIn::View, Some(view.id.get()), Some(format!("memory erase -c {id} {asked_before}")));
            }
        }
    }
    let ids: Vec<_> =
        (1..=parts.store.changes(id, Revision::default()).await?.last_summary).filter_map(SummaryId::new).collect();
    for summary in parts.store.whole_summaries_of(id, &ids).await? {
        let span = summary.body.span;
        let by = &summary.body.written_by;
        let mut texts =
            [&summary.body.text, &by.strategy, &by.version].into_iter().chain(&summary.body.metadata.topics);
        if texts.any(|text| pattern.is_in(text)) && !target.nodes.iter().any(|run| run.common(span).is_some()) {
            add(HeldIn::Summary, Some(summary.id.get()), Some(format!("memory erase -c {id} {span}")));
        }
    }
    Ok(())
}
