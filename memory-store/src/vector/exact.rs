//! The index that looks at every vector.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock},
};

use memory_core::{
    BoxFuture, ConversationId, ModelId, NodeId, Slot, SlotScore, VectorError, VectorIndex, VectorIndexStats,
};

use super::{
    file::{VectorFile, Vectors},
    kernel::Kernels,
};
use crate::{LogStore, log::Leaves};

/// How far from 1 a vector's length may be.
const UNIT_TOLERANCE: f32 = 1e-3;

/// Finds the nearest vectors by comparing with each one: recall 1, and fast enough for tens of thousands.
///
/// With a directory it keeps one cache file for each conversation there, beside the log that the vectors are
/// derived from. A file that is cut short, damaged, or of another model, conversation or log is no error:
/// what of it is good counts, [`VectorIndexStats::through`] says how far that reaches, and the owner inserts the rest.
///
/// ```
/// use memory_core::{ConversationId, ModelId, NodeId, VectorIndex};
/// use memory_store::ExactIndex;
///
/// # pollster::block_on(async {
/// let index = ExactIndex::in_memory(ModelId::new("toy"), 2);
/// let talk = ConversationId::new("talk")?;
/// let nodes = [(NodeId::FIRST, vec![vec![1.0, 0.0]]), (NodeId::FIRST.next(), vec![vec![0.6, 0.8]])];
/// index.insert(&talk, &nodes).await?;
/// let best = index.search(&talk, &[0.0, 1.0], 1).await?;
/// assert_eq!(best[0].slot.node.get(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct ExactIndex {
    model: ModelId,
    dimensions: usize,
    dir: Option<PathBuf>,
    /// What binds the files to the log that they were derived from.
    leaves: Option<Leaves>,
    /// Whether a flush puts anything on disk.
    writes: bool,
    conversations: Mutex<HashMap<ConversationId, Arc<Entry>>>,
}

/// A conversation's vectors, from when they are asked for first.
type Entry = OnceLock<RwLock<Held>>;

/// What is in memory of a conversation, and where it is on disk.
#[derive(Debug, Default)]
struct Held {
    vectors: Vectors,
    file: Option<VectorFile>,
}

impl ExactIndex {
    /// An index that forgets at exit.
    #[must_use]
    pub fn in_memory(model: ModelId, dimensions: usize) -> Self {
        Self { model, dimensions, dir: None, leaves: None, writes: false, conversations: Mutex::default() }
    }

    /// An index beside the log that its vectors are derived from, with its files in the store's
    /// [cache directory](LogStore::cache_dir). Vectors that another store's log gave, or nodes that this log does
    /// not have (any more), do not count. Beside a store that was opened for reading alone it writes no file.
    #[must_use]
    pub fn beside(store: &LogStore, model: ModelId, dimensions: usize) -> Self {
        Self {
            leaves: Some(store.leaves()),
            writes: store.may_write(),
            ..Self::open_read_only(store.cache_dir().join("vectors"), model, dimensions)
        }
    }

    /// An index with its files in `dir`, bound to no log: whoever opens it sees to it that the nodes are the
    /// same. The directory is made when there is something to put in it.
    ///
    /// Several processes may flush to it: they take turns, and each block is written behind what is there already. Who
    /// does not get its turn for long keeps its vectors in memory until the next flush.
    #[must_use]
    pub fn open(dir: impl AsRef<Path>, model: ModelId, dimensions: usize) -> Self {
        Self { writes: true, ..Self::open_read_only(dir, model, dimensions) }
    }

    /// An index that reads its files in `dir` and writes none, for use beside a process that does: what is
    /// inserted is forgotten at exit.
    #[must_use]
    pub fn open_read_only(dir: impl AsRef<Path>, model: ModelId, dimensions: usize) -> Self {
        Self { dir: Some(dir.as_ref().to_owned()), ..Self::in_memory(model, dimensions) }
    }

    /// Forgets a conversation's vectors, on disk as well: for a log that is shorter than
    /// [`VectorIndexStats::through`] says, as one that was restored from a backup.
    ///
    /// # Errors
    /// When the file cannot be removed; in memory the vectors are gone nevertheless.
    pub fn forget(&self, conversation: &ConversationId) -> Result<(), VectorError> {
        self.writing(conversation, |held| {
            held.vectors = Vectors::default();
            let Some(file) = &mut held.file else { return Ok(()) };
            file.remove().map_err(|source| VectorError::Io { path: file.path().to_owned(), source })
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConversationId, Arc<Entry>>> {
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody who asks for another conversation waits while this one's file is read.
    fn reading<T>(&self, conversation: &ConversationId, act: impl FnOnce(&Held) -> T) -> T {
        let entry = Arc::clone(self.lock().entry(conversation.clone()).or_default());
        let held = entry.get_or_init(|| RwLock::new(self.load(conversation)));
        act(&held.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn writing<T>(&self, conversation: &ConversationId, act: impl FnOnce(&mut Held) -> T) -> T {
        let entry = Arc::clone(self.lock().entry(conversation.clone()).or_default());
        let held = entry.get_or_init(|| RwLock::new(self.load(conversation)));
        act(&mut held.write().unwrap_or_else(PoisonError::into_inner))
    }

    fn load(&self, conversation: &ConversationId) -> Held {
        let Some(dir) = &self.dir else { return Held::default() };
        let (file, vectors) = VectorFile::load(dir, self.leaves.as_ref(), conversation, &self.model, self.dimensions);
        Held { vectors, file: Some(file) }
    }

    fn check(&self, node: NodeId, vector: &[f32]) -> Result<(), VectorError> {
        if vector.len() != self.dimensions {
            return Err(VectorError::Dimensions { expected: self.dimensions, found: vector.len() });
        }
        // NaN and infinities show in the length.
        let length = Kernels::detected().dot_f32(vector, vector).sqrt();
        if !length.is_finite() {
            return Err(VectorError::BadVector { node, what: "it has a component that is no finite number" });
        }
        if (length - 1.0).abs() > UNIT_TOLERANCE {
            return Err(VectorError::BadVector { node, what: "it is not of unit length" });
        }
        Ok(())
    }

    /// Checks everything before anything is taken in.
    fn insert_all(&self, held: &mut Held, nodes: &[(NodeId, Vec<Vec<f32>>)]) -> Result<(), VectorError> {
        let Vectors { slots, components, through } = &mut held.vectors;
        let mut reached = *through;
        for (node, vectors) in nodes {
            if node.get() != reached + 1 {
                let expected = NodeId::new(reached + 1).unwrap_or(*node);
                return Err(VectorError::OutOfOrder { expected, found: *node });
            }
            reached += 1;
            vectors.iter().try_for_each(|vector| self.check(*node, vector))?;
        }
        for (node, vectors) in nodes {
            slots.extend((0u32..).zip(vectors).map(|(chunk, _)| Slot { node: *node, chunk }));
            vectors.iter().for_each(|vector| components.extend_from_slice(vector));
        }
        *through = reached;
        Ok(())
    }

    fn scores(&self, conversation: &ConversationId, query: &[f32]) -> Result<Vec<SlotScore>, VectorError> {
        if query.len() != self.dimensions {
            return Err(VectorError::Dimensions { expected: self.dimensions, found: query.len() });
        }
        let kernels = Kernels::detected();
        let length = kernels.dot_f32(query, query).sqrt();
        if !length.is_normal() {
            let source = "the query is zero or not finite".into();
            return Err(VectorError::Backend { backend: "exact", source });
        }
        let score = |vector: &[f32]| (kernels.dot_f32(query, vector) / length).clamp(-1.0, 1.0);
        let scores = self.reading(conversation, |held| {
            let vectors = held.vectors.components.chunks_exact(self.dimensions.max(1));
            let scored = held.vectors.slots.iter().zip(vectors);
            scored.map(|(slot, vector)| SlotScore { slot: *slot, cosine: score(vector) }).collect()
        });
        Ok(scores)
    }

    fn flush_all(&self) -> Result<(), VectorError> {
        if !self.writes {
            return Ok(());
        }
        let all: Vec<_> = self.lock().values().cloned().collect();
        let mut loaded = all.iter().filter_map(|entry| entry.get());
        loaded.try_for_each(|held| held.write().unwrap_or_else(PoisonError::into_inner).flush())
    }
}

/// The `limit` best, best first, equal ones by slot; sorts no more than it gives back.
fn best(mut scores: Vec<SlotScore>, limit: usize) -> Vec<SlotScore> {
    let order = |a: &SlotScore, b: &SlotScore| b.cosine.total_cmp(&a.cosine).then_with(|| a.slot.cmp(&b.slot));
    if limit < scores.len() {
        scores.select_nth_unstable_by(limit, order);
        scores.truncate(limit);
    }
    scores.sort_unstable_by(order);
    scores
}

impl Held {
    fn flush(&mut self) -> Result<(), VectorError> {
        let Self { vectors, file: Some(file) } = self else { return Ok(()) };
        file.save(vectors).map_err(|source| VectorError::Io { path: file.path().to_owned(), source })
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
        self.reading(conversation, |held| VectorIndexStats {
            vectors: held.vectors.slots.len() as u64,
            through: held.vectors.through,
            bytes: held.file.as_ref().map_or(0, VectorFile::bytes),
        })
    }

    fn insert<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a [(NodeId, Vec<Vec<f32>>)],
    ) -> BoxFuture<'a, Result<(), VectorError>> {
        Box::pin(async move { self.writing(conversation, |held| self.insert_all(held, nodes)) })
    }

    fn search<'a>(
        &'a self,
        conversation: &'a ConversationId,
        query: &'a [f32],
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<SlotScore>, VectorError>> {
        Box::pin(async move { Ok(best(self.scores(conversation, query)?, limit)) })
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), VectorError>> {
        Box::pin(async move { self.flush_all() })
    }
}

#[cfg(test)]
mod tests;
