//! The index that compares every vector.

use std::path::Path;

use memory_core::{
    ConversationId, ModelId, NodeId, NodeSet,
    port::{
        AnsweredBy, BoxFuture, CachedInMemory, VectorAnswer, VectorError, VectorHit, VectorIndex, VectorIndexStats,
        VectorPart, VectorQuery,
    },
};

use super::{
    super::cached::{Cached, CachedConversations, Data},
    file::VectorFile,
    kernel::{Kernels, UNIT_TOLERANCE},
    rows::DamagedRow,
    scan::{self, Candidate, Question, RowSelection},
};
use crate::LogStore;

/// Finds the nearest vectors by comparing every one: first by int8 codes, then the best of these by the original
/// components. Large sets are scanned on all cores.
///
/// With a directory, each conversation has three cache files, next to the log that the vectors are derived from. Files
/// that are truncated, damaged, or of another model, conversation or log are not an error: their valid part is used,
/// [`VectorIndexStats::through`] states how far it reaches, and the owner inserts the rest.
///
/// ```
/// use memory_core::{ConversationId, ModelId, NodeId, port::{VectorIndex, VectorPart, VectorQuery}};
/// use memory_store::ExactIndex;
///
/// # pollster::block_on(async {
/// let index = ExactIndex::in_memory(ModelId::new("toy"), 2);
/// let talk = ConversationId::new("talk")?;
/// let nodes = [(NodeId::FIRST, vec![vec![1.0, 0.0]]), (NodeId::FIRST.next(), vec![vec![0.6, 0.8]])];
/// index.insert(&talk, &nodes).await?;
/// let parts = [VectorPart::new(&talk)];
/// let query = VectorQuery::new(&[0.0, 1.0], 1, &parts);
/// let best = index.search(&query).await?;
/// assert_eq!(best.hits[0].slot.node.get(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct ExactIndex {
    pub(super) cache: CachedConversations<VectorFile>,
}

impl ExactIndex {
    /// An index only in memory.
    #[must_use]
    pub fn in_memory(model: ModelId, dimensions: usize) -> Self {
        Self { cache: CachedConversations::in_memory(model, dimensions) }
    }

    /// An index next to the log that its vectors are derived from, with files in the store's [cache
    /// directory](LogStore::cache_dir). Ignores vectors that were derived from another log, or from nodes that this log
    /// does not have (any more). Writes no files for a store that was opened read-only.
    #[must_use]
    pub fn beside(store: &LogStore, model: ModelId, dimensions: usize) -> Self {
        Self { cache: CachedConversations::beside(store, model, dimensions) }
    }

    /// An index with files in `dir`, not bound to a log: the caller guarantees that nodes never change. The directory
    /// is created when the first file is written.
    ///
    /// Several processes may flush to it: they take turns, and each appends its blocks to the existing ones. A process
    /// that does not get its turn in time keeps its vectors in memory until the next flush.
    #[must_use]
    pub fn open(dir: impl AsRef<Path>, model: ModelId, dimensions: usize) -> Self {
        Self { cache: CachedConversations::open(dir.as_ref(), true, model, dimensions) }
    }

    /// An index that reads files in `dir` and writes none, for use while another process writes. Inserted vectors are
    /// lost at exit.
    #[must_use]
    pub fn open_read_only(dir: impl AsRef<Path>, model: ModelId, dimensions: usize) -> Self {
        Self { cache: CachedConversations::open(dir.as_ref(), false, model, dimensions) }
    }

    /// Limits the bytes of vectors on the heap, 64 MiB by default, by dropping the least recently used ones. Vectors
    /// that are in use or unsaved stay. Mapped files do not count.
    #[must_use]
    pub fn hold_at_most(mut self, bytes: usize) -> Self {
        self.cache.hold_at_most(bytes);
        self
    }

    /// Forgets a conversation's vectors, in memory and on disk, for a log that is shorter than
    /// [`VectorIndexStats::through`], for example after a restore from a backup.
    ///
    /// # Errors
    /// If a file cannot be removed; the vectors in memory are gone nevertheless.
    pub fn forget(&self, conversation: &ConversationId) -> Result<(), VectorError> {
        self.cache.forget(conversation)
    }

    fn check(&self, node: NodeId, vector: &[f32]) -> Result<(), VectorError> {
        if vector.len() != self.cache.shape {
            return Err(VectorError::Dimensions { expected: self.cache.shape, found: vector.len() });
        }
        // NaN and infinity make the length invalid.
        let length = Kernels::detected().dot_f32(vector, vector).sqrt();
        if !length.is_finite() {
            return Err(VectorError::BadVector { node, what: "it has a component that is not a finite number" });
        }
        if (length - 1.0).abs() > UNIT_TOLERANCE {
            return Err(VectorError::BadVector { node, what: "it is not of unit length" });
        }
        Ok(())
    }

    /// Inserts nodes after validating all of them.
    fn insert_all(&self, held: &mut Cached<VectorFile>, nodes: &[(NodeId, Vec<Vec<f32>>)]) -> Result<(), VectorError> {
        for (reached, (node, vectors)) in (held.data.through()..).zip(nodes) {
            if node.get() != reached + 1 {
                let expected = NodeId::new(reached + 1).unwrap_or(*node);
                return Err(VectorError::OutOfOrder { expected, found: *node });
            }
            vectors.iter().try_for_each(|vector| self.check(*node, vector))?;
        }
        nodes.iter().for_each(|(node, vectors)| held.data.push(*node, vectors));
        Ok(())
    }

    /// Validates a query and prepares its codes.
    pub(super) fn question(&self, query: &VectorQuery<'_>) -> Result<Question, VectorError> {
        if query.vector.len() != self.cache.shape {
            return Err(VectorError::Dimensions { expected: self.cache.shape, found: query.vector.len() });
        }
        Question::of(query.vector).ok_or(VectorError::BadQuery)
    }

    /// Answers a query from the candidates that `pick` finds in the rows of its parts, and reports the methods.
    ///
    /// If a row turns out to be damaged, it and all later ones are dropped, and the query is repeated.
    pub(super) fn answer(
        &self,
        query: &VectorQuery<'_>,
        pick: impl Fn(&[RowSelection<'_>], &Question, usize) -> (Vec<Candidate>, Vec<AnsweredBy>),
    ) -> Result<VectorAnswer, VectorError> {
        let question = self.question(query)?;
        let conversations: Vec<_> = query.parts.iter().map(|part| part.conversation).collect();
        loop {
            let answer = self.cache.reading_all(&conversations, |held| {
                let parts: Vec<_> = held.iter().zip(query.parts).map(|(held, part)| held.part(part.only)).collect();
                let (candidates, answered_by) = pick(&parts, &question, query.limit);
                let best = scan::rescore(&parts, &question, candidates, query.limit)?;
                Ok(VectorAnswer::new(hits(&parts, &best), answered_by))
            });
            match answer {
                Ok(answer) => return Ok(answer),
                // Terminates, because each time fewer rows remain.
                Err((part, damaged)) => {
                    if let Some(part) = query.parts.get(part) {
                        self.cache.writing(part.conversation, |held| held.set_aside(damaged));
                    }
                }
            }
        }
    }
}

fn hits(parts: &[RowSelection<'_>], best: &[Candidate]) -> Vec<VectorHit> {
    let hit = |best: &Candidate| {
        let slot = parts.get(best.part)?.rows.slots().get(best.row)?;
        Some(VectorHit::new(best.part, *slot, best.score))
    };
    best.iter().filter_map(hit).collect()
}

impl Cached<VectorFile> {
    fn part(&self, only: Option<&NodeSet>) -> RowSelection<'_> {
        let all = 0..self.data.len();
        let runs = only.map_or_else(|| vec![all], |only| self.data.runs_of(only));
        RowSelection { rows: &self.data, runs }
    }

    /// Forgets a damaged row and all later ones, in memory and on disk.
    fn set_aside(&mut self, damaged: DamagedRow) {
        // Another search may have done so meanwhile.
        if self.data.components(damaged.0).is_err() && damaged.0 < self.data.len() {
            let through = match &mut self.file {
                Some(file) => file.cut(damaged),
                None => 0,
            };
            self.data.cut(through);
        }
    }
}

impl VectorIndex for ExactIndex {
    fn model(&self) -> &ModelId {
        &self.cache.model
    }

    fn dimensions(&self) -> usize {
        self.cache.shape
    }

    fn stats(&self, conversation: &ConversationId) -> VectorIndexStats {
        self.cache.reading(conversation, |held| {
            VectorIndexStats::default()
                .vectors((held.data.len() - held.data.removed()) as u64)
                .removed(held.data.removed() as u64)
                .through(held.data.through())
                .bytes(held.file.as_ref().map_or(0, VectorFile::bytes))
        })
    }

    fn insert<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a [(NodeId, Vec<Vec<f32>>)],
    ) -> BoxFuture<'a, Result<(), VectorError>> {
        Box::pin(async move { self.cache.writing(conversation, |held| self.insert_all(held, nodes)) })
    }

    fn remove<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a NodeSet,
    ) -> BoxFuture<'a, Result<u64, VectorError>> {
        Box::pin(async move { Ok(self.cache.writing(conversation, |held| held.data.remove(nodes)) as u64) })
    }

    fn search<'a>(&'a self, query: &'a VectorQuery<'a>) -> BoxFuture<'a, Result<VectorAnswer, VectorError>> {
        Box::pin(async move {
            self.answer(query, |parts, question, limit| {
                let how = |part: &VectorPart<'_>| part.only.map_or(AnsweredBy::Scan, |_| AnsweredBy::SubsetScan);
                let answered_by = query.parts.iter().map(how).collect();
                (scan::nearest_by_codes(parts, question, scan::candidates_for(limit)), answered_by)
            })
        })
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), VectorError>> {
        Box::pin(async move { self.cache.flush() })
    }

    fn held(&self) -> Vec<CachedInMemory> {
        self.cache.held()
    }
}

#[cfg(test)]
mod tests;
