//! Assembles a prompt: first the history, from the budget alone; then the words recalled for the question.

mod recalled;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use memory_core::{
    ConversationId, Losses, Node, NodeOutline, NodeRange, Notice, Role, Summary, SummaryId,
    plan::{Cut, CutPiece, PlanError, coarsest, plan_merge_before_end, plan_shrink, plan_shrink_before_end},
};

use super::{PieceKind, Prompt, PromptOptions, SourceClass, end, standing};
use memory_strategies::StandingLines;

use crate::{
    MemoryError, RecallUsed,
    kept_out::Redactor,
    manager::hierarchical,
    parts::Parts,
    render::{self, Body, Layout, Part, Tail},
    shorten,
    snapshot_cache::Snapshot,
};

/// What joining two texts may cost beyond the sum of their tokens.
const SEAM: u32 = 4;

/// The request for a prompt.
#[derive(Clone, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) question: &'a str,
    pub(crate) options: PromptOptions,
    /// Most tokens of a tool result, and of a text of the last turn. A longer one is shown by its head and tail.
    pub(crate) longest_result: Option<u32>,
}

impl Request<'_> {
    /// The same request with another budget.
    pub(crate) fn within(&self, budget: u32) -> Self {
        Self { options: PromptOptions { budget, ..self.options.clone() }, ..*self }
    }
}

/// Assembles a prompt.
pub(crate) async fn assemble(
    parts: &Parts,
    conversation: &ConversationId,
    request: Request<'_>,
) -> Result<Prompt, MemoryError> {
    let Request { question, options, longest_result } = request;
    let (snapshot, notices) = if parts.queue.enqueue(conversation) {
        // A background worker does the compaction while the model replies. Its result is shown at the next turn.
        (Snapshot::read(parts, conversation).await?, Vec::new())
    } else {
        // Compaction by the thresholds is best effort: without it the prompt is coarser or a later step fails.
        match hierarchical::compact(parts, conversation, &()).await {
            Ok((report, snapshot)) => {
                (snapshot, report.is_left_to_another.then_some(Notice::CompactionElsewhere).into_iter().collect())
            }
            Err(error) => (Snapshot::read(parts, conversation).await?, vec![failed(&error)]),
        }
    };
    let now = options.now.unwrap_or_else(|| snapshot.tree.last_time());
    let tail = Tail { question, now };
    let question_tokens = parts.counter.count(&format!("\n\n{}", render::question_lines(&tail))).saturating_add(SEAM);
    let full_tokens = snapshot.tree.tokens();
    let mut assembly = Assembly {
        parts,
        conversation,
        tail,
        question_tokens,
        options,
        longest_result,
        snapshot,
        standing_lines: Arc::default(),
        full_tokens,
        hidden: 0,
        notices,
    };
    let history = assembly.history().await?;
    let prompt = assembly.recall_beside(&history).await?;
    assembly.announce(&prompt).await?;
    Ok(prompt)
}

/// The history's part of a prompt.
#[derive(Clone)]
struct HistoryPart {
    /// What is shown word for word.
    verbatim: Vec<NodeRange>,
    shown: Vec<Part>,
    /// Tokens of the lead line and the pieces.
    tokens: u32,
    /// The nodes of it that cannot be read.
    losses: Losses,
}

pub(super) struct Assembly<'a> {
    pub(super) parts: &'a Parts,
    pub(super) conversation: &'a ConversationId,
    pub(super) tail: Tail<'a>,
    /// The tokens that the question adds to a prompt, with a small reserve for joining texts.
    question_tokens: u32,
    pub(super) options: PromptOptions,
    longest_result: Option<u32>,
    /// The conversation, with its last turn shortened as it is shown.
    pub(super) snapshot: Snapshot,
    /// Instructions, preferences and decisions. Read only once not everything fits.
    pub(super) standing_lines: Arc<StandingLines>,
    /// Tokens of all messages.
    full_tokens: u64,
    /// Tokens of the last turn that are not shown.
    hidden: u32,
    notices: Vec<Notice>,
}

impl Assembly<'_> {
    pub(super) fn count(&self, text: &str) -> u32 {
        self.parts.count(text)
    }

    /// The history within its share of the budget; the coarsest possible one where that needs more.
    async fn history(&mut self) -> Result<HistoryPart, MemoryError> {
        let recalls = self.parts.retriever.is_some();
        if let Some(whole) = self.everything(self.options.budget.saturating_sub(self.question_tokens)).await? {
            return Ok(whole);
        }
        self.standing_lines = standing::lines(self.parts, self.conversation, &self.snapshot).await?;
        self.shorten_last_turn();
        let stands = !self.standing_lines.is_empty();
        let limit = self.options.history_limit(&self.snapshot.tree, self.question_tokens, recalls, stands);
        let ceiling = self.options.history_ceiling(self.question_tokens);
        let trouble = match self.fit(limit, plan_shrink_before_end).await? {
            Ok(history) if self.shows_end(&history) => return Ok(history),
            // A smaller budget had summarized the end together with older messages. Restoring it takes more room.
            Ok(history) => {
                let wider = self.history_within(ceiling).await?;
                return Ok(wider.ok().filter(|wider| self.shows_end(wider)).unwrap_or(history));
            }
            Err(trouble) => trouble,
        };
        // The end takes the room of recalled words before it is summarized.
        let mut coarse = self.render(&self.plan(coarsest(&self.snapshot.tree), None)?).await?;
        while self.hidden > 0
            && let Some(excess) = coarse.tokens.checked_sub(ceiling).filter(|excess| *excess > 0)
            && let Some(shorter) = end::shorter(&self.snapshot.tree, self.longest_result, excess)
        {
            self.shorten_last_turn_to(shorter);
            coarse = self.render(&self.plan(coarsest(&self.snapshot.tree), None)?).await?;
        }
        if coarse.tokens <= ceiling {
            let wider = self.history_within(coarse.tokens.max(limit)).await?;
            self.notices.extend(trouble.map(|error| failed(&error)));
            return Ok(wider.unwrap_or(coarse));
        }
        if trouble.is_some() {
            return self.coarsest_history(trouble).await;
        }
        if let Ok(history) = self.fit(ceiling, plan_merge_before_end).await? {
            return Ok(history);
        }
        match self.fit(ceiling, plan_shrink).await? {
            Ok(history) => Ok(history),
            Err(trouble) => self.coarsest_history(trouble).await,
        }
    }

    /// A history of at most `limit` tokens, with summaries written until it fits; otherwise the reason why no more were
    /// written, if that is a failure.
    async fn fit(
        &mut self,
        limit: u32,
        plan: hierarchical::Shrink,
    ) -> Result<Result<HistoryPart, Option<MemoryError>>, MemoryError> {
        // If not even the question fits, shrinking the history is pointless.
        let mut may_shrink = self.question_tokens < self.options.budget;
        loop {
            let target = match self.history_within(limit).await? {
                Ok(history) => return Ok(Ok(history)),
                Err(_) if !may_shrink => return Ok(Err(None)),
                Err(target) => target,
            };
            let before = self.snapshot.tree.summaries();
            let target = target.saturating_add(self.hidden);
            match hierarchical::shrink(self.parts, self.conversation, target, plan).await {
                Ok((_, snapshot)) => self.snapshot = snapshot,
                Err(error) => {
                    self.snapshot = Snapshot::read(self.parts, self.conversation).await?;
                    self.shorten_last_turn();
                    let history = self.history_within(limit).await?;
                    return Ok(history.map_err(|_| Some(error)));
                }
            }
            may_shrink = self.snapshot.tree.summaries() > before;
            self.shorten_last_turn();
        }
    }

    /// Whether the last turn is shown word for word.
    fn shows_end(&self, history: &HistoryPart) -> bool {
        let is_shown = |turn: NodeRange| history.verbatim.iter().any(|run| run.covers(turn));
        end::last_turn(&self.snapshot.tree).is_none_or(is_shown)
    }

    /// Tokens of the line above a history that is summarized.
    fn lead(&self) -> u32 {
        render::history_lines(&[]).iter().map(|line| self.count(line)).sum()
    }

    /// Shortens the last turn to heads and tails where it would take more than its share of the budget.
    fn shorten_last_turn(&mut self) {
        self.hidden = 0;
        if let Some(longest) = end::longest(&self.snapshot.tree, self.options.budget) {
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

    /// The coarsest history, if it fits beside the question, with the last turn as short as needed; otherwise
    /// `trouble`, the reason why no coarser one exists, or the tokens needed.
    async fn coarsest_history(&mut self, trouble: Option<MemoryError>) -> Result<HistoryPart, MemoryError> {
        let (history, needed) = loop {
            let cut = self.plan(coarsest(&self.snapshot.tree), None)?;
            let history = self.render(&cut).await?;
            let needed = self.close(&history, Vec::new()).tokens;
            let excess = needed.saturating_sub(self.options.budget);
            match end::shorter(&self.snapshot.tree, self.longest_result, excess) {
                Some(shorter) if excess > 0 => self.shorten_last_turn_to(shorter),
                _ => break (history, needed),
            }
        };
        // Summaries of few messages may cost more than the messages, because of the line about summaries.
        let whole = self.everything(needed).await?.map(|whole| (self.close(&whole, Vec::new()).tokens, whole));
        let (history, needed) = match whole {
            Some((tokens, whole)) if tokens < needed => (whole, tokens),
            _ => (history, needed),
        };
        match trouble {
            _ if needed <= self.options.budget => {
                self.notices.extend(trouble.map(|error| failed(&error)));
                Ok(history)
            }
            Some(error) => Err(error),
            None => Err(PlanError::BudgetTooSmall { needed, budget: self.options.budget }.into()),
        }
    }

    /// Every message word for word, if that costs at most `limit`.
    async fn everything(&self, limit: u32) -> Result<Option<HistoryPart>, MemoryError> {
        let tree = &self.snapshot.tree;
        let Some(all) = NodeRange::first_n(tree.total()).filter(|_| tree.tokens() <= u64::from(limit)) else {
            return Ok(None);
        };
        let history = self.render(&Cut::new(vec![CutPiece::Verbatim(all)], 0)).await?;
        Ok(Some(history).filter(|history| history.tokens <= limit))
    }

    /// A history whose rendered text has at most `limit` tokens; otherwise the estimate that the coarsest view must
    /// reach for one to exist.
    async fn history_within(&self, limit: u32) -> Result<Result<HistoryPart, u32>, MemoryError> {
        let mut estimate = limit.saturating_sub(self.lead());
        let shown = self.parts.snapshots.shown(self.conversation, limit);
        loop {
            let cut = match self.plan(estimate, shown.as_deref()) {
                Ok(cut) => cut,
                Err(PlanError::BudgetTooSmall { .. }) => return Ok(Err(estimate)),
                Err(error) => return Err(error.into()),
            };
            let history = self.render(&cut).await?;
            let Some(excess) = history.tokens.checked_sub(limit).filter(|excess| *excess > 0) else {
                self.parts.snapshots.show(self.conversation, limit, cut);
                return Ok(Ok(history));
            };
            let lower = estimate.min(cut.tokens).saturating_sub(excess);
            if lower == 0 {
                return Ok(Err(0));
            }
            estimate = lower;
        }
    }

    fn plan(&self, budget: u32, shown: Option<&Cut>) -> Result<Cut, PlanError> {
        self.parts.strategy.plan(&self.snapshot.tree, budget, shown)
    }

    async fn render(&self, cut: &Cut) -> Result<HistoryPart, MemoryError> {
        let tree = &self.snapshot.tree;
        let mut summaries = self.summaries(cut).await?;
        let verbatim = cut.verbatim();
        let (mut words, mut losses) = (HashMap::new(), Losses::default());
        for run in &verbatim {
            let read = self.parts.store.readable_nodes(self.conversation, *run).await?;
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
        let tokens = self.parts.counts.count_parts(&render::history_lines(&shown), self.parts.counter.as_ref());
        Ok(HistoryPart { verbatim, shown, tokens, losses })
    }

    /// The newest readable words of the summaries in a cut, by the places in which they are shown.
    async fn summaries(&self, cut: &Cut) -> Result<HashMap<SummaryId, Summary>, MemoryError> {
        let shown = |piece: &CutPiece| match piece {
            CutPiece::Summary { id, .. } => Some(*id),
            CutPiece::Verbatim(_) => None,
        };
        let words = |id: SummaryId| (self.snapshot.tree.words_for(id), id);
        let places: HashMap<_, _> = cut.pieces.iter().filter_map(shown).map(words).collect();
        let ids: Vec<_> = places.keys().copied().collect();
        let read = self.parts.store.summaries_of(self.conversation, &ids).await?;
        let all = read.into_iter().chain(self.snapshot.unrecorded.iter().cloned());
        Ok(all.filter_map(|summary| Some((*places.get(&summary.id)?, summary))).collect())
    }

    fn shortened(&self, node: Node) -> Node {
        let is_last_turn = end::last_turn(&self.snapshot.tree).is_some_and(|turn| turn.contains(node.id));
        shorten::shortened(node, self.longest_result, is_last_turn, self.parts.counter.as_ref())
    }

    /// Renders the whole: the history, the recalled words, the question.
    fn close(&self, history: &HistoryPart, recalled: Vec<Part>) -> Prompt {
        let mut shown = history.shown.clone();
        shown.extend(recalled);
        let written = Layout::for_question(self.options.now).write(&shown, &self.tail, &|text| self.count(text));
        let tokens = self.parts.counts.count_parts(&written.lines, self.parts.counter.as_ref());
        Prompt {
            pieces: written.pieces,
            tokens,
            budget: self.options.budget,
            nodes: self.snapshot.tree.total(),
            full_tokens: self.full_tokens,
            notices: self.notices.clone(),
            compared: BTreeMap::new(),
            reductions: Vec::new(),
            view: None,
            longest_result: self.longest_result,
            parts: shown,
            instructions: None,
            question: self.tail.question.to_owned(),
            now: self.options.now,
            text: written.lines.concat(),
        }
    }

    async fn announce(&self, prompt: &Prompt) -> Result<(), MemoryError> {
        let recalled = prompt.pieces.iter().filter(|piece| piece.kind == PieceKind::Recalled);
        let nodes = NodeRange::merge(recalled.filter_map(|piece| piece.nodes).collect());
        if !nodes.is_empty() {
            let mut event = RecallUsed { conversation: self.conversation.clone(), nodes };
            self.parts.hooks.dispatch(&mut event).await?;
        }
        Ok(())
    }
}

/// A summary as it is shown. Excluded content is removed here too, since a message, or one that repeats it, may have
/// been marked after it was summarized.
pub(super) fn summary_part(
    snapshot: &Snapshot,
    redactor: &Redactor,
    mut summary: Summary,
    reason: impl Fn(&Summary) -> String,
) -> Part {
    let span = summary.body.span;
    let reason = reason(&summary);
    summary.body.text = redactor.redact(&summary.body.text);
    let outlines = || span.iter().filter_map(|node| snapshot.tree.node(node));
    // The least trusted first.
    let source = |outline: &NodeOutline| match outline.role {
        Role::Assistant => SourceClass::Model,
        Role::User | Role::System if outline.answers == 0 => SourceClass::User,
        Role::User | Role::System | Role::Tool => SourceClass::Tool,
    };
    let known = || outlines().map(|outline| outline.at).filter(|at| at.is_known());
    let [from, to] = [known().min(), known().max()].map(Option::unwrap_or_default);
    let source = outlines().map(source).min();
    let kind = PieceKind::Summary(summary.body.level);
    Part { kind, nodes: span, source, reason, body: Body::Summary { summary: Box::new(summary), from, to } }
}

fn failed(error: &MemoryError) -> Notice {
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
