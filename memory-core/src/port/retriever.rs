//! Port: search and recall.

use std::{borrow::Cow, collections::BTreeMap, fmt, sync::Arc, time::Duration};

use super::{
    AnsweredBy, BoxError, BoxFuture, Conversations, EmbedError, HeldInMemory, Losses, Notice, RerankError, Scope,
    StoreError, VectorError,
};
use crate::{ConversationId, Filter, Node, NodeId, NodeRange, OwnerId};

/// A question to search for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Query {
    /// The question, in plain words.
    pub text: String,
    /// Where to search.
    pub scope: Scope,
    /// Messages that may be hits.
    pub filter: Filter,
    /// The most hits to return.
    pub limit: usize,
    /// The least [`relevance`](Hit::relevance) of a hit, 0..=1; 0 for any. A hit of unknown relevance passes.
    pub min_relevance: f32,
}

impl Query {
    /// A query for any message of a scope, with ten hits.
    #[must_use]
    pub fn new(text: &str, scope: Scope) -> Self {
        Self { text: text.to_owned(), scope, filter: Filter::default(), limit: 10, min_relevance: 0.0 }
    }

    crate::setters! {
        filter: Filter,
        const limit: usize,
        const min_relevance: f32,
    }
}

/// The scale of a score, so that scores of different scales are never compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
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

/// One reason for a hit's rank.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Signal {
    /// The signal's name, as in `bm25`.
    pub name: Cow<'static, str>,
    /// Measured value.
    pub value: f32,
    /// Contribution to the score.
    pub share: f32,
}

impl Signal {
    /// A signal that measured `value` and added `share`.
    #[must_use]
    pub const fn new(name: &'static str, value: f32, share: f32) -> Self {
        Self { name: Cow::Borrowed(name), value, share }
    }
}

/// A node that answers a question.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Hit {
    /// Its conversation.
    pub conversation: ConversationId,
    /// The node as the retriever read it, so that it need not be read again.
    pub node: Arc<Node>,
    /// How well it answers.
    pub score: Score,
    /// The probability that it bears on the question, 0..=1, comparable between answers; `None` if it is unknown.
    pub relevance: Option<f32>,
    /// The reasons, the largest share first.
    pub signals: Vec<Signal>,
}

impl Hit {
    /// A hit of unknown relevance without signals.
    #[must_use]
    pub fn new(conversation: ConversationId, node: Arc<Node>, score: Score) -> Self {
        Self { conversation, node, score, relevance: None, signals: Vec::new() }
    }

    crate::setters! {
        into relevance: Option<f32>,
        signals: Vec<Signal>,
    }
}

/// A step of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct SearchStep {
    /// Name of the step, as in `rerank`.
    pub name: &'static str,
    /// How long the step took; on the wire `ms`, in milliseconds.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "ms", serialize_with = "crate::wire::millis"),
        schemars(with = "f64")
    )]
    pub took: Duration,
    /// How many candidates the step examined.
    pub candidates: usize,
    /// If the step compared vectors: how those of each conversation were searched, each way once, in order of first
    /// use.
    pub compared: BTreeMap<ConversationId, Vec<AnsweredBy>>,
}

impl SearchStep {
    /// A step that examined `candidates`.
    #[must_use]
    pub const fn new(name: &'static str, took: Duration, candidates: usize) -> Self {
        Self { name, took, candidates, compared: BTreeMap::new() }
    }

    crate::setters! { compared: BTreeMap<ConversationId, Vec<AnsweredBy>> }
}

/// The answer to a [`Query`].
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Retrieved {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Notices for the caller, such as that recall was by words only.
    pub notices: Vec<Notice>,
    /// The steps in order; empty if the retriever does not report them.
    pub steps: Vec<SearchStep>,
}

impl Retrieved {
    /// An answer of these hits, best first.
    #[must_use]
    pub fn new(hits: Vec<Hit>) -> Self {
        Self { hits, notices: Vec::new(), steps: Vec::new() }
    }

    crate::setters! {
        notices: Vec<Notice>,
        steps: Vec<SearchStep>,
    }
}

/// A request for exact words to show next to a view.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RecallRequest {
    /// The question.
    pub question: String,
    /// The conversation to recall from. A message that others share with it counts as its own.
    pub conversation: ConversationId,
    /// Other conversations to recall from as well; none by default.
    pub others: Conversations,
    /// Owner of all of them, as in a [`Scope`]; any with `None`.
    pub owner: Option<OwnerId>,
    /// Messages that may be hits. Their neighbours may be any messages.
    pub filter: Filter,
    /// The most tokens that the excerpts may cost. A message costs its own tokens and `per_message`, and each of the
    /// other conversations that is shown costs `per_conversation`.
    pub max_tokens: u32,
    /// Tokens that a message costs in addition to its text.
    pub per_message: u32,
    /// Tokens that another conversation costs in addition to its messages.
    pub per_conversation: u32,
    /// The most characters (Unicode scalar values) of the texts of the excerpts; `None` if only the tokens limit them.
    pub max_characters: Option<u32>,
    /// The share of both budgets that the simplest question gets, 0..=1. The more complex a question, the nearer its
    /// share is to 1. At 1 every question gets all.
    pub least_share: f32,
    /// The most hits to take, before their neighbours.
    pub limit: usize,
    /// Messages to show before and after each hit. At 0, a question comes with its answer and an answer with its
    /// question, where that is cheap.
    pub radius: u64,
    /// True to leave out hits that are less likely to be relevant than their tokens are worth, so that room is left
    /// over, instead of filling the budget with the best hits. Scores on a scale that nothing was fitted to, such as a
    /// cross-encoder's, leave out nothing.
    pub stop_early: bool,
    /// Runs of the conversation that are shown verbatim already, and need not be repeated.
    pub shown: Vec<NodeRange>,
}

impl RecallRequest {
    /// The default limit of hits.
    pub const LIMIT: usize = 200;

    /// A request for any messages of a conversation that answer a question: without neighbours, with nothing shown
    /// already, with early stopping, and with no cost for a message in addition to its text.
    #[must_use]
    pub fn new(question: &str, conversation: &ConversationId, max_tokens: u32) -> Self {
        Self {
            question: question.to_owned(),
            conversation: conversation.clone(),
            others: Conversations::Only(Vec::new()),
            owner: None,
            filter: Filter::default(),
            max_tokens,
            per_message: 0,
            per_conversation: 0,
            max_characters: None,
            least_share: 1.0,
            limit: Self::LIMIT,
            radius: 0,
            stop_early: true,
            shown: Vec::new(),
        }
    }

    /// Scope that it searches.
    #[must_use]
    pub fn scope(&self) -> Scope {
        let conversations = match &self.others {
            Conversations::All => Conversations::All,
            Conversations::Only(others) => {
                Conversations::Only(std::iter::once(&self.conversation).chain(others).cloned().collect())
            }
        };
        Scope { owner: self.owner.clone(), conversations }
    }

    /// True if a message is shown verbatim already.
    #[must_use]
    pub fn is_shown(&self, conversation: &ConversationId, node: NodeId) -> bool {
        *conversation == self.conversation && self.shown.iter().any(|run| run.contains(node))
    }

    crate::setters! {
        others: Conversations,
        into owner: Option<OwnerId>,
        filter: Filter,
        const per_message: u32,
        const per_conversation: u32,
        into max_characters: Option<u32>,
        const least_share: f32,
        const limit: usize,
        const radius: u64,
        const stop_early: bool,
        shown: Vec<NodeRange>,
    }
}

/// A run of messages worth showing.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Excerpt {
    /// Their conversation.
    pub conversation: ConversationId,
    /// The run.
    pub nodes: NodeRange,
    /// All messages of the run, in order, as the retriever read them.
    pub messages: Vec<Arc<Node>>,
    /// The hits in it, best first.
    pub hits: Vec<Hit>,
}

impl Excerpt {
    /// The run `nodes` of a conversation: its messages in order, and its hits, best first.
    #[must_use]
    pub fn new(conversation: ConversationId, nodes: NodeRange, messages: Vec<Arc<Node>>, hits: Vec<Hit>) -> Self {
        Self { conversation, nodes, messages, hits }
    }
}

/// Hits that are in no excerpt.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct HeldBack {
    /// How many.
    pub hits: usize,
    /// The best score among them.
    pub best: Score,
}

impl HeldBack {
    /// Hits that are in no excerpt: how many, and the best score among them.
    #[must_use]
    pub const fn new(hits: usize, best: Score) -> Self {
        Self { hits, best }
    }
}

/// The answer to a [`RecallRequest`].
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Recall {
    /// Excerpts of the request's conversation first, then those of others, by name; in order of time in each. No two
    /// overlap or touch.
    pub excerpts: Vec<Excerpt>,
    /// Tokens that the excerpts cost, as the request counts them.
    pub tokens: u64,
    /// The hits that were not worth their tokens of a budget of this size, whether or not room for them is left.
    pub not_worth: Option<HeldBack>,
    /// The hits for which no room was left.
    pub no_room: Option<HeldBack>,
    /// Notices for the caller, except `losses`.
    pub notices: Vec<Notice>,
    /// Nodes of the request's conversation that were not searched because they cannot be read. A notice names those of
    /// others.
    pub losses: Losses,
    /// The steps in order; empty if the retriever does not report them.
    pub steps: Vec<SearchStep>,
}

impl Recall {
    /// An answer of these excerpts.
    #[must_use]
    pub fn new(excerpts: Vec<Excerpt>) -> Self {
        Self {
            excerpts,
            tokens: 0,
            not_worth: None,
            no_room: None,
            notices: Vec::new(),
            losses: Losses::default(),
            steps: Vec::new(),
        }
    }

    crate::setters! {
        const tokens: u64,
        into not_worth: Option<HeldBack>,
        into no_room: Option<HeldBack>,
        notices: Vec<Notice>,
        losses: Losses,
        steps: Vec<SearchStep>,
    }
}

/// Report of [`Retriever::catch_up`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexReport {
    /// Nodes whose words were indexed.
    pub words: u64,
    /// Nodes whose meaning was embedded.
    pub embedded: u64,
    /// Notices for the caller.
    pub notices: Vec<Notice>,
}

impl IndexReport {
    crate::setters! {
        const words: u64,
        const embedded: u64,
        notices: Vec<Notice>,
    }
}

/// Receives the progress of long work.
pub trait Progress: Send + Sync {
    /// `done` of `total` units are done.
    fn report(&self, done: u64, total: u64);
}

impl Progress for () {
    fn report(&self, _done: u64, _total: u64) {}
}

/// Finds the messages that answer a question.
///
/// Contract: whatever was appended before the call is found by its words. Without an embedding model, or where vectors
/// are missing, the answer is by words and a notice states it. Nodes that cannot be read are left out and reported. The
/// order of equal scores is fixed. A filter applies before the best nodes are taken, so that a node that passes is
/// found however few there are. A filter changes no score except signals that are measured on the best nodes alone.
/// Relevances do change with a filter, since they are chances among the possible hits. Nothing outside of the scope
/// bears on the answer, scores and counts included.
pub trait Retriever: fmt::Debug + Send + Sync {
    /// The nodes that answer the question best.
    fn search<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<Retrieved, RetrieveError>>;

    /// The messages worth showing for a question, within a budget that is never exceeded.
    fn recall<'a>(&'a self, request: &'a RecallRequest) -> BoxFuture<'a, Result<Recall, RetrieveError>>;

    /// Brings the caches of a conversation up to its last node.
    fn catch_up<'a>(
        &'a self,
        conversation: &'a ConversationId,
        progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<IndexReport, RetrieveError>>;

    /// How much this process holds in memory of what is derived from the log; nothing by default.
    fn held(&self) -> Vec<HeldInMemory> {
        Vec::new()
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RetrieveError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The embedder failed for another reason than being absent.
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
        /// The backend.
        backend: &'static str,
        /// Why.
        #[source]
        source: BoxError,
    },
}
