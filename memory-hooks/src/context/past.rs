//! What a model was shown, written out once more.

use std::collections::HashMap;

use memory_core::{
    ConversationId, Losses, NodeRange, Shown, ShownRun, Summary, SummaryId, View, ViewDraft, run_check, text_hash,
};

use super::{Context, Piece, PieceKind, assembly::compose};
use crate::{
    Difference, MemoryError, ViewError, followed::Snapshot, kept_out::Redactor, memory::Parts, render, shorten,
};

/// The context that a view recorded, byte for byte.
///
/// # Errors
/// [`ViewError`] when it cannot be, with everything that differs from what was shown.
pub(crate) async fn rebuild(parts: &Parts, conversation: &ConversationId, view: View) -> Result<Context, MemoryError> {
    let View { id, body } = view;
    if body.layout != render::VERSION {
        let (layout, known) = (body.layout, render::VERSION);
        return Err(ViewError::OtherLayout { conversation: conversation.clone(), view: id, layout, known }.into());
    }
    if body.longest_result.is_some() && body.counter != parts.counter.name() {
        let (counter, ours) = (body.counter, parts.counter.name().to_owned());
        return Err(ViewError::OtherCounter { conversation: conversation.clone(), view: id, counter, ours }.into());
    }
    let snapshot = Snapshot::read(parts, conversation).await?;
    let redactor = snapshot.redactor_of(parts, conversation, body.nodes).await?;
    let mut past = Past { parts, conversation, body: &body, redactor: &redactor, differences: Vec::new() };
    let shown = body.history.iter().map(|run| run.shown.pieces()).fold(0, u64::saturating_add);
    if shown > body.nodes || body.nodes > snapshot.tree.total() {
        // No more is read for a record than its conversation can hold.
        past.differences.push(Difference::Conversation { nodes: snapshot.tree.total(), then: body.nodes });
    } else {
        let mut pieces = past.pieces(&body.history, PieceKind::Message).await?;
        pieces.extend(past.pieces(&body.recalled, PieceKind::Recalled).await?);
        let line = format!("{}{}", render::QUESTION, body.question);
        pieces.push(past.piece(PieceKind::Question, None, line));
        let text = compose(&pieces).concat();
        if past.differences.is_empty() && text_hash(&body.salt, &text) != body.hash {
            past.differences.push(Difference::Question);
        }
        if past.differences.is_empty() {
            let then = usize::try_from(body.nodes).unwrap_or(usize::MAX);
            return Ok(Context {
                pieces,
                tokens: body.tokens,
                budget: body.budget,
                nodes: body.nodes,
                full_tokens: snapshot.tree.nodes().take(then).map(|node| u64::from(node.tokens)).sum(),
                notices: Vec::new(),
                reductions: Vec::new(),
                view: Some(id),
                longest_result: body.longest_result,
                text,
            });
        }
    }
    let differences = past.differences;
    Err(ViewError::Differs { conversation: conversation.clone(), view: id, differences }.into())
}

struct Past<'a> {
    parts: &'a Parts,
    conversation: &'a ConversationId,
    body: &'a ViewDraft,
    /// What struck out kept-out content then.
    redactor: &'a Redactor,
    /// What is not as it was shown.
    differences: Vec<Difference>,
}

impl Past<'_> {
    fn piece(&self, kind: PieceKind, nodes: Option<NodeRange>, text: String) -> Piece {
        let tokens = self.parts.count(&text);
        Piece { kind, nodes, summary: None, tokens, why: "shown then".to_owned(), text }
    }

    /// The pieces of these runs, messages as pieces of this kind.
    async fn pieces(&mut self, runs: &[ShownRun], kind: PieceKind) -> Result<Vec<Piece>, MemoryError> {
        let mut pieces = Vec::new();
        for run in runs {
            let known = self.differences.len();
            let of_run = match run.shown {
                Shown::Messages(nodes) => self.messages(nodes, kind).await?,
                Shown::Summaries { first, count } => self.summaries(first, count).await?,
                Shown::Lost(nodes) => vec![self.piece(PieceKind::Lost, Some(nodes), render::lost_line(nodes))],
            };
            let check = run_check(&self.body.salt, of_run.iter().map(|piece| piece.text.as_str()));
            if known == self.differences.len() && check != run.check {
                self.differences.push(Difference::Text(run.shown));
            }
            pieces.extend(of_run);
        }
        Ok(pieces)
    }

    async fn messages(&mut self, run: NodeRange, kind: PieceKind) -> Result<Vec<Piece>, MemoryError> {
        let read = self.parts.store.readable_nodes(self.conversation, run).await?;
        self.note_lost(&read.losses);
        let (longest, counter) = (self.body.longest_result, self.parts.counter.as_ref());
        let line = |node| shorten::message_line(node, longest, counter);
        Ok(read.nodes.iter().map(|node| self.piece(kind, Some(NodeRange::single(node.id)), line(node))).collect())
    }

    fn note_lost(&mut self, losses: &Losses) {
        let why = losses.notice(self.conversation).unwrap_or_default();
        self.differences.extend(losses.runs().iter().map(|run| Difference::Lost { nodes: *run, why: why.clone() }));
    }

    async fn summaries(&mut self, first: SummaryId, count: u64) -> Result<Vec<Piece>, MemoryError> {
        let ids = (first.get()..).take(usize::try_from(count).unwrap_or(usize::MAX)).filter_map(SummaryId::new);
        let ids: Vec<_> = ids.collect();
        let read = self.parts.store.summaries_of(self.conversation, &ids).await?;
        let read: HashMap<SummaryId, Summary> = read.into_iter().map(|summary| (summary.id, summary)).collect();
        let mut pieces = Vec::with_capacity(ids.len());
        for id in ids {
            let Some(summary) = read.get(&id) else {
                self.differences.push(Difference::LostSummary(id));
                continue;
            };
            let kind = PieceKind::Summary(summary.body.level);
            let text = render::summary_line(summary, self.redactor);
            let piece = self.piece(kind, Some(summary.body.span), text);
            pieces.push(Piece { summary: Some(id), ..piece });
        }
        Ok(pieces)
    }
}
