//! What a model is shown for a question: a view of the whole history, and the exact words that bear on it.

use std::collections::HashMap;

use memory_core::{
    ConversationId, Excerpt, Hit, Level, Node, NodeId, NodeRange, Recall, RecallRequest, Summary,
    plan::{Cut, CutPiece, PlanError},
};

use crate::{
    MemoryError, RecallUsed,
    manager::hierarchical::{self, Snapshot},
    memory::Parts,
    render,
};

/// How a context is put together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContextOptions {
    /// The most tokens of the whole context, the question included. A hard ceiling.
    pub budget: u32,
    /// The history's share of the budget, 0..=1, where there is a retriever; recall gets the rest. A history
    /// whose coarsest view needs more takes more.
    pub history_share: f32,
    /// The most hits that recall considers.
    pub recall_limit: usize,
    /// Messages shown before and after each hit.
    pub radius: u64,
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self { budget: 4_000, history_share: 0.35, recall_limit: 200, radius: 0 }
    }
}

impl ContextOptions {
    /// The defaults with another budget.
    #[must_use]
    pub fn tokens(budget: u32) -> Self {
        Self { budget, ..Self::default() }
    }
}

/// What stands in a piece of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PieceKind {
    /// A message of the history, word for word.
    Message,
    /// A summary in the place of messages.
    Summary(Level),
    /// A message recalled for the question, word for word.
    Recalled,
    /// The question.
    Question,
}

impl PieceKind {
    /// The kind in lower case: `message`, `summary`, `meta`, `archive`, `recalled` or `question`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Message | Self::Summary(Level::Full) => "message",
            Self::Summary(Level::Summary) => "summary",
            Self::Summary(Level::Meta) => "meta",
            Self::Summary(Level::Archive) => "archive",
            Self::Recalled => "recalled",
            Self::Question => "question",
        }
    }
}

/// One piece of a context.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// What it is.
    pub kind: PieceKind,
    /// The nodes it shows or stands for; `None` for the question.
    pub nodes: Option<NodeRange>,
    /// Tokens of its text.
    pub tokens: u32,
    /// Why it is there.
    pub why: String,
    /// The text, as it stands in the context.
    pub text: String,
}

/// What a model is shown for a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    /// The history first, in order; then what was recalled, in order; then the question.
    pub pieces: Vec<Piece>,
    /// Tokens of [`Self::text`].
    pub tokens: u32,
    /// The ceiling that was kept.
    pub budget: u32,
    /// Tokens of all messages of the conversation.
    pub full_tokens: u64,
    /// What the caller ought to know, a line each.
    pub notices: Vec<String>,
    text: String,
}

impl Context {
    /// Exactly what the model is shown.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Tokens of the history's pieces.
    #[must_use]
    pub fn history_tokens(&self) -> u32 {
        let history = |kind| matches!(kind, PieceKind::Message | PieceKind::Summary(_));
        self.pieces.iter().filter(|piece| history(piece.kind)).map(|piece| piece.tokens).sum()
    }

    /// Tokens of the recalled pieces.
    #[must_use]
    pub fn recalled_tokens(&self) -> u32 {
        self.pieces.iter().filter(|piece| piece.kind == PieceKind::Recalled).map(|piece| piece.tokens).sum()
    }

    /// Runs of nodes that are shown word for word, in the history or recalled.
    #[must_use]
    pub fn verbatim(&self) -> Vec<NodeRange> {
        let verbatim = |piece: &&Piece| matches!(piece.kind, PieceKind::Message | PieceKind::Recalled);
        NodeRange::merge(self.pieces.iter().filter(verbatim).filter_map(|piece| piece.nodes).collect())
    }
}

/// Assembles a context.
pub(crate) async fn assemble(
    parts: &Parts,
    conversation: &ConversationId,
    question: &str,
    options: &ContextOptions,
) -> Result<Context, MemoryError> {
    hierarchical::compact(parts, conversation, &()).await?;
    let question = format!("{}{question}", render::QUESTION);
    let frame: u32 = [render::HISTORY_LEAD, render::RECALL_LEAD, render::FENCE_OPEN, render::FENCE_CLOSE, &question]
        .iter()
        .map(|line| parts.counter.count(line) + 1)
        .sum();
    let mut assembly = Assembly { parts, conversation, question, options, frame };
    // What pieces cost joined differs a little from the sum of their parts, so the room shrinks by what was
    // too much until the words fit.
    let mut room = options.budget.saturating_sub(frame);
    let mut needed = frame;
    while room > 0 {
        let context = assembly.fill(room).await?;
        let Some(excess) = context.tokens.checked_sub(options.budget).filter(|excess| *excess > 0) else {
            return assembly.announce(context).await;
        };
        needed = context.tokens;
        room = room.saturating_sub(excess.max(8));
    }
    Err(PlanError::BudgetTooSmall { needed, budget: options.budget }.into())
}

struct Assembly<'a> {
    parts: &'a Parts,
    conversation: &'a ConversationId,
    question: String,
    options: &'a ContextOptions,
    /// Tokens of the lines that are always there.
    frame: u32,
}

impl Assembly<'_> {
    /// A context whose pieces cost about `room` tokens.
    async fn fill(&mut self, room: u32) -> Result<Context, MemoryError> {
        let (snapshot, cut) = self.view(room).await?;
        let (recall, full_tokens) = self.recall(&snapshot, &cut, room.saturating_sub(cut.tokens)).await?;
        let mut pieces = self.history_pieces(&snapshot, &cut).await?;
        let mut text = String::from(render::HISTORY_LEAD);
        pieces.iter().for_each(|piece| push_line(&mut text, &piece.text));
        if !recall.excerpts.is_empty() {
            push_line(&mut text, "");
            push_line(&mut text, render::RECALL_LEAD);
            push_line(&mut text, render::FENCE_OPEN);
            let mut before: Option<NodeRange> = None;
            for excerpt in &recall.excerpts {
                if let Some(gap) = before.and_then(|before| render::gap_line(before, excerpt.nodes)) {
                    push_line(&mut text, &gap);
                }
                before = Some(excerpt.nodes);
                for piece in self.recalled_pieces(excerpt, &recall).await? {
                    push_line(&mut text, &piece.text);
                    pieces.push(piece);
                }
            }
            push_line(&mut text, render::FENCE_CLOSE);
        }
        push_line(&mut text, "");
        push_line(&mut text, &self.question);
        pieces.push(self.piece(PieceKind::Question, None, self.question.clone(), "the question".to_owned()));
        let tokens = self.parts.counter.count(&text);
        Ok(Context { pieces, tokens, budget: self.options.budget, full_tokens, notices: recall.notices, text })
    }

    /// The history's part: everything where it fits, else a cut within the history's share.
    async fn view(&self, room: u32) -> Result<(Snapshot, Cut), MemoryError> {
        let mut snapshot = Snapshot::read(self.parts, self.conversation).await?;
        let per_message = u64::from(self.parts.policy.per_message);
        let all: u64 = snapshot.nodes.iter().map(|node| u64::from(node.tokens) + per_message).sum();
        let share =
            if self.parts.retriever.is_none() || all <= u64::from(room) { 1.0 } else { self.options.history_share };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a u32")]
        let share = (f64::from(room) * f64::from(share.clamp(0.0, 1.0))) as u32;
        let plan =
            |snapshot: &Snapshot, budget| self.parts.strategy.plan(snapshot.history(), budget, &self.parts.policy);
        match plan(&snapshot, share) {
            Ok(cut) => return Ok((snapshot, cut)),
            Err(PlanError::BudgetTooSmall { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        hierarchical::shrink(self.parts, self.conversation, share).await?;
        snapshot = Snapshot::read(self.parts, self.conversation).await?;
        let coarsest = snapshot.coarsest(self.parts);
        if coarsest > room {
            let needed = coarsest.saturating_add(self.frame);
            return Err(PlanError::BudgetTooSmall { needed, budget: self.options.budget }.into());
        }
        let cut = plan(&snapshot, share.max(coarsest))?;
        Ok((snapshot, cut))
    }

    async fn recall(&self, snapshot: &Snapshot, cut: &Cut, room: u32) -> Result<(Recall, u64), MemoryError> {
        let full_tokens = snapshot.nodes.iter().map(|node| u64::from(node.tokens)).sum();
        let shown = cut.verbatim();
        let everything = NodeRange::first_n(snapshot.nodes.len() as u64);
        let Some(retriever) = self.parts.retriever.as_ref().filter(|_| everything.is_some_and(|all| shown != [all]))
        else {
            return Ok((Recall::default(), full_tokens));
        };
        let request = RecallRequest {
            question: self.question.strip_prefix(render::QUESTION).unwrap_or(&self.question).to_owned(),
            conversation: self.conversation.clone(),
            max_tokens: room,
            per_message: self.parts.policy.per_message,
            limit: self.options.recall_limit,
            radius: self.options.radius,
            shown,
        };
        Ok((retriever.recall(&request).await?, full_tokens))
    }

    fn piece(&self, kind: PieceKind, nodes: Option<NodeRange>, text: String, why: String) -> Piece {
        Piece { kind, nodes, tokens: self.parts.counter.count(&text), why, text }
    }

    async fn history_pieces(&self, snapshot: &Snapshot, cut: &Cut) -> Result<Vec<Piece>, MemoryError> {
        let tree = snapshot.tree();
        let mut words = HashMap::new();
        for run in cut.verbatim() {
            let nodes = self.parts.store.nodes(self.conversation, run).await?;
            words.extend(nodes.into_iter().map(|node| (node.id, node)));
        }
        let mut pieces = Vec::new();
        for piece in &cut.pieces {
            match *piece {
                CutPiece::Summary { id, span } => {
                    let Some(summary) = tree.summary(id) else { continue };
                    let why = summary_reason(summary);
                    let text = render::summary_line(summary);
                    pieces.push(self.piece(PieceKind::Summary(summary.body.level), Some(span), text, why));
                }
                CutPiece::Verbatim(run) => {
                    for node in run.iter().filter_map(|id| words.get(&id)) {
                        let why = message_reason(node, tree.leaf(node.id).is_none());
                        let nodes = Some(NodeRange::single(node.id));
                        pieces.push(self.piece(PieceKind::Message, nodes, render::message_line(node), why));
                    }
                }
            }
        }
        Ok(pieces)
    }

    async fn recalled_pieces(&self, excerpt: &Excerpt, recall: &Recall) -> Result<Vec<Piece>, MemoryError> {
        let nodes = self.parts.store.nodes(self.conversation, excerpt.nodes).await?;
        let piece = |node: &Node| {
            let why = recall_reason(node.id, excerpt, recall);
            self.piece(PieceKind::Recalled, Some(NodeRange::single(node.id)), render::message_line(node), why)
        };
        Ok(nodes.iter().map(piece).collect())
    }

    async fn announce(&self, context: Context) -> Result<Context, MemoryError> {
        let recalled = context.pieces.iter().filter(|piece| piece.kind == PieceKind::Recalled);
        let nodes = NodeRange::merge(recalled.filter_map(|piece| piece.nodes).collect());
        if !nodes.is_empty() {
            let mut event = RecallUsed { conversation: self.conversation.clone(), nodes };
            self.parts.hooks.dispatch(&mut event).await?;
        }
        Ok(context)
    }
}

fn push_line(text: &mut String, line: &str) {
    text.push('\n');
    text.push_str(line);
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

fn recall_reason(node: NodeId, excerpt: &Excerpt, recall: &Recall) -> String {
    let hits = recall.excerpts.iter().flat_map(|excerpt| &excerpt.hits);
    let better = |hit: &Hit| hits.clone().filter(|other| other.score.value > hit.score.value).count();
    match excerpt.hits.iter().find(|hit| hit.node == node) {
        Some(hit) => {
            let signals: Vec<_> = hit.signals.iter().map(|s| format!("{} {:.2}", s.name, s.value)).collect();
            format!("hit {}: {} ({})", better(hit) + 1, hit.score, signals.join(", "))
        }
        None => match excerpt.hits.iter().min_by_key(|hit| hit.node.get().abs_diff(node.get())) {
            Some(hit) => format!("beside message {}", hit.node),
            None => "part of an excerpt".to_owned(),
        },
    }
}
