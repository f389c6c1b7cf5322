//! A view of the summary tree: a cut through it that fits its share of a budget.

use std::{collections::HashMap, error::Error};

use memory_core::{
    Node, NodeId, NodeRange, Summary, SummaryId,
    plan::{Cut, CutPiece, PlanError, Tree},
    port::{
        Losses, ManagedView, Notice, PlanRequest, Query, Scope, ShrinkScope, StoreError, ViewBody, ViewPiece,
        ViewRequest,
    },
};

use super::compacting::{self, Outcome};
use crate::{
    MemoryError,
    ports::Ports,
    prompt::{end, history_ceiling, share_of},
    run_facts::RunFacts,
    snapshot_cache::Snapshot,
};

/// The view of the conversation in `snapshot`.
pub(super) async fn view(
    ports: &Ports,
    request: &ViewRequest<'_>,
    mut snapshot: Snapshot,
    notices: Vec<Notice>,
) -> Result<ManagedView, MemoryError> {
    let hits = hits(ports, request).await?;
    end::limit(&mut snapshot, request.reply);
    let (unshortened, due, longest_result) = (snapshot.clone(), snapshot.clone(), request.longest_result);
    let mut history = History { ports, request, snapshot, unshortened, due, hits, longest_result, notices };
    let shown = history.history().await?;
    Ok(ManagedView::new(history.snapshot.tree.total(), shown.pieces)
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
    pieces: Vec<ViewPiece>,
    /// Tokens of the lead line and the pieces.
    tokens: u32,
    /// Nodes that cannot be read.
    losses: Losses,
}

/// Share of the budget for messages before the end of a conversation.
const OLDER: f32 = 0.05;
/// Fewest tokens for these messages, since with fewer each message would need new summaries.
const FEWEST: u32 = 256;
/// Largest share of a budget that [`FEWEST`] may take.
const SMALL: f32 = 0.35;

/// Most plans of one view, each for another estimate of its cost.
const TRIES: usize = 12;

struct History<'a> {
    ports: &'a Ports,
    request: &'a ViewRequest<'a>,
    /// The conversation, with texts shortened as shown.
    snapshot: Snapshot,
    /// The conversation before the last limit on texts was applied.
    unshortened: Snapshot,
    /// The conversation with due summaries, and none for this view.
    due: Snapshot,
    /// Messages that bear on the question, best first.
    hits: Vec<NodeId>,
    longest_result: Option<u32>,
    notices: Vec<Notice>,
}

impl History<'_> {
    /// Tokens of the prompt that shows only this history.
    fn tokens_of(&self, history: &HistoryPart) -> u32 {
        (self.request.tokens_of)(&history.pieces, self.longest_result)
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
        let budget = self.request.budget;
        let beside = question.saturating_add(self.request.elsewhere_tokens);
        if let Some(whole) = self.everything(budget.saturating_sub(beside)).await? {
            return Ok(whole);
        }
        self.write_due().await;
        self.shorten_last_turn();
        let ceiling = history_ceiling(budget, question).saturating_sub(self.request.standing_tokens);
        let share = share_of(budget, self.ports.strategy.history_share());
        let older = share_of(budget, OLDER).max(FEWEST.min(share_of(budget, SMALL)));
        let end = end::tokens(&self.snapshot.tree).saturating_add(older);
        let limit = self.request.most.max(share).max(end).min(ceiling);
        let base = self.ports.strategy.base_share();
        let coarse = share_of(budget, base).max(end).min(ceiling);
        if base > 0.0 && coarse < limit {
            // Selected messages have the room that those without summaries leave. Where too few summaries can be
            // written, the next fit says why.
            let _ = self.fit(coarse, ShrinkScope::BeforeEnd).await?;
        }
        let trouble = match self.fit(limit, ShrinkScope::BeforeEnd).await? {
            Ok(history) => return self.with_end(history, ceiling).await,
            Err(trouble) => trouble,
        };
        // Next to recall even a single summary of the past is better than several.
        let recalls = self.ports.retriever.is_some() && self.ports.strategy.recalls();
        let recalls = recalls && !self.request.question.is_empty();
        if trouble.is_none()
            && recalls
            && let Ok(history) = self.fit(limit, ShrinkScope::MergeBeforeEnd).await?
        {
            return self.with_end(history, ceiling).await;
        }
        // The end takes the room of recalled words before it is summarized.
        let mut coarse = self.render(&self.smallest()?).await?;
        while self.hidden() > 0
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
        if !self.ports.prompts_wait {
            return;
        }
        match compacting::compact(self.ports, self.request.conversation, &()).await {
            Ok(Outcome { snapshot, refused, .. }) => {
                self.take(snapshot);
                self.due = self.snapshot.clone();
                if let Some(error) = refused {
                    self.note(&error).await;
                }
            }
            Err(error) => self.ports.report_failure(self.request.conversation, &error).await,
        }
    }

    /// The history with its end verbatim, if that fits. A smaller budget may have summarized the end, also
    /// together with older messages: restoring it takes more room.
    async fn with_end(&self, history: HistoryPart, ceiling: u32) -> Result<HistoryPart, MemoryError> {
        if self.shows_end(&history) {
            return Ok(history);
        }
        let end = end::tokens(&self.snapshot.tree);
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
            let (ports, conversation) = (self.ports, self.request.conversation);
            let shrunk = if ports.strategy.keeps_shrunk() {
                // The tree that stays counts whole texts.
                compacting::shrink(ports, conversation, target.saturating_add(self.hidden()), scope).await
            } else {
                compacting::shrink_for_view(ports, conversation, self.snapshot.clone(), target, scope).await
            };
            match shrunk {
                Ok(Outcome { report, snapshot, refused }) => {
                    may_shrink = report.tokens_after < report.tokens_before;
                    self.take(snapshot);
                    if let Some(error) = refused {
                        self.note(&error).await;
                    }
                }
                Err(error) => {
                    self.ports.report_failure(self.request.conversation, &error).await;
                    return Ok(Err(Some(error)));
                }
            }
            self.shorten_last_turn();
        }
    }

    /// Goes on with another tree of the conversation.
    fn take(&mut self, mut snapshot: Snapshot) {
        end::limit(&mut snapshot, self.request.reply);
        self.unshortened = snapshot.clone();
        self.snapshot = snapshot;
    }

    /// Notes once why summaries were not recorded.
    async fn note(&mut self, refused: &StoreError) {
        let notice = failed(refused);
        if !self.notices.contains(&notice) {
            self.ports.report_failure(self.request.conversation, refused).await;
            self.notices.push(notice);
        }
    }

    /// True if the end is shown verbatim.
    fn shows_end(&self, history: &HistoryPart) -> bool {
        let is_shown = |end: NodeRange| history.verbatim.iter().any(|run| run.covers(end));
        self.snapshot.tree.end().is_none_or(is_shown)
    }

    /// Tokens of the line above a history.
    fn lead(&self) -> u32 {
        (self.request.tokens_of)(&[], None).saturating_sub(self.request.question_tokens)
    }

    /// Limits the texts of the last turn to what the messages after the user's one may take.
    fn shorten_last_turn(&mut self) {
        let reply = self.request.reply.min(self.request.budget);
        if reply < self.request.budget {
            self.shorten_last_turn_to(end::longest(&self.snapshot.tree, reply));
        }
    }

    fn shorten_last_turn_to(&mut self, longest: u32) {
        let longest = self.longest_result.map_or(longest, |most| most.min(longest));
        self.longest_result = Some(longest);
        let limits = end::limits(&self.snapshot.tree, longest, self.request.budget);
        for node in end::shortened(&self.snapshot.tree) {
            if let Some(most) = limits.of(node) {
                self.snapshot.tree_mut().shorten(node, most);
            }
        }
    }

    /// Tokens of messages without summaries that are not shown.
    fn hidden(&self) -> u32 {
        let tree = &self.snapshot.tree;
        let tokens = |tree: &Tree, node| tree.node(node).map_or(0, |node| node.tokens);
        let messages = end::shortened(tree).filter(|node| tree.leaf(*node).is_none());
        messages.map(|node| tokens(&self.due.tree, node).saturating_sub(tokens(tree, node))).sum()
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
            self.take(shrunk.snapshot);
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
        // Plans cost more or less when they are written out: the finest that fits, and the coarsest that does not.
        let mut best: Option<(Tried, HistoryPart)> = None;
        let mut over: Option<Tried> = None;
        for _ in 0..TRIES {
            let cut = match self.plan(estimate) {
                Ok(cut) => cut,
                Err(PlanError::BudgetTooSmall { .. }) => break,
                Err(error) => return Err(error.into()),
            };
            match (&mut best, &mut over) {
                // A plan that was written out before says only where the next one is.
                (Some((tried, _)), None) if tried.cut == cut => break,
                (Some((tried, _)), _) if tried.cut == cut => tried.estimate = estimate,
                (_, Some(tried)) if tried.cut == cut => tried.estimate = estimate,
                _ => {
                    let history = self.render(&cut).await?;
                    let tried = Tried { estimate, tokens: history.tokens, cut };
                    if tried.tokens > limit {
                        over = Some(tried);
                    } else {
                        let is_coarser = best.as_ref().is_some_and(|(best, _)| tried.tokens <= best.tokens);
                        let is_full = limit - tried.tokens <= limit / 40;
                        best = Some((tried, history));
                        if is_full || is_coarser && over.is_none() {
                            break;
                        }
                    }
                }
            }
            let before = estimate;
            estimate = next_estimate(best.as_ref().map(|(best, _)| best), over.as_ref(), limit);
            let is_known = best.as_ref().is_some_and(|(best, _)| estimate <= best.estimate.saturating_add(limit / 50));
            if estimate == 0 || estimate == before || is_known {
                break;
            }
        }
        Ok(best.map(|(_, history)| history).ok_or(estimate))
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
        let (mut pieces, mut disabled) = (Vec::new(), Vec::new());
        for piece in &cut.pieces {
            match *piece {
                // One line for a run, however many summaries say so.
                CutPiece::Summary { span, .. } if is_disabled(tree, span) => disabled.push(span),
                CutPiece::Summary { id, span } => pieces.push(match summaries.remove(&id) {
                    Some(summary) => self.summary(summary),
                    None => ViewPiece::new(ViewBody::Lost(span), "its summary cannot be read any more"),
                }),
                CutPiece::Omitted(run) => {
                    pieces.push(ViewPiece::new(ViewBody::Omitted(run), "it is outside the window"))
                }
                CutPiece::Verbatim(run) => {
                    let whole = losses.rest_of(run);
                    for id in whole.iter().flat_map(|run| run.iter()) {
                        let Some(node) = words.remove(&id) else { continue };
                        if node.is_disabled {
                            disabled.push(NodeRange::single(id));
                            continue;
                        }
                        let why = message_reason(&node, tree.leaf(id).is_none());
                        pieces.push(ViewPiece::new(ViewBody::Message(Box::new(node)), why));
                    }
                    let lost = |lost| ViewPiece::new(ViewBody::Lost(lost), "it cannot be read any more");
                    pieces.extend(losses.within(run).map(lost));
                }
            }
        }
        let hidden = |run| ViewPiece::new(ViewBody::Disabled(run), "it is disabled");
        pieces.extend(NodeRange::merge(disabled).into_iter().map(hidden));
        pieces.sort_by_key(ViewPiece::nodes);
        let tokens = (self.request.tokens_of)(&pieces, self.longest_result);
        let tokens = tokens.saturating_sub(self.request.question_tokens);
        Ok(HistoryPart { verbatim, pieces, tokens, losses })
    }

    fn summary(&self, summary: Summary) -> ViewPiece {
        let RunFacts { from, to, source } = self.snapshot.run_facts.of(&self.snapshot.tree, summary.body.span);
        let why = summary_reason(&summary);
        ViewPiece::new(ViewBody::Summary { summary: Box::new(summary), from, to, source }, why)
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
}

/// A plan that was written out.
struct Tried {
    /// Budget of the plan.
    estimate: u32,
    /// Tokens of its text.
    tokens: u32,
    cut: Cut,
}

/// Budget of the next plan: where the straight line between what fits and what does not reaches `limit`, so that few
/// plans are needed.
fn next_estimate(best: Option<&Tried>, over: Option<&Tried>, limit: u32) -> u32 {
    // The text of half of the tokens that are accepted as a rest is aimed at.
    let aim = limit - limit / 80;
    let scaled = |from: u32, by: u32, of: u32| u64::from(from) * u64::from(by) / u64::from(of.max(1));
    let next = match (best, over) {
        (Some(best), Some(over)) => {
            let (span, rise) = (over.estimate.saturating_sub(best.estimate), over.tokens.saturating_sub(best.tokens));
            let step = scaled(span, aim.saturating_sub(best.tokens), rise);
            // The line may be steep at one end.
            u64::from(best.estimate) + step.clamp(u64::from(span / 8), u64::from(span - span / 8))
        }
        (Some(best), None) => {
            u64::from(best.estimate) + scaled(best.estimate, aim.saturating_sub(best.tokens), best.tokens)
        }
        (None, Some(over)) => {
            let most = over.estimate.min(over.cut.tokens);
            u64::from(most.saturating_sub(over.tokens.saturating_sub(limit)))
        }
        (None, None) => 0,
    };
    u32::try_from(next).unwrap_or(u32::MAX)
}

pub(super) fn failed(error: &dyn Error) -> Notice {
    Notice::CompactionFailed { why: error.to_string() }
}

/// True if all messages of a run are disabled.
fn is_disabled(tree: &Tree, run: NodeRange) -> bool {
    run.iter().all(|node| tree.node(node).is_some_and(|outline| outline.is_disabled))
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
