//! Fake stores, models and indexes that count calls, fail, or return what a test sets.

mod blocks;

use std::{
    collections::BTreeMap,
    ops::Deref,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use memory_core::{
    ConversationId, ModelId, NodeId, NodeOutline, NodeRange, NodeSet, Summary,
    port::{
        AnsweredBy, BoxFuture, ConversationState, EmbedError, Embedder, ReadNodes, Slot, Source, StoreError,
        TokenEmbedder, TokenEmbedding, VectorAnswer, VectorError, VectorHit, VectorIndex, VectorIndexStats, VectorPart,
        VectorQuery,
    },
    testing::{HashEmbedder, MemoryStore},
};

pub(super) use blocks::MemoryBlocks;

/// Counts the nodes that are read from it.
#[derive(Debug, Default)]
pub(super) struct CountingStore {
    store: MemoryStore,
    nodes_read: AtomicU64,
}

impl CountingStore {
    pub(super) fn lose(&self, id: &ConversationId, node: u64) {
        self.store.lose_node(id, NodeId::new(node).unwrap());
    }

    pub(super) fn reads(&self, id: &ConversationId, node: u64) -> u64 {
        self.store.reads(id).get(&NodeId::new(node).unwrap()).copied().unwrap_or_default()
    }

    pub(super) fn outlines_read(&self, id: &ConversationId) -> u64 {
        self.store.outlines_read(id)
    }

    pub(super) fn nodes_read(&self) -> u64 {
        self.nodes_read.load(Ordering::Relaxed)
    }
}

type StoreResult<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

impl Deref for CountingStore {
    type Target = MemoryStore;

    fn deref(&self) -> &MemoryStore {
        &self.store
    }
}

impl Source for CountingStore {
    fn conversation<'a>(&'a self, id: &'a ConversationId) -> StoreResult<'a, ConversationState> {
        self.store.conversation(id)
    }

    fn conversations(&self) -> StoreResult<'_, Vec<ConversationState>> {
        self.store.conversations()
    }

    fn readable_nodes<'a>(&'a self, id: &'a ConversationId, range: NodeRange) -> StoreResult<'a, ReadNodes> {
        self.nodes_read.fetch_add(range.count(), Ordering::Relaxed);
        self.store.readable_nodes(id, range)
    }

    fn whole_nodes<'a>(&'a self, id: &'a ConversationId, range: NodeRange) -> StoreResult<'a, ReadNodes> {
        self.nodes_read.fetch_add(range.count(), Ordering::Relaxed);
        self.store.whole_nodes(id, range)
    }

    fn outline<'a>(&'a self, id: &'a ConversationId) -> StoreResult<'a, Vec<NodeOutline>> {
        self.store.outline(id)
    }

    fn summaries<'a>(&'a self, id: &'a ConversationId) -> StoreResult<'a, Vec<Summary>> {
        self.store.summaries(id)
    }
}

/// Each node with its chunks.
type Vectors = Vec<(NodeId, Vec<Vec<f32>>)>;

/// Scores every vector, one after the other.
#[derive(Debug)]
pub(super) struct ExactIndex {
    model: ModelId,
    dimensions: usize,
    vectors: Mutex<BTreeMap<ConversationId, Vectors>>,
    unflushed: AtomicU64,
    /// For each search, the limit and how many vectors were scored.
    asked: Mutex<Vec<(usize, usize)>>,
}

impl ExactIndex {
    pub(super) fn of(embedder: &dyn Embedder) -> Self {
        let (model, dimensions) = (embedder.model().clone(), embedder.dimensions());
        Self { model, dimensions, vectors: Mutex::default(), unflushed: AtomicU64::new(0), asked: Mutex::default() }
    }

    pub(super) fn asked(&self) -> Vec<(usize, usize)> {
        self.asked.lock().unwrap().clone()
    }

    pub(super) fn unflushed(&self) -> u64 {
        self.unflushed.load(Ordering::Relaxed)
    }
}

impl VectorIndex for ExactIndex {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn stats(&self, conversation: &ConversationId) -> VectorIndexStats {
        let all = self.vectors.lock().unwrap();
        let vectors = all.get(conversation).map_or(&[][..], Vec::as_slice);
        let through = vectors.last().map_or(0, |(node, _)| node.get());
        let vectors = vectors.iter().map(|(_, chunks)| chunks.len() as u64).sum();
        VectorIndexStats::default().vectors(vectors).through(through)
    }

    fn insert<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a [(NodeId, Vec<Vec<f32>>)],
    ) -> BoxFuture<'a, Result<(), VectorError>> {
        Box::pin(async move {
            let through = self.stats(conversation).through;
            let mut all = self.vectors.lock().unwrap();
            for (offset, &(found, _)) in (1..).zip(nodes) {
                let expected = NodeId::new(through + offset).unwrap();
                if found != expected {
                    return Err(VectorError::OutOfOrder { expected, found });
                }
            }
            all.entry(conversation.clone()).or_default().extend_from_slice(nodes);
            self.unflushed.fetch_add(nodes.len() as u64, Ordering::Relaxed);
            Ok(())
        })
    }

    fn remove<'a>(&'a self, id: &'a ConversationId, nodes: &'a NodeSet) -> BoxFuture<'a, Result<u64, VectorError>> {
        Box::pin(async move {
            let mut removed = 0;
            for (node, chunks) in self.vectors.lock().unwrap().entry(id.clone()).or_default() {
                if nodes.contains(*node) {
                    removed += std::mem::take(chunks).len() as u64;
                }
            }
            Ok(removed)
        })
    }

    fn search<'a>(&'a self, query: &'a VectorQuery<'a>) -> BoxFuture<'a, Result<VectorAnswer, VectorError>> {
        Box::pin(async move {
            let all = self.vectors.lock().unwrap();
            let mut hits = Vec::new();
            for (part, VectorPart { conversation, only, .. }) in query.parts.iter().enumerate() {
                let held = all.get(conversation).map_or(&[][..], Vec::as_slice);
                for (node, chunks) in held.iter().filter(|(node, _)| only.is_none_or(|only| only.contains(*node))) {
                    hits.extend((0..).zip(chunks).map(|(chunk, vector)| {
                        VectorHit::new(
                            part,
                            Slot { node: *node, chunk },
                            vector.iter().zip(query.vector).map(|(a, b)| a * b).sum(),
                        )
                    }));
                }
            }
            self.asked.lock().unwrap().push((query.limit, hits.len()));
            hits.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then((a.part, a.slot).cmp(&(b.part, b.slot))));
            hits.truncate(query.limit);
            Ok(VectorAnswer::new(hits, vec![AnsweredBy::Scan; query.parts.len()]))
        })
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), VectorError>> {
        Box::pin(async {
            self.unflushed.store(0, Ordering::Relaxed);
            Ok(())
        })
    }
}

/// Rejects vectors.
#[derive(Debug)]
pub(super) struct FailingIndex(pub(super) ModelId);

fn failure() -> VectorError {
    VectorError::Backend { backend: "test", source: "broken".into() }
}

impl VectorIndex for FailingIndex {
    fn model(&self) -> &ModelId {
        &self.0
    }

    fn dimensions(&self) -> usize {
        64
    }

    fn stats(&self, _: &ConversationId) -> VectorIndexStats {
        VectorIndexStats::default()
    }

    fn insert<'a>(
        &'a self,
        _: &'a ConversationId,
        _: &'a [(NodeId, Vec<Vec<f32>>)],
    ) -> BoxFuture<'a, Result<(), VectorError>> {
        Box::pin(async { Err(failure()) })
    }

    fn remove<'a>(&'a self, _: &'a ConversationId, _: &'a NodeSet) -> BoxFuture<'a, Result<u64, VectorError>> {
        Box::pin(async { Err(failure()) })
    }

    fn search<'a>(&'a self, _: &'a VectorQuery<'a>) -> BoxFuture<'a, Result<VectorAnswer, VectorError>> {
        Box::pin(async { Err(failure()) })
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), VectorError>> {
        Box::pin(async { Err(failure()) })
    }
}

type Documents = Vec<Vec<Vec<f32>>>;

/// A model that was never fetched.
#[derive(Debug)]
pub(super) struct NoModel(pub(super) ModelId);

impl NoModel {
    fn unavailable() -> EmbedError {
        EmbedError::Unavailable { what: "the model".into(), how: "fetch it".into() }
    }
}

impl Embedder for NoModel {
    fn model(&self) -> &ModelId {
        &self.0
    }

    fn dimensions(&self) -> usize {
        64
    }

    fn embed_documents<'a>(&'a self, _: &'a [&'a str]) -> BoxFuture<'a, Result<Documents, EmbedError>> {
        Box::pin(async { Err(Self::unavailable()) })
    }

    fn embed_query<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
        Box::pin(async { Err(Self::unavailable()) })
    }
}

/// Counts the texts that it embeds and the bytes of a question, and lets other threads run meanwhile.
#[derive(Debug)]
pub(super) struct CountingEmbedder {
    embedder: HashEmbedder,
    texts: AtomicU64,
    question_bytes: AtomicU64,
    most_bytes: AtomicU64,
}

impl CountingEmbedder {
    pub(super) fn new(dimensions: usize) -> Self {
        let [texts, question_bytes, most_bytes] = [0; 3].map(AtomicU64::new);
        Self { embedder: HashEmbedder::new(dimensions), texts, question_bytes, most_bytes }
    }

    /// Bytes of the last question.
    pub(super) fn question_bytes(&self) -> u64 {
        self.question_bytes.load(Ordering::Relaxed)
    }

    /// The most bytes of texts that were embedded together.
    pub(super) fn most_bytes(&self) -> u64 {
        self.most_bytes.load(Ordering::Relaxed)
    }

    fn count(&self, texts: &[&str]) {
        self.texts.fetch_add(texts.len() as u64, Ordering::Relaxed);
        self.most_bytes.fetch_max(texts.iter().map(|text| text.len() as u64).sum(), Ordering::Relaxed);
    }

    pub(super) fn texts(&self) -> u64 {
        self.texts.load(Ordering::Relaxed)
    }
}

impl Embedder for CountingEmbedder {
    fn model(&self) -> &ModelId {
        self.embedder.model()
    }

    fn dimensions(&self) -> usize {
        self.embedder.dimensions()
    }

    fn embed_documents<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Documents, EmbedError>> {
        self.count(texts);
        std::thread::yield_now();
        self.embedder.embed_documents(texts)
    }

    fn embed_query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
        self.question_bytes.store(text.len() as u64, Ordering::Relaxed);
        self.embedder.embed_query(text)
    }

    fn with_tokens(&self) -> Option<&dyn TokenEmbedder> {
        Some(self)
    }
}

impl TokenEmbedder for CountingEmbedder {
    fn token_dimensions(&self) -> usize {
        self.embedder.token_dimensions()
    }

    fn embed_documents_with_tokens<'a>(
        &'a self,
        texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Vec<TokenEmbedding>>, EmbedError>> {
        self.count(texts);
        self.embedder.embed_documents_with_tokens(texts)
    }

    fn embed_query_with_tokens<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<TokenEmbedding, EmbedError>> {
        self.embedder.embed_query_with_tokens(text)
    }
}

/// Returns one vector too few.
#[derive(Debug)]
pub(super) struct WrongCount(pub(super) HashEmbedder);

impl Embedder for WrongCount {
    fn model(&self) -> &ModelId {
        self.0.model()
    }

    fn dimensions(&self) -> usize {
        self.0.dimensions()
    }

    fn embed_documents<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Documents, EmbedError>> {
        self.0.embed_documents(&texts[1..])
    }

    fn embed_query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
        self.0.embed_query(text)
    }
}

/// Two dimensions: a text has a chunk at each angle, in degrees, that is given for the word it ends in; every
/// question lies at one angle.
#[derive(Debug)]
pub(super) struct FewChunks {
    model: ModelId,
    angles: BTreeMap<&'static str, Vec<f32>>,
    question: f32,
}

impl FewChunks {
    pub(super) fn new<const N: usize>(angles: [(&'static str, Vec<f32>); N], question: f32) -> Self {
        Self { model: ModelId::new("angles"), angles: angles.into(), question }
    }
}

fn at(angle: f32) -> Vec<f32> {
    let (sin, cos) = angle.to_radians().sin_cos();
    vec![cos, sin]
}

impl Embedder for FewChunks {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimensions(&self) -> usize {
        2
    }

    fn embed_documents<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Documents, EmbedError>> {
        let angles = |text: &&str| self.angles[text.rsplit(' ').next().unwrap()].iter().map(|&a| at(a)).collect();
        Box::pin(async move { Ok(texts.iter().map(angles).collect()) })
    }

    fn embed_query<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
        Box::pin(async { Ok(at(self.question)) })
    }
}
