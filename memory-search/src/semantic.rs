//! Retrieval by meaning: the little that has no vector yet is embedded, and nodes are scored by cosine.

use std::{borrow::Cow, sync::Arc};

use memory_core::{
    ConversationId, EmbedError, Embedder, NodeId, NodeRange, Progress, ReadNodes, RetrieveError, Store, StoreError,
    VectorError, VectorHit, VectorIndex, VectorPart, VectorQuery,
};

use crate::{
    lexical::{Indexed, indexed_text},
    ranking::Pool,
};

/// Nodes embedded, and handed to the index, at a time.
const BATCH: u64 = 256;
/// Batches after which the index is put on disk, so that an interrupted run loses little.
const BATCHES_BETWEEN_FLUSHES: u64 = 16;

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
}

/// A model and an index that fit each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vectors<'a> {
    embedder: &'a dyn Embedder,
    index: &'a dyn VectorIndex,
}

/// How near the nodes of a pool are to a question.
#[derive(Debug)]
pub(crate) struct Meaning {
    /// The cosine of each node; NaN for one without a vector.
    pub(crate) cosines: Vec<f32>,
    /// Says so where some nodes have no vector.
    pub(crate) notice: Option<String>,
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
        Self { embedder, index }
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
        Ok(Vectors { embedder, index })
    }

    /// How near each node of a pool is to a question.
    ///
    /// A small backlog, of at most [`MAX_BACKLOG_NODES`] and [`MAX_BACKLOG_BYTES`] over the whole pool, is embedded
    /// before. Of a larger one nothing is, so that no question waits for long: the vectors that are there must do.
    pub(crate) async fn meaning(&self, store: &dyn Store, question: &str, pool: &Pool) -> Result<Meaning, NoMeaning> {
        let vectors = self.vectors()?;
        let question = vectors.embedder.embed_query(&ends_of(question)).await?;
        let embeds = vectors.is_backlog_small(store, pool).await?;
        let mut cosines = Vec::new();
        for part in pool.parts() {
            if embeds {
                vectors.catch_up(store, &part.conversation, &part.indexed, part.nodes as u64, &()).await?;
            }
            let mut of_part = vectors.cosines(&part.conversation, &question, part.nodes).await?;
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
        let partial = || format!("meaning counts for {scored} of {all} messages only; {HOW_TO_CATCH_UP}");
        Ok(Meaning { notice: (scored < all).then(partial), cosines })
    }
}

impl Vectors<'_> {
    /// All nodes up to this position have vectors.
    pub(crate) fn through(&self, conversation: &ConversationId) -> u64 {
        self.index.stats(conversation).through
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

    /// Embeds the nodes behind those that have vectors, up to `last`; gives how many.
    pub(crate) async fn catch_up(
        &self,
        store: &dyn Store,
        conversation: &ConversationId,
        indexed: &Indexed,
        last: u64,
        progress: &dyn Progress,
    ) -> Result<u64, NoMeaning> {
        let begun = self.through(conversation);
        if begun >= last {
            return Ok(0);
        }
        let _embedding = indexed.embedding.lock().await;
        let (mut embedded, mut batches) = (0, 0);
        while let Some(batch) = batch_after(self.through(conversation), last) {
            embedded += self.embed(store, conversation, batch).await?;
            if self.through(conversation) < batch.first().get() {
                break;
            }
            batches += 1;
            if batches % BATCHES_BETWEEN_FLUSHES == 0 {
                self.index.flush().await?;
            }
            progress.report(self.through(conversation).min(last).saturating_sub(begun), last - begun);
        }
        if batches % BATCHES_BETWEEN_FLUSHES > 0 {
            self.index.flush().await?;
        }
        Ok(embedded)
    }

    /// Embeds one batch, in which lost nodes keep their places without a vector; gives how many nodes it embedded.
    async fn embed(
        &self,
        store: &dyn Store,
        conversation: &ConversationId,
        batch: NodeRange,
    ) -> Result<u64, NoMeaning> {
        let ReadNodes { nodes, losses } = store.readable_nodes(conversation, batch).await?;
        let texts: Vec<_> = nodes.iter().map(|node| indexed_text(&node.message)).collect();
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        let vectors = if texts.is_empty() { Vec::new() } else { self.embedder.embed_documents(&texts).await? };
        if vectors.len() != nodes.len() {
            let what = format!("vectors of {} texts for {}", vectors.len(), nodes.len());
            return Err(EmbedError::BadOutput { model: self.embedder.model().clone(), what }.into());
        }
        let embedded = vectors.len() as u64;
        let mut nodes: Vec<_> = nodes.iter().map(|node| node.id).zip(vectors).collect();
        nodes.extend(losses.runs().iter().flat_map(|run| run.iter()).map(|lost| (lost, Vec::new())));
        nodes.sort_by_key(|(node, _)| *node);
        match self.index.insert(conversation, &nodes).await {
            Ok(()) => Ok(embedded),
            // Another process embedded them in the meantime.
            Err(VectorError::OutOfOrder { .. }) if self.through(conversation) >= batch.first().get() => Ok(0),
            Err(failed) => Err(failed.into()),
        }
    }

    /// How near the first `nodes` nodes of a conversation are to a question.
    ///
    /// A message of several chunks counts half by its first, which tells what it is about, and half by its best: by
    /// the best alone, long messages crowd out short ones, each having many tries.
    async fn cosines(
        &self,
        conversation: &ConversationId,
        question: &[f32],
        nodes: usize,
    ) -> Result<Vec<f32>, VectorError> {
        let mut best = vec![f32::NAN; nodes];
        let mut first = vec![f32::NAN; nodes];
        let parts = [VectorPart::whole(conversation)];
        let query = VectorQuery { vector: question, limit: usize::MAX, parts: &parts };
        for VectorHit { slot, cosine, .. } in self.index.search(&query).await?.hits {
            let index = slot.node.index();
            if let Some(best) = best.get_mut(index) {
                *best = best.max(cosine);
            }
            if let Some(first) = first.get_mut(index).filter(|_| slot.chunk == 0) {
                *first = cosine;
            }
        }
        Ok(first.into_iter().zip(best).map(|(first, best)| f32::midpoint(first, best)).collect())
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
