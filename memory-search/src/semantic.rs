//! Retrieval by meaning: the little that has no vector yet is embedded, and nodes are scored by cosine.

mod embedding;

use std::{borrow::Cow, sync::Arc};

use memory_core::{
    ConversationId, EmbedError, Embedder, NodeId, NodeRange, Progress, RetrieveError, Store, StoreError, TokenEmbedder,
    TokenIndex, VectorError, VectorIndex,
};

use crate::{
    late::Late,
    lexical::indexed_text,
    nearest::{COMPARED_ALL, Compared},
    notices::{in_full, push_new},
    ranking::Pool,
    selection::Selection,
    stopwatch::Stopwatch,
};

/// The most nodes without a vector, over all that is searched, that a question embeds: what a live conversation
/// appends between two questions.
pub(crate) const MAX_BACKLOG_NODES: u64 = 64;
/// The most text that it embeds of them all together: some 16,000 tokens, a second or two on two cores.
pub(crate) const MAX_BACKLOG_BYTES: usize = 64 << 10;

/// The most of a question that is embedded: a page that someone pastes need not be embedded whole.
pub(crate) const MAX_QUESTION_BYTES: usize = 16 << 10;
const HOW_TO_CATCH_UP: &str = "index the rest first (`Retriever::catch_up`; `memory index` does it)";

/// An embedding model and the index of its vectors, where there are any.
#[derive(Debug)]
pub(crate) struct Semantic {
    embedder: Option<Arc<dyn Embedder>>,
    index: Option<Arc<dyn VectorIndex>>,
    tokens: Option<Arc<dyn TokenIndex>>,
    /// Nodes up to which all of a conversation are compared with a question.
    compared_all: usize,
}

/// A model and an index that fit each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vectors<'a> {
    embedder: &'a dyn Embedder,
    index: &'a dyn VectorIndex,
    tokens: Option<Tokens<'a>>,
}

/// The same model where it gives the vectors of tokens too, and an index that keeps them.
#[derive(Clone, Copy, Debug)]
struct Tokens<'a> {
    embedder: &'a dyn TokenEmbedder,
    index: &'a dyn TokenIndex,
}

/// How near the nodes of a pool are to a question.
#[derive(Debug)]
pub(crate) struct Meaning<'a> {
    /// The cosine of each node; NaN for one without a vector.
    pub(crate) cosines: Vec<f32>,
    /// What is missing of it, a line each.
    pub(crate) notices: Vec<String>,
    /// What compares tokens.
    pub(crate) late: Option<Late<'a>>,
}

/// Why meaning has no say in an answer.
#[derive(Debug)]
pub(crate) enum NoMeaning {
    /// Model or index are not there, or do not fit each other; in words.
    Missing(String),
    /// The model cannot be asked, or it failed.
    Model(EmbedError),
    /// The index failed. It is a cache, and stops no read.
    Index(VectorError),
    /// Something failed without which there is no answer.
    Failed(RetrieveError),
}

impl NoMeaning {
    /// The notice that goes with an answer by words.
    ///
    /// # Errors
    /// What leaves no answer at all.
    pub(crate) fn notice(self) -> Result<String, RetrieveError> {
        match self {
            Self::Failed(error) => Err(error),
            other => Ok(format!("recall is by words only: {}", other.reason())),
        }
    }

    /// What of an explicit request to index everything is worth a notice: that there is nothing to index with.
    ///
    /// # Errors
    /// All else.
    pub(crate) fn notice_of_absence(self) -> Result<String, RetrieveError> {
        match self {
            Self::Index(failed) => Err(failed.into()),
            Self::Model(failed) if !is_absent(&failed) => Err(failed.into()),
            other => other.notice(),
        }
    }

    /// The reason, in words.
    fn reason(&self) -> String {
        match self {
            Self::Missing(why) => why.clone(),
            Self::Model(EmbedError::Unreachable { model, source }) => format!("{model} cannot be asked: {source}"),
            Self::Model(failed) => in_full(failed),
            Self::Index(failed) => format!("the vector index failed ({failed})"),
            Self::Failed(error) => in_full(error),
        }
    }
}

/// Whether there is no model to ask, so that it makes no difference what it is asked.
fn is_absent(error: &EmbedError) -> bool {
    matches!(error, EmbedError::Unavailable { .. } | EmbedError::Unreachable { .. })
}

impl From<EmbedError> for NoMeaning {
    fn from(error: EmbedError) -> Self {
        Self::Model(error)
    }
}

impl From<VectorError> for NoMeaning {
    fn from(error: VectorError) -> Self {
        Self::Index(error)
    }
}

impl From<StoreError> for NoMeaning {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

impl Semantic {
    pub(crate) fn new(embedder: Option<Arc<dyn Embedder>>, index: Option<Arc<dyn VectorIndex>>) -> Self {
        Self { embedder, index, tokens: None, compared_all: COMPARED_ALL }
    }

    pub(crate) fn with_tokens(self, tokens: Arc<dyn TokenIndex>) -> Self {
        Self { tokens: Some(tokens), ..self }
    }

    pub(crate) fn comparing_all_up_to(self, nodes: usize) -> Self {
        Self { compared_all: nodes, ..self }
    }

    /// The model and the index.
    pub(crate) fn vectors(&self) -> Result<Vectors<'_>, NoMeaning> {
        let missing = |why: &str| NoMeaning::Missing(why.to_owned());
        let embedder = self.embedder.as_deref().ok_or_else(|| missing("no embedding model is set up"))?;
        let index = self.index.as_deref().ok_or_else(|| missing("no vector index is set up"))?;
        let (model, dimensions) = (embedder.model(), embedder.dimensions());
        if (model, dimensions) != (index.model(), index.dimensions()) {
            return Err(NoMeaning::Missing(format!(
                "the index holds vectors of {} with {} dimensions, the embedding model is {model} with {dimensions}",
                index.model(),
                index.dimensions(),
            )));
        }
        Ok(Vectors { embedder, index, tokens: self.tokens(embedder) })
    }

    /// Tokens, where the model gives their vectors and the index is of that model: without them there is an answer too.
    fn tokens<'a>(&'a self, embedder: &'a dyn Embedder) -> Option<Tokens<'a>> {
        let (index, model) = (self.tokens.as_deref()?, embedder.model());
        let embedder = embedder.with_tokens()?;
        let fits = (model, embedder.token_dimensions()) == (index.model(), index.dimensions());
        fits.then_some(Tokens { embedder, index })
    }

    /// How near each node of a pool is to a question.
    ///
    /// A small backlog, of at most [`MAX_BACKLOG_NODES`] and [`MAX_BACKLOG_BYTES`] over the whole pool, is embedded
    /// before. Of a larger one nothing is, so that no question waits for long: the vectors that are there must do.
    ///
    /// Of a large conversation the nodes are compared that are near by the index, or among the best by `words`, a
    /// score a node of the pool or nothing.
    pub(crate) async fn meaning<'a>(
        &'a self,
        store: &'a dyn Store,
        question: &str,
        pool: &Pool,
        selection: &Selection,
        words: &[f32],
        stopwatch: &mut Stopwatch,
    ) -> Result<Meaning<'a>, NoMeaning> {
        let vectors = self.vectors()?;
        let (question, late) = vectors.question(store, &ends_of(question)).await?;
        stopwatch.end("embed", 0);
        let embeds = vectors.is_backlog_small(store, pool).await?;
        let (mut cosines, mut notices) = (Vec::new(), Vec::new());
        let mut is_all_tried = true;
        for part in pool.parts() {
            let (conversation, last) = (&part.conversation, part.nodes as u64);
            if embeds {
                for notice in vectors.catch_up_for_question(store, conversation, &part.indexed, last).await? {
                    push_new(&mut notices, notice);
                }
            }
            is_all_tried &= vectors.through(conversation) >= last;
            let (index, conversation, nodes) = (vectors.index, &part.conversation, part.nodes);
            let compared = Compared { index, conversation, question: &question, nodes };
            let mut of_part = if nodes <= self.compared_all {
                compared.all().await?
            } else {
                let places = part.places();
                let may_answer = |index: usize| selection.admits(places.start + index);
                let words = words.get(places.clone()).unwrap_or_default();
                compared.nearest(words, (!selection.is_all()).then_some(may_answer)).await?
            };
            // A node may have been lost since it was embedded.
            for lost in part.losses.runs().iter().flat_map(|run| run.iter()) {
                if let Some(cosine) = of_part.get_mut(lost.index()) {
                    *cosine = f32::NAN;
                }
            }
            cosines.extend(of_part);
        }
        let (all, scored) = (pool.readable(), cosines.iter().filter(|cosine| !cosine.is_nan()).count());
        if scored == 0 && all > 0 {
            let why = notices.pop().map_or_else(|| format!("; {HOW_TO_CATCH_UP}"), |why| format!(": {why}"));
            return Err(NoMeaning::Missing(format!("none of the {all} messages is embedded{why}")));
        }
        stopwatch.end("vectors", scored);
        if scored < all && notices.is_empty() {
            let what_to_do = if is_all_tried { "the others have no vector" } else { HOW_TO_CATCH_UP };
            notices.push(format!("meaning counts for {scored} of {all} messages only; {what_to_do}"));
        }
        Ok(Meaning { notices, cosines, late })
    }
}

impl<'a> Vectors<'a> {
    /// All nodes up to this position have vectors.
    pub(crate) fn through(&self, conversation: &ConversationId) -> u64 {
        self.index.stats(conversation).through
    }

    /// All nodes up to this position have vectors, and tokens if those are kept.
    pub(crate) fn all_through(&self, conversation: &ConversationId) -> u64 {
        let tokens = self.tokens.map(|tokens| tokens.index.stats(conversation).through);
        self.through(conversation).min(tokens.unwrap_or(u64::MAX))
    }

    /// The vector of a question, and what compares its tokens.
    async fn question(&self, store: &'a dyn Store, text: &str) -> Result<(Vec<f32>, Option<Late<'a>>), EmbedError> {
        let Some(Tokens { embedder, index }) = self.tokens else {
            return Ok((self.embedder.embed_query(text).await?, None));
        };
        let question = embedder.embed_query_with_tokens(text).await?;
        Ok((question.whole, Some(Late { question: question.tokens, index, embedder, store })))
    }

    /// Whether a question may embed what has no vector yet. Reads no more text than it takes to tell.
    async fn is_backlog_small(&self, store: &dyn Store, pool: &Pool) -> Result<bool, StoreError> {
        let begins: Vec<_> = pool.parts().iter().map(|part| (part, self.through(&part.conversation))).collect();
        let nodes: u64 = begins.iter().map(|(part, through)| (part.nodes as u64).saturating_sub(*through)).sum();
        if nodes > MAX_BACKLOG_NODES {
            return Ok(false);
        }
        let mut bytes = 0;
        for (part, through) in begins {
            for node in (through + 1..=part.nodes as u64).filter_map(NodeId::new) {
                let read = store.readable_nodes(&part.conversation, NodeRange::single(node)).await?;
                bytes += read.nodes.iter().map(|node| indexed_text(&node.message).len()).sum::<usize>();
                if bytes > MAX_BACKLOG_BYTES {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Has the index do what makes answers fast.
    pub(crate) async fn prepare(
        &self,
        conversation: &ConversationId,
        progress: &dyn Progress,
    ) -> Result<(), VectorError> {
        self.index.prepare(conversation, progress).await
    }
}

/// A question, or of one longer than [`MAX_QUESTION_BYTES`] its two ends: what is asked stands before or after what was
/// pasted.
pub(crate) fn ends_of(question: &str) -> Cow<'_, str> {
    if question.len() <= MAX_QUESTION_BYTES {
        return Cow::Borrowed(question);
    }
    let half = MAX_QUESTION_BYTES / 2;
    let (first, rest) = question.split_at(question.floor_char_boundary(half));
    let (_, last) = rest.split_at(rest.ceil_char_boundary(rest.len() - half + 1));
    Cow::Owned(format!("{first}\n{last}"))
}
