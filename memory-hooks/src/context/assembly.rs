//! Puts a context together: first the history, from the budget alone; then what the question recalls.

mod recalled;

use std::collections::HashMap;

use memory_core::{
    ConversationId, Losses, Node, NodeRange, Summary, SummaryId,
    plan::{Cut, CutPiece, PlanError, coarsest},
};

use super::{Context, ContextOptions, Piece, PieceKind};
use crate::{MemoryError, RecallUsed, followed::Snapshot, manager::hierarchical, memory::Parts, render, shorten};

/// What joining two texts may cost beyond the sum of their tokens.
const SEAM: u32 = 4;

/// What a context is wanted for.
#[derive(Clone, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) question: &'a str,
    pub(crate) options: ContextOptions,
    /// Most tokens of a tool result; a longer one is shown by its head and tail.
    pub(crate) longest_result: Option<u32>,
}

impl Request<'_> {
    /// The same within another budget.
    pub(crate) fn within(&self, budget: u32) -> Self {
        Self { options: ContextOptions { budget, ..self.options.clone() }, ..*self }
    }
}

/// Assembles a context.
pub(crate) async fn assemble(
    parts: &Parts,
    conversation: &ConversationId,
    request: Request<'_>,
) -> Result<Context, MemoryError> {
    let Request { question, options, longest_result } = request;
    let (snapshot, notices) = if parts.debts.owe(conversation) {
        // Whoever works it off does so while the model answers; what is ready by then is shown at the next turn.
        (Snapshot::read(parts, conversation).await?, Vec::new())
    } else {
        // What is due by the thresholds is best effort: without it the context is coarser or errs below.
        match hierarchical::compact(parts, conversation, &()).await {
            Ok((report, snapshot)) => (snapshot, report.is_left_to_another.then(left_to_another).into_iter().collect()),
            Err(error) => (Snapshot::read(parts, conversation).await?, vec![failed(&error)]),
        }
    };
    let question = Question::new(question, parts);
    let mut assembly = Assembly { parts, conversation, question, options, longest_result, snapshot, notices };
    let history = assembly.history().await?;
    let context = assembly.recall_beside(&history).await?;
    assembly.announce(&context).await?;
    Ok(context)
}

/// The question, as it is asked and as it is shown.
struct Question {
    asked: String,
    line: String,
    /// What it adds to a context, with a little to spare for what joining texts may cost.
    tokens: u32,
}

impl Question {
    fn new(asked: &str, parts: &Parts) -> Self {
        let line = format!("{}{asked}", render::QUESTION);
        let tokens = parts.counter.count(&format!("\n\n{line}")).saturating_add(SEAM);
        Self { asked: asked.to_owned(), line, tokens }
    }
}

/// The history's part of a context.
#[derive(Clone)]
struct HistoryPart {
    /// What is shown word for word.
    verbatim: Vec<NodeRange>,
    pieces: Vec<Piece>,
    /// Tokens of the lead line and the pieces, a line each.
    tokens: u32,
    /// What of it cannot be read.
    losses: Losses,
}

struct Assembly<'a> {
    parts: &'a Parts,
    conversation: &'a ConversationId,
    question: Question,
    options: ContextOptions,
    longest_result: Option<u32>,
    snapshot: Snapshot,
    notices: Vec<String>,
}

impl Assembly<'_> {
    fn count(&self, text: &str) -> u32 {
        self.parts.count(text)
    }

    /// The history within its share of the budget; the coarsest one that there can be where that needs more.
    async fn history(&mut self) -> Result<HistoryPart, MemoryError> {
        let recalls = self.parts.retriever.is_some();
        let [ceiling, share] = self.options.history_limits(self.question.tokens, recalls);
        if let Some(whole) = self.everything(ceiling).await? {
            return Ok(whole);
        }
        // Where not even the question fits, shrinking the history would be in vain.
        let mut may_shrink = self.question.tokens < self.options.budget;
        let mut trouble = None;
        loop {
            let target = match self.history_within(share).await? {
                Ok(history) => return Ok(history),
                Err(_) if !may_shrink => return self.coarsest_history(trouble).await,
                Err(target) => target,
            };
            let before = self.snapshot.tree.summaries();
            match hierarchical::shrink(self.parts, self.conversation, target).await {
                Ok((_, snapshot)) => self.snapshot = snapshot,
                Err(error) => {
                    trouble = Some(error);
                    self.snapshot = Snapshot::read(self.parts, self.conversation).await?;
                }
            }
            may_shrink = trouble.is_none() && self.snapshot.tree.summaries() > before;
        }
    }

    /// The coarsest history, if it fits beside the question; else `trouble`, the reason why there is no
    /// coarser one, or the tokens needed.
    async fn coarsest_history(&mut self, trouble: Option<MemoryError>) -> Result<HistoryPart, MemoryError> {
        let cut = self.plan(coarsest(&self.snapshot.tree), None)?;
        let history = self.render(&cut).await?;
        let needed = self.close(&history, Vec::new()).tokens;
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
        let history = self.render(&Cut { pieces: vec![CutPiece::Verbatim(all)], ..Cut::default() }).await?;
        Ok(Some(history).filter(|history| history.tokens <= limit))
    }

    /// A history of at most `limit` tokens as it is really written out; else what the coarsest view ought to
    /// cost by the plan's estimate for there to be one.
    async fn history_within(&self, limit: u32) -> Result<Result<HistoryPart, u32>, MemoryError> {
        let mut estimate = limit.saturating_sub(self.count(render::HISTORY_LEAD));
        let shown = self.parts.followed.shown(self.conversation, limit);
        loop {
            let cut = match self.plan(estimate, shown.as_deref()) {
                Ok(cut) => cut,
                Err(PlanError::BudgetTooSmall { .. }) => return Ok(Err(estimate)),
                Err(error) => return Err(error.into()),
            };
            let history = self.render(&cut).await?;
            let Some(excess) = history.tokens.checked_sub(limit).filter(|excess| *excess > 0) else {
                self.parts.followed.show(self.conversation, limit, cut);
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
        let summaries = self.summaries(cut).await?;
        let verbatim = cut.verbatim();
        let (mut words, mut losses) = (HashMap::new(), Losses::default());
        for run in &verbatim {
            let read = self.parts.store.readable_nodes(self.conversation, *run).await?;
            words.extend(read.nodes.into_iter().map(|node| (node.id, node)));
            losses.extend(&read.losses);
        }
        let mut pieces = Vec::new();
        for piece in &cut.pieces {
            match *piece {
                CutPiece::Summary { id, span } => {
                    let Some(summary) = summaries.get(&id) else {
                        let why = "its summary cannot be read any more".to_owned();
                        pieces.push(self.piece(PieceKind::Lost, Some(span), render::lost_line(span), why));
                        continue;
                    };
                    let text = render::summary_line(summary, &self.snapshot.redactor);
                    let kind = PieceKind::Summary(summary.body.level);
                    let piece = self.piece(kind, Some(span), text, summary_reason(summary));
                    pieces.push(Piece { summary: Some(id), ..piece });
                }
                CutPiece::Verbatim(run) => {
                    let whole = losses.rest_of(run);
                    for node in whole.iter().flat_map(|run| run.iter()).filter_map(|id| words.get(&id)) {
                        let why = message_reason(node, tree.leaf(node.id).is_none());
                        let nodes = Some(NodeRange::single(node.id));
                        pieces.push(self.piece(PieceKind::Message, nodes, self.message_line(node), why));
                    }
                    for lost in losses.within(run) {
                        let why = "it cannot be read any more".to_owned();
                        pieces.push(self.piece(PieceKind::Lost, Some(lost), render::lost_line(lost), why));
                    }
                }
            }
        }
        pieces.sort_by_key(|piece| piece.nodes);
        let tokens = self.parts.counts.count_parts(&compose(&pieces), self.parts.counter.as_ref());
        Ok(HistoryPart { verbatim, pieces, tokens, losses })
    }

    /// The summaries that a cut shows, as far as they can be read.
    async fn summaries(&self, cut: &Cut) -> Result<HashMap<SummaryId, Summary>, MemoryError> {
        let shown = |piece: &CutPiece| match piece {
            CutPiece::Summary { id, .. } => Some(*id),
            CutPiece::Verbatim(_) => None,
        };
        let ids: Vec<_> = cut.pieces.iter().filter_map(shown).collect();
        let mut summaries: HashMap<_, _> = HashMap::with_capacity(ids.len());
        for summary in self.parts.store.summaries_of(self.conversation, &ids).await? {
            summaries.insert(summary.id, summary);
        }
        summaries.extend(self.snapshot.unrecorded.iter().map(|summary| (summary.id, summary.clone())));
        Ok(summaries)
    }

    fn message_line(&self, node: &Node) -> String {
        shorten::message_line(node, self.longest_result, self.parts.counter.as_ref())
    }

    fn piece(&self, kind: PieceKind, nodes: Option<NodeRange>, text: String, why: String) -> Piece {
        Piece { kind, nodes, summary: None, tokens: self.count(&text), why, text }
    }

    /// Writes the whole out: the history, what was recalled, the question.
    fn close(&self, history: &HistoryPart, recalled: Vec<Piece>) -> Context {
        let mut pieces = history.pieces.clone();
        pieces.extend(recalled);
        pieces.push(self.piece(PieceKind::Question, None, self.question.line.clone(), "the question".to_owned()));
        let text = compose(&pieces);
        let tokens = self.parts.counts.count_parts(&text, self.parts.counter.as_ref());
        let (nodes, full_tokens) = (self.snapshot.tree.total(), self.snapshot.tree.tokens());
        let text = text.concat();
        Context {
            pieces,
            tokens,
            budget: self.options.budget,
            nodes,
            full_tokens,
            notices: self.notices.clone(),
            reductions: Vec::new(),
            view: None,
            longest_result: self.longest_result,
            text,
        }
    }

    async fn announce(&self, context: &Context) -> Result<(), MemoryError> {
        let recalled = context.pieces.iter().filter(|piece| piece.kind == PieceKind::Recalled);
        let nodes = NodeRange::merge(recalled.filter_map(|piece| piece.nodes).collect());
        if !nodes.is_empty() {
            let mut event = RecallUsed { conversation: self.conversation.clone(), nodes };
            self.parts.hooks.dispatch(&mut event).await?;
        }
        Ok(())
    }
}

/// Writes pieces out: the history, what was recalled in its fence, the question. A part a piece, each with the line ends
/// behind it, so that their tokens add up.
pub(super) fn compose(pieces: &[Piece]) -> Vec<String> {
    let mut parts = vec![String::from(render::HISTORY_LEAD)];
    let of = |kind: fn(PieceKind) -> bool| pieces.iter().filter(move |piece| kind(piece.kind));
    parts.extend(of(PieceKind::is_history).map(|piece| piece.text.clone()));
    let mut before: Option<NodeRange> = None;
    for piece in of(|kind| kind == PieceKind::Recalled) {
        match before.zip(piece.nodes).map(|(before, here)| render::gap_line(before, here)) {
            None => {
                end_line(&mut parts);
                parts.extend([render::RECALL_LEAD, render::FENCE_OPEN].map(str::to_owned));
            }
            Some(gap) => parts.extend(gap),
        }
        before = piece.nodes;
        parts.push(piece.text.clone());
    }
    if before.is_some() {
        parts.push(render::FENCE_CLOSE.to_owned());
    }
    for question in of(|kind| kind == PieceKind::Question) {
        end_line(&mut parts);
        parts.push(question.text.clone());
    }
    if let Some((_, before)) = parts.split_last_mut() {
        before.iter_mut().for_each(|part| part.push('\n'));
    }
    parts
}

/// Leaves a line empty.
fn end_line(parts: &mut [String]) {
    parts.iter_mut().next_back().into_iter().for_each(|last| last.push('\n'));
}

fn failed(error: &MemoryError) -> String {
    format!("compaction failed, the history is shown as it stands: {error}")
}

fn left_to_another() -> String {
    "background work on the store is being done elsewhere: compaction is left to it, the history is shown as it stands"
        .to_owned()
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
