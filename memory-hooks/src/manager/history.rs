//! A view of the summary tree: a cut through it that fits its share of a budget.

use std::{collections::HashMap, error::Error};

use memory_core::{
    Node, NodeId, NodeRange, Summary, SummaryId,
    plan::{Cut, CutPiece, PlanError},
    port::{
        Losses, ManagedView, Notice, PlanRequest, Query, Scope, ShrinkScope, StoreError, ViewBody, ViewPiece,
        ViewRequest,
    },
};

use super::compacting::{self, Outcome};
use crate::{
    MemoryError, PromptOptions,
    ports::Ports,
    prompt::{PieceKind, end},
    render::{self, Body, Part, summary_part},
    shorten,
    snapshot_cache::Snapshot,
};

/// The view of the conversation in `snapshot`.
pub(super) async fn view(
    ports: &Ports,
    request: &ViewRequest<'_>,
    snapshot: Snapshot,
    notices: Vec<Notice>,
) -> Result<ManagedView, MemoryError> {
    let hits = hits(ports, request).await?;
    let (unshortened, due, longest_result) = (snapshot.clone(), snapshot.clone(), request.longest_result);
    let mut history = History { ports, request, snapshot, unshortened, due, hits, longest_result, hidden: 0, notices };
    let shown = history.history().await?;
    Ok(ManagedView::new(history.snapshot.tree.total(), shown.shown.into_iter().filter_map(piece).collect())
        .verbatim(shown.verbatim)
        .longest_result(history.longest_result)
        .losses(shown.losses)
        .notices(history.notices))
}

/// The messages that bear on the question, best first; none if the strategy asks for none.
async fn hits(ports: &Ports, request: &ViewRequest<'_>) -> Result<Vec<NodeId>, MemoryError> {
    let most = ports.strategy.hits();
    let Some(retriever) = ports.retriever.as_ref().filter(|_| most > 0 && !request.question.trim().is_empty()) else {
        return Ok(Vec::new());
    };
    let query = Query::new(request.question, Scope::one(request.conversation)).limit(most);
    let found = retriever.search(&query).await?;
    Ok(found.hits.iter().map(|hit| hit.node.id).collect())
}

/// The history's part of a prompt.
#[derive(Clone)]
struct HistoryPart {
    /// Nodes shown verbatim.
    verbatim: Vec<NodeRange>,
    shown: Vec<Part>,
    /// Tokens of the lead line and the pieces.
    tokens: u32,
    /// Nodes that cannot be read.
    losses: Losses,
}

struct History<'a> {
    ports: &'a Ports,
    request: &'a ViewRequest<'a>,
    /// The conversation, with its last turn shortened as shown.
    snapshot: Snapshot,
    /// The conversation with its last turn unshortened.
    unshortened: Snapshot,
    /// The conversation with due summaries, and none for this view.
    due: Snapshot,
    /// Messages that bear on the question, best first.
    hits: Vec<NodeId>,
    longest_result: Option<u32>,
    /// Tokens of the last turn that are not shown.
    hidden: u32,
    notices: Vec<Notice>,
}

impl History<'_> {
    fn count(&self, text: &str) -> u32 {
        self.ports.count(text)
    }

    /// Tokens of the prompt that shows this history alone.
    fn tokens_of(&self, history: &HistoryPart) -> u32 {
        let pieces: Vec<_> = history.shown.iter().cloned().filter_map(piece).collect();
        (self.request.tokens_of)(&pieces)
    }

    /// The history within its share of the budget; the coarsest possible one if that needs more.
    ///
    /// The lines of the question name the shown speakers, so their cost follows from the history: if both exceed the
    /// budget, the history is made again for a longer question.
    async fn history(&mut self) -> Result<HistoryPart, MemoryError> {
        let (mut question, notices) = (self.request.question_tokens, self.notices.len());
        loop {
            let history = self.history_with_question(question).await?;
            let excess = self.tokens_of(&history).saturating_sub(self.request.budget);
            if excess == 0 {
                return Ok(history);
            }
            question = question.saturating_add(excess);
            self.snapshot = self.unshortened.clone();
            self.longest_result = self.request.longest_result;
            self.notices.truncate(notices);
        }
    }

    /// [`Self::history`] next to a question of `question` tokens.
    async fn history_with_question(&mut self, question: u32) -> Result<HistoryPart, MemoryError> {
        let options = PromptOptions::new(self.request.budget)
            .history_share(self.request.history_share.max(self.ports.strategy.history_share()));
        let beside = question.saturating_add(self.request.elsewhere_tokens);
        if let Some(whole) = self.everything(self.request.budget.saturating_sub(beside)).await? {
            return Ok(whole);
        }
        self.write_due().await;
        self.shorten_last_turn();
        let ceiling = options.history_ceiling(question).saturating_sub(self.request.standing_tokens);
        let limit = options.history_limit(&self.snapshot.tree, question, self.request.recalls).min(ceiling);
        let trouble = match self.fit(limit, ShrinkScope::BeforeEnd).await? {
            Ok(history) => return self.with_end(history, ceiling).await,
            Err(trouble) => trouble,
        };
        // The end takes the room of recalled words before it is summarized.
        let mut coarse = self.render(&self.smallest()?).await?;
        while self.hidden > 0
            && let Some(excess) = coarse.tokens.checked_sub(ceiling).filter(|excess| *excess > 0)
            && let Some(shorter) = end::shorter(&self.snapshot.tree, self.longest_result, excess)
        {
            self.shorten_last_turn_to(shorter);
            coarse = self.render(&self.smallest()?).await?;
        }
        if coarse.tokens <= ceiling {
            let wider = self.history_within(coarse.tokens.max(limit)).await?;
            self.notices.extend(trouble.map(|error| failed(&error)));
            return self.with_end(wider.unwrap_or(coarse), ceiling).await;
        }
        if trouble.is_some() {
            return self.coarsest_history(trouble).await;
        }
        if let Ok(history) = self.fit(ceiling, ShrinkScope::MergeBeforeEnd).await? {
            return Ok(history);
        }
        match self.fit(ceiling, ShrinkScope::All).await? {
            Ok(history) => Ok(history),
            Err(trouble) => self.coarsest_history(trouble).await,
        }
    }

    /// Writes due summaries, so that the tree is that of the conversation's length. On failure the view uses the
    /// existing ones.
    async fn write_due(&mut self) {
        match compacting::compact(self.ports, self.request.conversation, &()).await {
            Ok(Outcome { snapshot, refused, .. }) => {
                self.snapshot = snapshot.clone();
                self.unshortened = snapshot.clone();
                self.due = snapshot;
                if let Some(error) = refused {
                    self.note(&error).await;
                }
            }
            Err(error) => self.ports.report_failure(self.request.conversation, &error).await,
        }
    }

    /// The history with its last turn verbatim, if that fits. A smaller budget may have summarized the end, also
    /// together with older messages: restoring it takes more room.
    async fn with_end(&self, history: HistoryPart, ceiling: u32) -> Result<HistoryPart, MemoryError> {
        if self.shows_end(&history) {
            return Ok(history);
        }
        let end = end::tokens(&self.snapshot.tree, self.request.budget);
        for limit in [history.tokens.saturating_add(end).min(ceiling), ceiling] {
            if let Ok(wider) = self.history_within(limit).await?
                && self.shows_end(&wider)
            {
                return Ok(wider);
            }
        }
        Ok(history)
    }

    /// A history of at most `limit` tokens, with summaries written until it fits; otherwise the reason why no more were
    /// written, if that is a failure.
    async fn fit(
        &mut self,
        limit: u32,
        scope: ShrinkScope,
    ) -> Result<Result<HistoryPart, Option<MemoryError>>, MemoryError> {
        // If not even the question fits, shrinking the history is pointless.
        let mut may_shrink = self.request.question_tokens < self.request.budget;
        loop {
            let target = match self.history_within(limit).await? {
                Ok(history) => return Ok(Ok(history)),
                Err(_) if !may_shrink => return Ok(Err(None)),
                Err(target) => target,
            };
            let target = target.saturating_add(self.hidden);
            let (ports, conversation) = (self.ports, self.request.conversation);
            let shrunk = if ports.strategy.keeps_shrunk() {
                compacting::shrink(ports, conversation, target, scope).await
            } else {
                compacting::shrink_for_view(ports, conversation, self.unshortened.clone(), target, scope).await
            };
            match shrunk {
                Ok(Outcome { report, snapshot, refused }) => {
                    may_shrink = report.tokens_after < report.tokens_before;
                    self.snapshot = snapshot.clone();
                    self.unshortened = snapshot;
                    if let Some(error) = refused {
                        self.note(&error).await;
                    }
                }
                Err(error) => {
                    self.ports.report_failure(self.request.conversation, &error).await;
                    self.snapshot = self.unshortened.clone();
                    self.shorten_last_turn();
                    let history = self.history_within(limit).await?;
                    return Ok(history.map_err(|_| Some(error)));
                }
            }
            self.shorten_last_turn();
        }
    }

    /// Notes once why summaries were not recorded.
    async fn note(&mut self, refused: &StoreError) {
        let notice = failed(refused);
        if !self.notices.contains(&notice) {
            self.ports.report_failure(self.request.conversation, refused).await;
            self.notices.push(notice);
        }
    }

    /// True if the last turn is shown verbatim.
    fn shows_end(&self, history: &HistoryPart) -> bool {
        let is_shown = |turn: NodeRange| history.verbatim.iter().any(|run| run.covers(turn));
        end::last_turn(&self.snapshot.tree).is_none_or(is_shown)
    }

    /// Tokens of the line above a summarized history.
    fn lead(&self) -> u32 {
        render::history_lines(&[]).iter().map(|line| self.count(line)).sum()
    }

    /// Shortens the last turn to heads and tails if it would take more than its share of the budget.
    fn shorten_last_turn(&mut self) {
        self.hidden = 0;
        if let Some(longest) = end::longest(&self.snapshot.tree, self.request.budget) {
            self.shorten_last_turn_to(longest);
        }
    }

    fn shorten_last_turn_to(&mut self, longest: u32) {
        let longest = self.longest_result.map_or(longest, |most| most.min(longest));
        self.longest_result = Some(longest);
        if let Some(turn) = end::last_turn(&self.snapshot.tree) {
            self.hidden = self.hidden.saturating_add(self.snapshot.tree.shorten(turn, longest));
        }
    }

    /// The coarsest history, if it fits next to the question, with the last turn as short as needed; otherwise
    /// `trouble`, the reason why no coarser one exists, or the tokens needed.
    async fn coarsest_history(&mut self, trouble: Option<MemoryError>) -> Result<HistoryPart, MemoryError> {
        let (mut history, mut needed) = self.coarsest().await?;
        let may_fit = self.request.question_tokens < self.request.budget;
        if needed > self.request.budget && may_fit && trouble.is_none() && !self.ports.strategy.keeps_shrunk() {
            // The coarsest tree depends on the steps that led to it. These are the same for every budget, so that a
            // budget of the tokens in the error is enough.
            let (conversation, due) = (self.request.conversation, self.due.clone());
            let shrunk = compacting::shrink_for_view(self.ports, conversation, due, 0, ShrinkScope::All).await?;
            self.snapshot = shrunk.snapshot;
            self.longest_result = self.request.longest_result;
            self.shorten_last_turn();
            (history, needed) = self.coarsest().await?;
        }
        // Summaries of few messages may cost more than the messages, because of the line about summaries.
        let whole = self.everything(needed).await?.map(|whole| (self.tokens_of(&whole), whole));
        let (history, needed) = match whole {
            Some((tokens, whole)) if tokens < needed => (whole, tokens),
            _ => (history, needed),
        };
        match trouble {
            _ if needed <= self.request.budget => {
                self.notices.extend(trouble.map(|error| failed(&error)));
                Ok(history)
            }
            Some(error) => Err(error),
            None => Err(PlanError::BudgetTooSmall { needed, budget: self.request.budget }.into()),
        }
    }

    /// The smallest cut of the present tree, with the last turn as short as needed, and the tokens of its prompt.
    async fn coarsest(&mut self) -> Result<(HistoryPart, u32), MemoryError> {
        loop {
            let cut = self.smallest()?;
            let history = self.render(&cut).await?;
            let needed = self.tokens_of(&history);
            let excess = needed.saturating_sub(self.request.budget);
            match end::shorter(&self.snapshot.tree, self.longest_result, excess) {
                Some(shorter) if excess > 0 => self.shorten_last_turn_to(shorter),
                _ => return Ok((history, needed)),
            }
        }
    }

    /// Every message verbatim, if that costs at most `limit`.
    async fn everything(&self, limit: u32) -> Result<Option<HistoryPart>, MemoryError> {
        let tree = &self.snapshot.tree;
        let Some(all) = self.ports.strategy.whole(tree).filter(|_| tree.tokens() <= u64::from(limit)) else {
            return Ok(None);
        };
        let history = self.render(&all).await?;
        Ok(Some(history).filter(|history| history.tokens <= limit))
    }

    /// A history whose rendered text has at most `limit` tokens; otherwise the estimate that the coarsest view must
    /// reach for one to exist.
    async fn history_within(&self, limit: u32) -> Result<Result<HistoryPart, u32>, MemoryError> {
        let mut estimate = limit.saturating_sub(self.lead());
        loop {
            let cut = match self.plan(estimate) {
                Ok(cut) => cut,
                Err(PlanError::BudgetTooSmall { .. }) => return Ok(Err(estimate)),
                Err(error) => return Err(error.into()),
            };
            let history = self.render(&cut).await?;
            let Some(excess) = history.tokens.checked_sub(limit).filter(|excess| *excess > 0) else {
                return Ok(Ok(history));
            };
            let lower = estimate.min(cut.tokens).saturating_sub(excess);
            if lower == 0 {
                return Ok(Err(0));
            }
            estimate = lower;
        }
    }

    fn plan(&self, budget: u32) -> Result<Cut, PlanError> {
        let request = PlanRequest::new(budget).prompt(self.request.budget).hits(&self.hits);
        let cut = self.ports.strategy.plan(&self.snapshot.tree, &request)?;
        Ok(cut.undissolved(&self.snapshot.tree))
    }

    /// The smallest cut.
    fn smallest(&self) -> Result<Cut, PlanError> {
        self.plan(self.ports.strategy.smallest(&self.snapshot.tree))
    }

    async fn render(&self, cut: &Cut) -> Result<HistoryPart, MemoryError> {
        let tree = &self.snapshot.tree;
        let mut summaries = self.summaries(cut).await?;
        let verbatim = cut.verbatim();
        let (mut words, mut losses) = (HashMap::new(), Losses::default());
        for run in &verbatim {
            let read = self.ports.store.readable_nodes(self.request.conversation, *run).await?;
            words.extend(read.nodes.into_iter().map(|node| (node.id, node)));
            losses.extend(&read.losses);
        }
        let mut shown = Vec::new();
        for piece in &cut.pieces {
            match *piece {
                CutPiece::Summary { id, span } => {
                    let Some(summary) = summaries.remove(&id) else {
                        shown.push(Part::lost(span, "its summary cannot be read any more"));
                        continue;
                    };
                    shown.push(summary_part(&self.snapshot, &self.snapshot.redactor, summary, summary_reason));
                }
                CutPiece::Omitted(run) => shown.push(Part::omitted(run, "it is outside the window")),
                CutPiece::Verbatim(run) => {
                    let whole = losses.rest_of(run);
                    for id in whole.iter().flat_map(|run| run.iter()) {
                        let Some(node) = words.remove(&id) else { continue };
                        let why = message_reason(&node, tree.leaf(id).is_none());
                        shown.push(Part::message(PieceKind::Message, self.shortened(node), why));
                    }
                    let why = "it cannot be read any more";
                    shown.extend(losses.within(run).map(|lost| Part::lost(lost, why)));
                }
            }
        }
        shown.sort_by_key(|part| part.nodes);
        let tokens = self.ports.counts.count_parts(&render::history_lines(&shown), self.ports.counter.as_ref());
        Ok(HistoryPart { verbatim, shown, tokens, losses })
    }

    /// The newest readable words of the summaries in a cut, by their places.
    async fn summaries(&self, cut: &Cut) -> Result<HashMap<SummaryId, Summary>, MemoryError> {
        let shown = |piece: &CutPiece| match piece {
            CutPiece::Summary { id, .. } => Some(*id),
            CutPiece::Verbatim(_) | CutPiece::Omitted(_) => None,
        };
        let words = |id: SummaryId| (self.snapshot.tree.words_for(id), id);
        let places: HashMap<_, _> = cut.pieces.iter().filter_map(shown).map(words).collect();
        let ids: Vec<_> = places.keys().copied().collect();
        let read = self.ports.store.summaries_of(self.request.conversation, &ids).await?;
        let all = read.into_iter().chain(self.snapshot.unrecorded.iter().cloned());
        Ok(all.filter_map(|summary| Some((*places.get(&summary.id)?, summary))).collect())
    }

    fn shortened(&self, node: Node) -> Node {
        let is_last_turn = end::last_turn(&self.snapshot.tree).is_some_and(|turn| turn.contains(node.id));
        shorten::shortened(node, self.longest_result, is_last_turn, self.ports.counter.as_ref())
    }
}

/// The view piece of a part.
fn piece(part: Part) -> Option<ViewPiece> {
    let body = match part.body {
        Body::Message(node) => ViewBody::Message(node),
        Body::Summary { summary, from, to, .. } => ViewBody::Summary { summary, from, to, source: part.source },
        Body::Lost => ViewBody::Lost(part.nodes),
        Body::Omitted => ViewBody::Omitted(part.nodes),
        // A history never has excerpts.
        Body::Excerpt { .. } => return None,
    };
    Some(ViewPiece::new(body, part.reason))
}

pub(super) fn failed(error: &dyn Error) -> Notice {
    Notice::CompactionFailed { why: error.to_string() }
}

fn summary_reason(summary: &Summary) -> String {
    let body = &summary.body;
    let messages = body.span.count();
    let unit = if messages == 1 { "message" } else { "messages" };
    format!("{} of {messages} {unit}, importance {:.2}, by {}", body.level, body.metadata.importance, body.written_by)
}

fn message_reason(node: &Node, is_recent: bool) -> String {
    if is_recent {
        "recent: not summarized yet".to_owned()
    } else if node.pinned {
        "pinned".to_owned()
    } else {
        format!("worth its tokens: importance {:.2}", node.importance)
    }
}
