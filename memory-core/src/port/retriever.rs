//! Port: what of the past bears on a question.

use std::{fmt, time::Duration};

use super::{BoxError, BoxFuture, EmbedError, Losses, RerankError, StoreError, VectorError};
use crate::{ConversationId, Filter, NodeId, NodeRange};

/// Where to search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In every conversation.
    All,
    /// In these.
    Conversations(Vec<ConversationId>),
}

impl Scope {
    /// One conversation alone.
    #[must_use]
    pub fn one(conversation: &ConversationId) -> Self {
        Self::Conversations(vec![conversation.clone()])
    }
}

/// A question to the past.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The question, in plain words.
    pub text: String,
    /// Where to search.
    pub scope: Scope,
    /// Which messages may be hits.
    pub filter: Filter,
    /// The most hits to give.
    pub limit: usize,
}

impl Query {
    /// A question to any message of a scope, for ten hits.
    #[must_use]
    pub fn new(text: &str, scope: Scope) -> Self {
        Self { text: text.to_owned(), scope, filter: Filter::default(), limit: 10 }
    }
}

/// What a score means, so that scores of two scales are never compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScoreScale {
    /// A cross-encoder's logit, unbounded.
    Logit,
    /// Cosine, −1..=1.
    Cosine,
    /// BM25, from 0.
    Bm25,
    /// A fusion of several signals, comparable within one answer only.
    Fused,
}

impl ScoreScale {
    /// The scale's name in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Logit => "logit",
            Self::Cosine => "cosine",
            Self::Bm25 => "bm25",
            Self::Fused => "fused",
        }
    }
}

/// A number with its scale; higher is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// The number, finite.
    pub value: f32,
    /// Its scale.
    pub scale: ScoreScale,
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:.3}", self.scale.as_str(), self.value)
    }
}

/// One reason for a hit's place.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    /// The signal's name, as in `bm25`.
    pub name: &'static str,
    /// What it measured.
    pub value: f32,
    /// What it added to the score.
    pub share: f32,
}

/// A node that bears on the question.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Its conversation.
    pub conversation: ConversationId,
    /// The node.
    pub node: NodeId,
    /// How well it answers.
    pub score: Score,
    /// Why, the heaviest signal first.
    pub signals: Vec<Signal>,
}

/// A step on the way to an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchStep {
    /// What was done, as in `rerank`.
    pub name: &'static str,
    /// How long it took.
    pub took: Duration,
    /// How many candidates it looked at.
    pub candidates: usize,
}

/// The answer to a [`Query`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Retrieved {
    /// Best first.
    pub hits: Vec<Hit>,
    /// What the caller ought to know, a line each: for one, that recall was by words only.
    pub notices: Vec<String>,
    /// How the answer came about, one step after the other; nothing from a retriever that does not tell.
    pub steps: Vec<SearchStep>,
}

/// A request for exact words to set beside a view.
#[derive(Clone, Debug, PartialEq)]
pub struct RecallRequest {
    /// The question.
    pub question: String,
    /// The conversation to recall from.
    pub conversation: ConversationId,
    /// Which messages may be hits; their neighbours may be any.
    pub filter: Filter,
    /// The most tokens that the excerpts may cost, a message being its own tokens and `per_message`.
    pub max_tokens: u32,
    /// Tokens that a message costs beside its text.
    pub per_message: u32,
    /// The most characters (Unicode scalar values) that the texts of the excerpts may have; `None` for as many as the
    /// tokens allow.
    pub max_characters: Option<u32>,
    /// The share of both budgets that the simplest question gets, 0..=1; the more complex a question, the nearer to all
    /// of them. At 1 every question gets all.
    pub least_share: f32,
    /// The most hits to take, before their neighbours.
    pub limit: usize,
    /// Messages to show before and after each hit. Without any, a question comes with its answer and an answer with its
    /// question, where that is cheap.
    pub radius: u64,
    /// Whether hits are left out whose chance of being what is asked for is less than their tokens are worth, so that room
    /// is left over, instead of filling the budget with the best of them. Scores on a scale that nothing was fitted to, such
    /// as a cross-encoder's, leave out nothing.
    pub stop_early: bool,
    /// What is shown verbatim already and would be wasted.
    pub shown: Vec<NodeRange>,
}

impl RecallRequest {
    /// The most hits by default.
    pub const LIMIT: usize = 200;

    /// A request for whatever of a conversation bears on a question: any messages, without neighbours, none shown
    /// already; as much of the budget as hits are worth, and nothing for a message beside its text.
    #[must_use]
    pub fn new(question: &str, conversation: &ConversationId, max_tokens: u32) -> Self {
        Self {
            question: question.to_owned(),
            conversation: conversation.clone(),
            filter: Filter::default(),
            max_tokens,
            per_message: 0,
            max_characters: None,
            least_share: 1.0,
            limit: Self::LIMIT,
            radius: 0,
            stop_early: true,
            shown: Vec::new(),
        }
    }
}

/// A run of messages worth showing.
#[derive(Clone, Debug, PartialEq)]
pub struct Excerpt {
    /// The run.
    pub nodes: NodeRange,
    /// The hits in it, best first.
    pub hits: Vec<Hit>,
}

/// Hits that stand in no excerpt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldBack {
    /// How many.
    pub hits: usize,
    /// The best score among them.
    pub best: Score,
}

/// The answer to a [`RecallRequest`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recall {
    /// In order of time; no two overlap or touch.
    pub excerpts: Vec<Excerpt>,
    /// What they cost, as the request counts it.
    pub tokens: u64,
    /// The hits that were not worth their tokens of a budget of this size: room for them is left over, or would be.
    pub not_worth: Option<HeldBack>,
    /// The hits for which no room was left.
    pub no_room: Option<HeldBack>,
    /// What the caller ought to know, a line each, but for `losses`.
    pub notices: Vec<String>,
    /// Nodes that were not searched: they cannot be read.
    pub losses: Losses,
    /// How the answer came about, one step after the other; nothing from a retriever that does not tell.
    pub steps: Vec<SearchStep>,
}

/// What an index had to catch up on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexReport {
    /// Nodes whose words were indexed.
    pub words: u64,
    /// Nodes whose meaning was embedded.
    pub embedded: u64,
    /// What the caller ought to know, a line each.
    pub notices: Vec<String>,
}

/// Told about long work.
pub trait Progress: Send + Sync {
    /// `done` of `total` units are done.
    fn report(&self, done: u64, total: u64);
}

impl Progress for () {
    fn report(&self, _done: u64, _total: u64) {}
}

/// Finds what bears on a question.
///
/// Contract: whatever was appended before the call is found by its words; where there is no embedding
/// model, or vectors are missing, the answer is by words and says so in a notice. Nodes that cannot be read are
/// left out, and said to be. The order of equal scores is fixed. A filter chooses among the nodes before the best of
/// them are taken, so that what passes it is found however little that is, and changes no score but what is measured of
/// the best alone.
pub trait Retriever: fmt::Debug + Send + Sync {
    /// The nodes that answer the question best.
    fn search<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<Retrieved, RetrieveError>>;

    /// The messages worth showing for a question, within a budget that is never exceeded.
    fn recall<'a>(&'a self, request: &'a RecallRequest) -> BoxFuture<'a, Result<Recall, RetrieveError>>;

    /// Brings what is cached about a conversation up to its last node.
    fn catch_up<'a>(
        &'a self,
        conversation: &'a ConversationId,
        progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<IndexReport, RetrieveError>>;
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RetrieveError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The embedder failed in another way than by being absent.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The vector index failed.
    #[error(transparent)]
    Vectors(#[from] VectorError),
    /// The reranker failed.
    #[error(transparent)]
    Rerank(#[from] RerankError),
    /// The backend failed.
    #[error("{backend} failed")]
    Backend {
        /// Which one.
        backend: &'static str,
        /// Why.
        #[source]
        source: BoxError,
    },
}
