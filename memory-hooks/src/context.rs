//! What a model is shown for a question: a view of the whole history, and the exact words that bear on it.

mod assembly;
mod end;
mod overflow;
mod past;
mod recorded;
mod standing;

use std::ops::Range;

use memory_core::{Filter, Level, Message, NodeRange, Role, SummaryId, Timestamp, ViewId, plan::Tree};

pub(crate) use assembly::{Request, assemble};
pub(crate) use overflow::reduce;
pub(crate) use past::rebuild;
pub(crate) use recorded::record;

use crate::render::Part;

/// How a context is put together.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextOptions {
    /// The most tokens of the whole context, the question included. A hard ceiling.
    pub budget: u32,
    /// The history's share of the budget, 0..=1, where there is a retriever and not everything fits word for
    /// word; recall gets the rest. A history whose coarsest view needs more takes more.
    pub history_share: f32,
    /// The most hits that recall considers.
    pub recall_limit: usize,
    /// Messages shown before and after each hit.
    pub radius: u64,
    /// The share of what is left for recall that the simplest question gets, 0..=1; the more complex a question, the
    /// nearer to all of it. At 1, the default, every question gets all. The history never depends on the question.
    pub least_share: f32,
    /// Which messages may be recalled. The history is not filtered: it covers everything.
    pub filter: Filter,
    /// When the question is asked, as the model is told; by default as late as the last message.
    pub now: Option<Timestamp>,
    /// Whether what is shown is recorded, so that it can be shown again later. What a store cannot keep, as one that takes
    /// no writes, is shown all the same.
    pub record: bool,
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self {
            budget: 4_000,
            history_share: 0.35,
            recall_limit: 200,
            radius: 0,
            least_share: 1.0,
            filter: Filter::default(),
            now: None,
            record: true,
        }
    }
}

impl ContextOptions {
    /// The defaults with another budget.
    #[must_use]
    pub fn tokens(budget: u32) -> Self {
        Self { budget, ..Self::default() }
    }

    /// The most tokens of a history that is not shown word for word, beside a question of so many tokens: its share of the
    /// budget, or what the end of the conversation takes, and a little for what is older. Where lines stand beside it, it
    /// leaves them their share.
    ///
    /// It depends on the question only by steps: a thirty-second of the budget, and 64 tokens at least, is set aside for
    /// it, twice as much for one that is longer, and so on. So the history's part of a prompt stays the same from question
    /// to question.
    pub(crate) fn history_limit(&self, tree: &Tree, question: u32, recalls: bool, stands: bool) -> u32 {
        let ceiling = self.history_ceiling(question);
        let beside = if stands { STANDING } else { 0.0 };
        let end = end::tokens(tree, self.budget).saturating_add(share_of(self.budget, OLDER - beside));
        let share = if recalls {
            share_of(self.budget, self.history_share.clamp(0.0, 1.0) - beside)
        } else {
            ceiling.saturating_sub(share_of(self.budget, beside))
        };
        share.max(end).min(ceiling)
    }

    /// The most tokens of a history beside a question of so many tokens.
    pub(crate) fn history_ceiling(&self, question: u32) -> u32 {
        let mut reserve = self.budget.div_ceil(32).max(64);
        while reserve < question && reserve < self.budget {
            reserve = reserve.saturating_mul(2);
        }
        self.budget.saturating_sub(reserve)
    }
}

/// The share of the budget that what is older has beside the end of a conversation, where the two take more than the
/// history's own share.
const OLDER: f32 = 0.15;

/// The most that standing lines take of a budget.
const STANDING: f32 = 0.05;

/// A share of a budget.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a u32")]
pub(crate) fn share_of(budget: u32, share: f32) -> u32 {
    (f64::from(budget) * f64::from(share)) as u32
}

/// How a context was made smaller after the window of a model had overflowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Oversized tool results are shown by their heads and tails. The log has all of them.
    ResultsShortened,
    /// The view was cut for half of the tokens, by summaries written for it where it took them.
    Halved,
    /// The view is as coarse as it gets.
    Coarsest,
}

/// What stands in a piece of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PieceKind {
    /// A message of the history, word for word.
    Message,
    /// A summary in the place of messages.
    Summary(Level),
    /// A line in the place of messages that cannot be read any more.
    Lost,
    /// A part of an earlier message that holds beyond its moment: an instruction, a preference, a decision, what is open.
    Standing,
    /// A message recalled for the question, or pinned, word for word.
    Recalled,
    /// The question.
    Question,
}

impl PieceKind {
    /// Whether it is a part of the history, every message of which stands in one such piece.
    #[must_use]
    pub const fn is_history(self) -> bool {
        matches!(self, Self::Message | Self::Summary(_) | Self::Lost)
    }

    /// The kind in lower case: `message`, `summary`, `meta`, `archive`, `lost`, `standing`, `recalled` or
    /// `question`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Message | Self::Summary(Level::Full) => "message",
            Self::Summary(Level::Summary) => "summary",
            Self::Summary(Level::Meta) => "meta",
            Self::Summary(Level::Archive) => "archive",
            Self::Lost => "lost",
            Self::Standing => "standing",
            Self::Recalled => "recalled",
            Self::Question => "question",
        }
    }
}

/// Where words come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Source {
    /// Another program's file, through an importer.
    Import,
    /// A tool's answer.
    Tool,
    /// The model.
    Model,
    /// A person, or the application that speaks for one.
    User,
}

impl Source {
    /// Where a message comes from. Importers say so in its metadata, as `imported`.
    #[must_use]
    pub fn of(message: &Message) -> Self {
        let is_imported = message.metadata.get("imported").is_some_and(|flag| flag.as_str() == "true");
        match message.role {
            _ if is_imported => Self::Import,
            Role::Assistant => Self::Model,
            Role::Tool => Self::Tool,
            Role::User | Role::System if message.tool_results().next().is_some() => Self::Tool,
            Role::User | Role::System => Self::User,
        }
    }

    /// `import`, `tool`, `model` or `user`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Import => "import",
            Self::Tool => "tool",
            Self::Model => "model",
            Self::User => "user",
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
    /// The summary's number, where it is one.
    pub summary: Option<SummaryId>,
    /// Of a standing line, the bytes of the message's text that it shows.
    pub excerpt: Option<Range<usize>>,
    /// Where its words come from; of a summary the least trusted of what it covers, `None` for the question and for what is
    /// lost.
    pub source: Option<Source>,
    /// Tokens of its text.
    pub tokens: u32,
    /// Why it is there.
    pub why: String,
    /// Exactly the slice of the context's text that is the piece's own: its line or lines, with the day that stands above
    /// them for its sake.
    pub text: String,
}

impl Piece {
    /// The question, as it is written out.
    pub(crate) fn question(text: String, count: &dyn Fn(&str) -> u32) -> Self {
        let (tokens, why) = (count(&text), "the question".to_owned());
        Self { kind: PieceKind::Question, nodes: None, summary: None, excerpt: None, source: None, tokens, why, text }
    }
}

/// What a model is shown for a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    /// The history first, in order; then standing lines, in order; then what was recalled, in order; then the question.
    pub pieces: Vec<Piece>,
    /// Tokens of [`Self::text`].
    pub tokens: u32,
    /// The ceiling that was kept.
    pub budget: u32,
    /// How many messages the conversation had.
    pub nodes: u64,
    /// Tokens of all of them.
    pub full_tokens: u64,
    /// What the caller ought to know, a line each.
    pub notices: Vec<String>,
    /// What made it smaller after a window had overflowed, in order.
    pub reductions: Vec<Reduction>,
    /// The number under which it is recorded, if it is.
    pub view: Option<ViewId>,
    /// Most tokens of a tool result, and of a text of the last turn; a longer one is shown by its head and tail.
    longest_result: Option<u32>,
    /// What the pieces were written out from.
    parts: Vec<Part>,
    question: String,
    /// When it was asked, where the caller said so.
    now: Option<Timestamp>,
    text: String,
}

impl Context {
    /// Exactly what the model is shown.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The question, as it was asked.
    #[must_use]
    pub fn question(&self) -> &str {
        &self.question
    }

    fn tokens_of(&self, is_meant: impl Fn(PieceKind) -> bool) -> u32 {
        self.pieces.iter().filter(|piece| is_meant(piece.kind)).map(|piece| piece.tokens).sum()
    }

    /// Tokens of the history's pieces.
    #[must_use]
    pub fn history_tokens(&self) -> u32 {
        self.tokens_of(PieceKind::is_history)
    }

    /// Tokens of the history's pieces that stand at its beginning as they stood in an earlier context: what a provider
    /// that caches the beginnings of prompts need not read again.
    #[must_use]
    pub fn shared_history(&self, earlier: &Self) -> u32 {
        let history = |context: &'_ Self| context.pieces.iter().take_while(|piece| piece.kind.is_history()).count();
        let [ours, theirs] = [self, earlier].map(|context| context.pieces.iter().take(history(context)));
        ours.zip(theirs).take_while(|(here, there)| here.text == there.text).map(|(here, _)| here.tokens).sum()
    }

    /// Tokens of the recalled pieces.
    #[must_use]
    pub fn recalled_tokens(&self) -> u32 {
        self.tokens_of(|kind| kind == PieceKind::Recalled)
    }

    /// Tokens of the standing lines.
    #[must_use]
    pub fn standing_tokens(&self) -> u32 {
        self.tokens_of(|kind| kind == PieceKind::Standing)
    }

    /// Runs of nodes that are shown word for word, in the history or recalled.
    #[must_use]
    pub fn verbatim(&self) -> Vec<NodeRange> {
        let verbatim = |piece: &&Piece| matches!(piece.kind, PieceKind::Message | PieceKind::Recalled);
        NodeRange::merge(self.pieces.iter().filter(verbatim).filter_map(|piece| piece.nodes).collect())
    }
}
