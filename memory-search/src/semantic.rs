//! Retrieval by meaning: the little that has no vector yet is embedded, and nodes are scored by cosine.

use std::{borrow::Cow, sync::Arc};

use memory_core::{
    ConversationId, EmbedError, Embedder, NodeId, NodeRange, Progress, ReadNodes, RetrieveError, Store, StoreError,
    TokenEmbedder, TokenIndex, TokenVectors, VectorError, VectorIndex,
};

use crate::{
    late::{Late, joined},
    lexical::{Indexed, indexed_text},
    nearest::{COMPARED_ALL, Compared},
    ranking::Pool,
    selection::Selection,
    stopwatch::Stopwatch,
};

/// Nodes embedded, and handed to the index, at a time.
const BATCH: u64 = 64;
/// Batches after which the index is put on disk, so that an interrupted run loses little.
const BATCHES_BETWEEN_FLUSHES: u64 = 64;

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

/// What embedding a run of nodes gives.
struct Embedded {
    /// Each node with the vectors of its chunks.
    vectors: Vec<(NodeId, Vec<Vec<f32>>)>,
    /// Each node with its tokens, where they are kept.
    tokens: Vec<(NodeId, TokenVectors)>,
    /// How many nodes the model read.
    count: u64,
}

/// How near the nodes of a pool are to a question.
#[derive(Debug)]
pub(crate) struct Meaning<'a> {
    /// The cosine of each node; NaN for one without a vector.
    pub(crate) cosines: Vec<f32>,
    /// Says so where some nodes have no vector.
    pub(crate) notice: Option<String>,
    /// What compares tokens.
    pub(crate) late: Option<Late<'a>>,
}

/// Why meaning has no say in an answer.
#[derive(Debug)]
pub(crate) enum NoMeaning {
    /// Model or index are not there, or do not fit each other; in words.
    Missing(String),
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
            Self::Missing(why) => Ok(format!("recall is by words only: {why}")),
            Self::Index(failed) => Ok(format!("recall is by words only: the vector index failed ({failed})")),
            Self::Failed(error) => Err(error),
        }
    }
}

impl From<EmbedError> for NoMeaning {
    fn from(error: EmbedError) -> Self {
        match error {
            EmbedError::Unavailable { .. } => Self::Missing(error.to_string()),
            EmbedError::Unreachable { model, source } => Self::Missing(format!("{model} cannot be asked: {source}")),
            other => Self::Failed(other.into()),
        }
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
        let mut cosines = Vec::new();
        for part in pool.parts() {
            if embeds {
                vectors.catch_up_vectors(store, &part.conversation, &part.indexed, part.nodes as u64, &()).await?;
            }
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
            return Err(NoMeaning::Missing(format!("none of the {all} messages is embedded; {HOW_TO_CATCH_UP}")));
        }
        stopwatch.end("vectors", scored);
        let partial = || format!("meaning counts for {scored} of {all} messages only; {HOW_TO_CATCH_UP}");
        Ok(Meaning { notice: (scored < all).then(partial), cosines, late })
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

    /// Embeds the nodes behind those that have vectors, and those behind the ones that have tokens, up to `last`; gives
    /// how many.
    pub(crate) async fn catch_up(
        &self,
        store: &dyn Store,
        conversation: &ConversationId,
        indexed: &Indexed,
        last: u64,
        progress: &dyn Progress,
    ) -> Result<u64, NoMeaning> {
        self.embed_behind(store, conversation, indexed, last, progress, Self::all_through).await
    }

    /// Embeds the nodes behind those that have vectors, up to `last`; gives how many. Keeps their tokens, unless those of
    /// nodes before them are missing.
    pub(crate) async fn catch_up_vectors(
        &self,
        store: &dyn Store,
        conversation: &ConversationId,
        indexed: &Indexed,
        last: u64,
        progress: &dyn Progress,
    ) -> Result<u64, NoMeaning> {
        self.embed_behind(store, conversation, indexed, last, progress, Self::through).await
    }

    async fn embed_behind(
        &self,
        store: &dyn Store,
        conversation: &ConversationId,
        indexed: &Indexed,
        last: u64,
        progress: &dyn Progress,
        through: impl Fn(&Self, &ConversationId) -> u64,
    ) -> Result<u64, NoMeaning> {
        let begun = through(self, conversation);
        if begun >= last {
            return Ok(0);
        }
        let _embedding = indexed.embedding.lock().await;
        let (mut count, mut batches) = (0, 0);
        while let Some(batch) = batch_after(through(self, conversation), last) {
            let embedded = self.embed(store, conversation, batch).await?;
            count += embedded.count;
            self.insert(conversation, embedded).await?;
            if through(self, conversation) < batch.first().get() {
                break;
            }
            batches += 1;
            if batches % BATCHES_BETWEEN_FLUSHES == 0 {
                self.flush().await?;
            }
            progress.report(through(self, conversation).min(last).saturating_sub(begun), last - begun);
        }
        if batches % BATCHES_BETWEEN_FLUSHES > 0 {
            self.flush().await?;
        }
        Ok(count)
    }

    /// Has the index do what makes answers fast.
    pub(crate) async fn prepare(
        &self,
        conversation: &ConversationId,
        progress: &dyn Progress,
    ) -> Result<(), VectorError> {
        self.index.prepare(conversation, progress).await
    }

    async fn flush(&self) -> Result<(), VectorError> {
        if let Some(tokens) = self.tokens {
            tokens.index.flush().await?;
        }
        self.index.flush().await
    }

    /// Embeds one batch, in which lost nodes keep their places without a vector.
    async fn embed(
        &self,
        store: &dyn Store,
        conversation: &ConversationId,
        batch: NodeRange,
    ) -> Result<Embedded, NoMeaning> {
        let ReadNodes { nodes, losses } = store.readable_nodes(conversation, batch).await?;
        let texts: Vec<_> = nodes.iter().map(|node| indexed_text(&node.message)).collect();
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        // Tokens are kept of a row of nodes without a gap.
        let tokens = self.tokens.filter(|tokens| tokens.index.stats(conversation).through + 1 >= batch.first().get());
        let (vectors, tokens) = match tokens {
            _ if texts.is_empty() => (Vec::new(), tokens.map(|_| Vec::new())),
            None => (self.embedder.embed_documents(&texts).await?, None),
            Some(tokens) => {
                let (vectors, tokens) = tokens.embed(&texts).await?;
                (vectors, Some(tokens))
            }
        };
        if vectors.len() != nodes.len() {
            let what = format!("vectors of {} texts for {}", vectors.len(), nodes.len());
            return Err(EmbedError::BadOutput { model: self.embedder.model().clone(), what }.into());
        }
        let ids = || nodes.iter().map(|node| node.id);
        let lost = || losses.runs().iter().flat_map(|run| run.iter());
        let count = vectors.len() as u64;
        let mut vectors: Vec<_> = ids().zip(vectors).chain(lost().map(|lost| (lost, Vec::new()))).collect();
        vectors.sort_by_key(|(node, _)| *node);
        let with_lost = |tokens| ids().zip(tokens).chain(lost().map(|lost| (lost, TokenVectors::default())));
        let mut tokens: Vec<_> = tokens.map(with_lost).into_iter().flatten().collect();
        tokens.sort_by_key(|(node, _)| *node);
        Ok(Embedded { vectors, tokens, count })
    }

    /// Hands over what is missing of it.
    async fn insert(&self, conversation: &ConversationId, embedded: Embedded) -> Result<(), NoMeaning> {
        let Embedded { mut vectors, mut tokens, .. } = embedded;
        let through = self.through(conversation);
        vectors.retain(|(node, _)| node.get() > through);
        match self.index.insert(conversation, &vectors).await {
            Ok(()) => {}
            // Another process embedded them in the meantime.
            Err(VectorError::OutOfOrder { found, .. }) if self.through(conversation) >= found.get() => {}
            Err(failed) => return Err(failed.into()),
        }
        let Some(kept) = self.tokens else { return Ok(()) };
        let through = kept.index.stats(conversation).through;
        tokens.retain(|(node, _)| node.get() > through);
        match kept.index.insert(conversation, &tokens).await {
            Err(VectorError::OutOfOrder { found, .. }) if kept.index.stats(conversation).through >= found.get() => {
                Ok(())
            }
            inserted => Ok(inserted?),
        }
    }
}

impl Tokens<'_> {
    /// The vectors of each text's chunks, and those of all its tokens.
    async fn embed(&self, texts: &[&str]) -> Result<(Vec<Vec<Vec<f32>>>, Vec<TokenVectors>), EmbedError> {
        let found = self.embedder.embed_documents_with_tokens(texts).await?;
        let (mut vectors, mut tokens): (Vec<_>, Vec<_>) = (Vec::new(), Vec::new());
        for chunks in found {
            tokens.push(joined(self.embedder.model(), chunks.iter().map(|chunk| &chunk.tokens))?);
            vectors.push(chunks.into_iter().map(|chunk| chunk.whole).collect());
        }
        Ok((vectors, tokens))
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

fn batch_after(through: u64, last: u64) -> Option<NodeRange> {
    let end = through.saturating_add(BATCH).min(last);
    NodeRange::new(NodeId::new(through + 1)?, NodeId::new(end)?)
}
