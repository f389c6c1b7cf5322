//! Records of prompts.

use std::{collections::HashMap, sync::Arc};

use memory_core::{
    ConversationId, NodeRange, ViewId,
    port::{Event, Notice, Recorded, StoreError},
    proof::Salt,
    view::{Shown, ShownAttached, ShownElsewhere, ShownRun, View, ViewDraft, run_check, text_hash},
};

use super::{Piece, PieceKind, Prompt, PromptPart};
use crate::parts::Parts;

/// Records the view of a prompt, unless it equals the last recorded view. A view that cannot be recorded is still
/// shown.
pub(crate) async fn record(parts: &Parts, conversation: &ConversationId, prompt: &mut Prompt) {
    match recorded(parts, conversation, prompt).await {
        Ok(view) => prompt.view = Some(view),
        Err(StoreError::ReadOnly { place }) => tracing::debug!(%place, "no view is recorded"),
        Err(error) => {
            tracing::warn!(%conversation, %error, "a view was not recorded");
            prompt.notices.push(Notice::ViewNotRecorded { why: error.to_string() });
        }
    }
}

async fn recorded(parts: &Parts, conversation: &ConversationId, prompt: &Prompt) -> Result<ViewId, StoreError> {
    if let Some(last) = last(parts, conversation).await? {
        // Equal texts are recorded as one, as far as they are shown.
        let again = draft(parts, prompt, last.body.salt).at(last.body.at).erased(0);
        if again == last.body.clone().erased(0) {
            return Ok(last.id);
        }
    }
    let mut salt = Salt::default();
    getrandom::fill(&mut salt).map_err(|error| StoreError::Backend {
        backend: "the system's randomness",
        source: error.to_string().into(),
    })?;
    let body = draft(parts, prompt, salt);
    let answers = parts.store.record(conversation, vec![Event::View(Box::new(body.clone()))]).await?;
    let Some(Recorded::View(id)) = answers.first().copied() else {
        let source = "a view was answered with something else than its number".into();
        return Err(StoreError::Backend { backend: "the store", source });
    };
    parts.snapshots.note_recorded(conversation, Arc::new(View::new(id, body)));
    Ok(id)
}

/// The last recorded view, by this or another process.
async fn last(parts: &Parts, conversation: &ConversationId) -> Result<Option<Arc<View>>, StoreError> {
    let Some(id) = ViewId::new(parts.store.conversation(conversation).await?.views) else { return Ok(None) };
    if let Some(known) = parts.snapshots.recorded(conversation).filter(|known| known.id == id) {
        return Ok(Some(known));
    }
    Ok(parts.store.views(conversation, id, id).await?.pop().map(Arc::new))
}

fn draft(parts: &Parts, prompt: &Prompt, salt: Salt) -> ViewDraft {
    let history = prompt.pieces.iter().filter(|piece| piece.kind.is_history());
    let beside = |piece: &&Piece| {
        matches!(piece.kind.part(), PromptPart::Standing | PromptPart::Recalled) && piece.conversation.is_none()
    };
    // Pieces before a later message are attached to that message.
    let end = prompt.pieces.iter().rposition(|piece| piece.kind.is_history()).map_or(0, |last| last + 1);
    let (inside, after) = prompt.pieces.split_at_checked(end).unwrap_or_default();
    let recalled = after.iter().filter(beside);
    let mut chosen_by = parts.strategy.identity();
    if let Some(model) = &prompt.judged_by {
        chosen_by.strategy = format!("{}, judged by {model}", chosen_by.strategy);
    }
    ViewDraft::new(prompt.now, prompt.nodes, prompt.layout.version(), chosen_by, salt, text_hash(&salt, prompt.text()))
        .budget(prompt.budget)
        .tokens(prompt.tokens)
        .counter(parts.counter.name().to_owned())
        .longest_result(prompt.longest_result)
        .history(runs(history, &salt))
        .recalled(runs(recalled, &salt))
        .elsewhere(elsewhere(prompt, &salt))
        .attached(attached(inside, &salt))
        .question(prompt.question().to_owned())
        .erased(prompt.erased.iter().map(|run| run.count()).sum())
}

/// The shown messages of other conversations.
fn elsewhere(prompt: &Prompt, salt: &Salt) -> Vec<ShownElsewhere> {
    let headings: HashMap<_, _> =
        prompt.parts.iter().filter_map(|part| Some((part.conversation()?, part.elsewhere.as_ref()?))).collect();
    let others: Vec<_> = prompt.pieces.iter().filter(|piece| piece.conversation.is_some()).collect();
    let of_one = |pieces: &[&Piece]| {
        let heading = headings.get(pieces.first()?.conversation.as_ref()?)?;
        let shown = ShownElsewhere::new(heading.conversation.clone(), runs(pieces.iter().copied(), salt));
        Some(shown.title(heading.title.clone()).times(heading.times))
    };
    others.chunk_by(|a, b| a.conversation == b.conversation).filter_map(of_one).collect()
}

/// Pieces between those of the history, by the message that they stand before.
fn attached(pieces: &[Piece], salt: &Salt) -> Vec<ShownAttached> {
    let groups: Vec<_> = pieces.chunk_by(|a, b| a.kind.is_history() == b.kind.is_history()).collect();
    let of_group = |pair: &[&[Piece]]| {
        let [group, after] = pair else { return None };
        let before = after.first().filter(|piece| piece.kind.is_history())?.nodes?.first();
        Some(ShownAttached::new(before, runs(group.iter(), salt)))
    };
    groups.windows(2).filter_map(of_group).collect()
}

/// Pieces as runs, which reproduce exactly these pieces.
fn runs<'a>(pieces: impl Iterator<Item = &'a Piece>, salt: &Salt) -> Vec<ShownRun> {
    let mut runs: Vec<(Shown, Vec<&str>)> = Vec::new();
    for piece in pieces {
        let Some(next) = shown(piece) else { continue };
        let joined = runs.last().and_then(|(last, _)| join(*last, next));
        match (runs.last_mut(), joined) {
            (Some((last, texts)), Some(joined)) => {
                *last = joined;
                texts.push(&piece.text);
            }
            _ => runs.push((next, vec![&piece.text])),
        }
        if let Some((by, nodes)) = piece.changed_by.zip(piece.nodes) {
            runs.push((Shown::Changed { node: nodes.first(), by }, Vec::new()));
        }
    }
    runs.into_iter().map(|(shown, texts)| ShownRun { shown, check: run_check(salt, texts) }).collect()
}

fn shown(piece: &Piece) -> Option<Shown> {
    match piece.kind {
        PieceKind::Message => piece.nodes.map(Shown::Messages),
        PieceKind::Recalled => {
            let nodes = piece.nodes?;
            Some(piece.excerpt.as_ref().map_or(Some(Shown::Messages(nodes)), |part| {
                let (at, bytes) = (u32::try_from(part.start).ok()?, u32::try_from(part.len()).ok()?);
                Some(Shown::Part { node: nodes.first(), at, bytes })
            })?)
        }
        PieceKind::Summary(_) => piece.summary.map(|first| Shown::Summaries { first, count: 1 }),
        PieceKind::Lost => piece.nodes.map(Shown::Lost),
        PieceKind::Omitted => piece.nodes.map(Shown::Omitted),
        PieceKind::Disabled => piece.nodes.map(Shown::Disabled),
        PieceKind::Standing => {
            let (node, part) = (piece.nodes?.first(), piece.excerpt.as_ref()?);
            let (at, bytes) = (u32::try_from(part.start).ok()?, u16::try_from(part.len()).ok()?);
            Some(Shown::Excerpt { node, at, bytes })
        }
        PieceKind::Entry => piece.note.map(Shown::Entry),
        PieceKind::Question => None,
    }
}

fn join(last: Shown, next: Shown) -> Option<Shown> {
    match (last, next) {
        (Shown::Messages(last), Shown::Messages(next)) if last.is_followed_by(next) => {
            NodeRange::new(last.first(), next.last()).map(Shown::Messages)
        }
        (Shown::Summaries { first, count }, Shown::Summaries { first: next, count: 1 })
            if first.get() + count == next.get() =>
        {
            Some(Shown::Summaries { first, count: count + 1 })
        }
        _ => None,
    }
}
