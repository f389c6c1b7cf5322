//! Port: search and recall.

use std::{borrow::Cow, collections::BTreeMap, fmt, ops::Range, sync::Arc, time::Duration};

use super::{
    AnsweredBy, BoxError, BoxFuture, CachedInMemory, Conversations, EmbedError, Losses, Notice, RerankError, Scope,
    StoreError, VectorError,
};
use crate::{ConversationId, Filter, Node, NodeId, NodeRange, OwnerId};

/// A question to search for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Query {
    /// The question, in natural language.
    pub text: String,
    /// Conversations to search.
    pub scope: Scope,
    /// Messages that may be hits.
    pub filter: Filter,
    /// Maximum hits.
    pub limit: usize,
    /// Minimum [`relevance`](Hit::relevance) of a hit, 0..=1; 0 accepts all. A hit of unknown relevance is accepted.
    pub min_relevance: f32,
}

impl Query {
    /// A query for up to ten messages of a scope.
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

/// Scale of a score. Scores of different scales must not be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ScoreScale {
    /// Logit of a cross-encoder, unbounded.
    Logit,
    /// Cosine, −1..=1.
    Cosine,
    /// BM25, from 0.
    Bm25,
    /// Fusion of several signals, comparable within one answer only.
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

/// A contribution to a hit's score.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Signal {
    /// Name of the signal, such as `bm25`.
    pub name: Cow<'static, str>,
    /// Measured value.
    pub value: f32,
    /// Contribution to the score.
    pub share: f32,
}

impl Signal {
    /// A signal with its value and share.
    #[must_use]
    pub const fn new(name: &'static str, value: f32, share: f32) -> Self {
        Self { name: Cow::Borrowed(name), value, share }
    }
}

/// A node that was found for a question.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Hit {
    /// Conversation of the node.
    pub conversation: ConversationId,
    /// Node as the retriever read it, so that callers need not read it again.
    pub node: Arc<Node>,
    /// Score of the node.
    pub score: Score,
    /// Probability that the node bears on the question, 0..=1, comparable between answers: below 0.1 for the best hit
    /// of most questions that nothing answers. `None` if unknown.
    pub relevance: Option<f32>,
    /// Signals, the largest share first.
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
    /// Name of the step, such as `rerank`.
    pub name: &'static str,
    /// Duration of the step.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "ms", serialize_with = "crate::wire::millis"),
        schemars(with = "f64")
    )]
    pub took: Duration,
    /// Number of candidates that the step examined.
    pub candidates: usize,
    /// For a step that compared vectors: the methods used in each conversation, without repetition, in order of first
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
    /// Hits, best first.
    pub hits: Vec<Hit>,
    /// Notices for the caller, such as that recall was by words only.
    pub notices: Vec<Notice>,
    /// Steps in order; empty if the retriever does not report them.
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

/// A request for messages to show verbatim next to a view.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RecallRequest {
    /// The question.
    pub question: String,
    /// Conversation to recall from. Messages that it shares with others count as its own.
    pub conversation: ConversationId,
    /// Further conversations to recall from; none by default.
    pub others: Conversations,
    /// Owner of all of them, as in a [`Scope`]; `None` for any.
    pub owner: Option<OwnerId>,
    /// Messages that may be hits. Their neighbours may be any messages.
    pub filter: Filter,
    /// Maximum tokens of the excerpts. A message costs its own tokens plus `per_message`; each shown conversation other
    /// than [`conversation`](Self::conversation) costs `per_conversation`.
    pub max_tokens: u32,
    /// Tokens that a message costs in addition to its text.
    pub per_message: u32,
    /// Tokens that another conversation costs in addition to its messages.
    pub per_conversation: u32,
    /// Maximum characters (Unicode scalar values) of the excerpts; `None` for no limit.
    pub max_characters: Option<u32>,
    /// Share of both budgets for the simplest question, 0..=1. More complex questions get a larger share; at 1 every
    /// question gets all.
    pub least_share: f32,
    /// Maximum hits, not counting their neighbours.
    pub limit: usize,
    /// Number of messages to show before and after each hit. At 0, a question brings its answer and an answer its
    /// question, if cheap.
    pub radius: u64,
    /// True to leave out hits whose probability of being relevant does not justify their tokens, even if room remains,
    /// and all hits if none is likely to bear on the question; false to fill the budget with the best hits. Has no
    /// effect on scores of a scale without fitted probabilities, such as a cross-encoder's.
    pub stop_early: bool,
    /// Maximum tokens of one message: a longer one is shown in part, as [`Excerpt::cuts`] states. `None`, the default,
    /// shows messages whole.
    pub longest: Option<u32>,
    /// Runs of the conversation that are already shown verbatim and not repeated.
    pub shown: Vec<NodeRange>,
}

impl RecallRequest {
    /// The default limit of hits.
    pub const LIMIT: usize = 200;

    /// A request for relevant messages of a conversation: without neighbours or shown runs, with early stopping, and
    /// without a cost per message.
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
            longest: None,
            shown: Vec::new(),
        }
    }

    /// Scope of the search.
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

    /// True if a message is already shown verbatim.
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
        into longest: Option<u32>,
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
    /// Parts to show of messages longer than [`RecallRequest::longest`], as byte ranges of
    /// [`Message::text`](crate::Message::text), in order of node and text: none empty, no two overlap, with ends
    /// between graphemes and outside of numbers. A message without a part here is shown whole.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub cuts: Vec<(NodeId, Range<usize>)>,
}

impl Excerpt {
    /// The run `nodes` of a conversation: its messages in order, all of them whole, and its hits, best first.
    #[must_use]
    pub fn new(conversation: ConversationId, nodes: NodeRange, messages: Vec<Arc<Node>>, hits: Vec<Hit>) -> Self {
        Self { conversation, nodes, messages, hits, cuts: Vec::new() }
    }

    crate::setters! { cuts: Vec<(NodeId, Range<usize>)> }
}

/// Hits that are in no excerpt.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct HeldBack {
    /// Number of hits.
    pub hits: usize,
    /// The best score among them.
    pub best: Score,
}

impl HeldBack {
    /// Number of hits that are in no excerpt, with their best score.
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
    /// Excerpts of the request's conversation first, then those of others, by name; by time within each. No two overlap
    /// or touch.
    pub excerpts: Vec<Excerpt>,
    /// Tokens that the excerpts cost, as the request counts them. The cost of a message shown in part is an estimate:
    /// its tokens in proportion to the bytes shown, with eight more for each part, and a tenth on top.
    pub tokens: u64,
    /// Hits that did not justify their tokens, whether or not room for them is left: all of them, without an excerpt,
    /// if nothing is likely to bear on the question.
    pub not_worth: Option<HeldBack>,
    /// Hits for which there was no room.
    pub no_room: Option<HeldBack>,
    /// Notices for the caller, without those about `losses`.
    pub notices: Vec<Notice>,
    /// Unreadable nodes of the request's conversation, which were not searched. A notice names those of others.
    pub losses: Losses,
    /// Steps in order; empty if the retriever does not report them.
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
    /// Number of nodes whose words were indexed.
    pub words: u64,
    /// Number of nodes that were embedded.
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

/// Finds messages that are relevant to a question.
///
/// Contract: everything that was appended before the call is found by its words. Without an embedding model or vectors,
/// the answer is by words only and a notice states it. Unreadable nodes are left out and reported. The order of equal
/// scores is deterministic. A filter applies before the best nodes are taken, so that matching nodes are found however
/// few they are. A filter changes no score, except signals that are measured only on the best nodes; it may change
/// relevance, which depends on how well the possible hits do. Nothing outside of the scope influences the answer,
/// including scores and counts.
pub trait Retriever: fmt::Debug + Send + Sync {
    /// Searches for the most relevant nodes.
    fn search<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<Retrieved, RetrieveError>>;

    /// Recalls messages worth showing for a question, within a budget that is never exceeded.
    fn recall<'a>(&'a self, request: &'a RecallRequest) -> BoxFuture<'a, Result<Recall, RetrieveError>>;

    /// Updates the caches of a conversation up to its last node.
    fn catch_up<'a>(
        &'a self,
        conversation: &'a ConversationId,
        progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<IndexReport, RetrieveError>>;

    /// Derived data that this process holds in memory; none by default.
    fn held(&self) -> Vec<CachedInMemory> {
        Vec::new()
    }
}

/// Reason for a missing answer.
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
        /// The cause.
        #[source]
        source: BoxError,
    },
}
