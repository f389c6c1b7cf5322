//! The index that compares every vector.

use std::{path::Path, sync::Arc};

use memory_core::{
    ConversationId, ModelId, NodeId, NodeSet,
    port::{
        AnsweredBy, BoxFuture, CachedInMemory, DerivedKind, VectorAnswer, VectorError, VectorHit, VectorIndex,
        VectorIndexStats, VectorPart, VectorQuery,
    },
};

use super::{
    super::{
        anchor::Anchor,
        conversations::{Conversations, Loaded},
        packs::Packs,
    },
    file::{EXTENSIONS, VectorFile},
    kernel::Kernels,
    rows::{DamagedRow, Rows},
    scan::{self, Candidate, Part, Question},
};
use crate::{LogStore, log::Leaves};

/// Tolerance of a vector's unit length.
const UNIT_TOLERANCE: f32 = 1e-3;
/// Default limit on bytes of the heap: enough for a million vectors, whose rows are mapped and do not count.
const MEMORY: usize = 64 << 20;

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
    model: ModelId,
    dimensions: usize,
    /// Directory of the files, with its packs.
    packs: Option<Arc<Packs>>,
    /// Leaves of the log, to which the files are bound.
    leaves: Option<Leaves>,
    /// True if a flush writes to disk.
    writes: bool,
    conversations: Conversations<Held>,
}

/// Data of a conversation in memory, with its files.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) rows: Rows,
    file: Option<VectorFile>,
}

impl ExactIndex {
    /// An index only in memory.
    #[must_use]
    pub fn in_memory(model: ModelId, dimensions: usize) -> Self {
        Self { model, dimensions, packs: None, leaves: None, writes: false, conversations: Conversations::new(MEMORY) }
    }

    /// An index next to the log that its vectors are derived from, with files in the store's [cache
    /// directory](LogStore::cache_dir). Ignores vectors that were derived from another log, or from nodes that this log
    /// does not have (any more). Writes no files for a store that was opened read-only.
    #[must_use]
    pub fn beside(store: &LogStore, model: ModelId, dimensions: usize) -> Self {
        Self {
            packs: Some(Packs::new(&store.cache_dir().join("vectors"), store.leaves().store(), EXTENSIONS)),
            leaves: Some(store.leaves()),
            writes: store.may_write(),
            ..Self::in_memory(model, dimensions)
        }
    }

    /// An index with files in `dir`, not bound to a log: the caller guarantees that nodes never change. The directory
    /// is created when the first file is written.
    ///
    /// Several processes may flush to it: they take turns, and each appends its blocks to the existing ones. A process
    /// that does not get its turn in time keeps its vectors in memory until the next flush.
    #[must_use]
    pub fn open(dir: impl AsRef<Path>, model: ModelId, dimensions: usize) -> Self {
        Self { writes: true, ..Self::open_read_only(dir, model, dimensions) }
    }

    /// An index that reads files in `dir` and writes none, for use while another process writes. Inserted vectors are
    /// lost at exit.
    #[must_use]
    pub fn open_read_only(dir: impl AsRef<Path>, model: ModelId, dimensions: usize) -> Self {
        let packs = Packs::new(dir.as_ref(), [0; 16], EXTENSIONS);
        Self { packs: Some(packs), ..Self::in_memory(model, dimensions) }
    }

    /// Limits the bytes of vectors on the heap, 64 MiB by default, by dropping the least recently used ones. Vectors
    /// that are in use or unsaved stay. Mapped files do not count.
    #[must_use]
    pub fn hold_at_most(mut self, bytes: usize) -> Self {
        self.conversations.limit_to(bytes);
        self
    }

    /// Forgets a conversation's vectors, in memory and on disk, for a log that is shorter than
    /// [`VectorIndexStats::through`], for example after a restore from a backup.
    ///
    /// # Errors
    /// If a file cannot be removed; the vectors in memory are gone nevertheless.
    pub fn forget(&self, conversation: &ConversationId) -> Result<(), VectorError> {
        self.writing(conversation, |held| {
            held.rows = Rows::new(self.dimensions);
            let Some(file) = &mut held.file else { return Ok(()) };
            file.remove().map_err(|source| VectorError::Io { path: file.path().to_owned(), source })
        })
    }

    /// Loaded conversations, each with its last node and the bytes of unsaved rows.
    pub(super) fn held_in_memory(&self) -> Vec<(ConversationId, u64, u64)> {
        self.conversations.look_at_loaded(|id, held| (id.clone(), held.rows.through(), held.rows.bytes_in_memory()))
    }

    pub(super) fn dir(&self) -> Option<&Path> {
        self.packs.as_ref().map(|packs| packs.dir())
    }

    /// Binding of a conversation's vectors to the log.
    pub(super) fn anchor(&self, conversation: &ConversationId) -> Anchor {
        Anchor::new(self.leaves.as_ref(), conversation)
    }

    pub(super) fn writes(&self) -> bool {
        self.writes
    }

    pub(super) fn reading<T>(&self, conversation: &ConversationId, act: impl FnOnce(&Held) -> T) -> T {
        self.conversations.read(conversation, || self.load(conversation), act)
    }

    fn writing<T>(&self, conversation: &ConversationId, act: impl FnOnce(&mut Held) -> T) -> T {
        self.conversations.write(conversation, || self.load(conversation), act)
    }

    /// Reads the vectors of several conversations, which must be distinct.
    pub(super) fn reading_all<T>(&self, parts: &[VectorPart<'_>], act: impl FnOnce(&[&Held]) -> T) -> T {
        let conversations: Vec<_> = parts.iter().map(|part| part.conversation).collect();
        self.conversations.read_all(&conversations, |conversation| self.load(conversation), act)
    }

    fn load(&self, conversation: &ConversationId) -> Held {
        let Some(packs) = &self.packs else { return Held { rows: Rows::new(self.dimensions), file: None } };
        let (file, rows) = VectorFile::load(packs, self.anchor(conversation), &self.model, self.dimensions);
        Held { rows, file: Some(file) }
    }

    fn check(&self, node: NodeId, vector: &[f32]) -> Result<(), VectorError> {
        if vector.len() != self.dimensions {
            return Err(VectorError::Dimensions { expected: self.dimensions, found: vector.len() });
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
    fn insert_all(&self, held: &mut Held, nodes: &[(NodeId, Vec<Vec<f32>>)]) -> Result<(), VectorError> {
        for (reached, (node, vectors)) in (held.rows.through()..).zip(nodes) {
            if node.get() != reached + 1 {
                let expected = NodeId::new(reached + 1).unwrap_or(*node);
                return Err(VectorError::OutOfOrder { expected, found: *node });
            }
            vectors.iter().try_for_each(|vector| self.check(*node, vector))?;
        }
        nodes.iter().for_each(|(node, vectors)| held.rows.push(*node, vectors));
        Ok(())
    }

    /// Validates a query and prepares its codes.
    pub(super) fn question(&self, query: &VectorQuery<'_>) -> Result<Question, VectorError> {
        if query.vector.len() != self.dimensions {
            return Err(VectorError::Dimensions { expected: self.dimensions, found: query.vector.len() });
        }
        Question::of(query.vector).ok_or(VectorError::BadQuery)
    }

    /// Answers a query from the candidates that `pick` finds in the rows of its parts, and reports the methods.
    ///
    /// If a row turns out to be damaged, it and all later ones are dropped, and the query is repeated.
    pub(super) fn answer(
        &self,
        query: &VectorQuery<'_>,
        pick: impl Fn(&[Part<'_>], &Question, usize) -> (Vec<Candidate>, Vec<AnsweredBy>),
    ) -> Result<VectorAnswer, VectorError> {
        let question = self.question(query)?;
        loop {
            let answer = self.reading_all(query.parts, |held| {
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
                        self.writing(part.conversation, |held| held.set_aside(damaged));
                    }
                }
            }
        }
    }

    fn flush_all(&self) -> Result<(), VectorError> {
        if self.packs.is_some() && !self.writes {
            return Ok(());
        }
        self.conversations.flush(Held::flush)?;
        self.packs.as_deref().is_some_and(Packs::tidy).then(|| self.conversations.drop_outdated());
        Ok(())
    }
}

fn hits(parts: &[Part<'_>], best: &[Candidate]) -> Vec<VectorHit> {
    let hit = |best: &Candidate| {
        let slot = parts.get(best.part)?.rows.slots().get(best.row)?;
        Some(VectorHit::new(best.part, *slot, best.score))
    };
    best.iter().filter_map(hit).collect()
}

impl Loaded for Held {
    fn heap(&self) -> usize {
        self.rows.heap() + self.file.as_ref().map_or(0, VectorFile::heap)
    }

    fn is_saved(&self) -> bool {
        self.file.as_ref().map_or(self.rows.len() == 0, |file| !file.owes(&self.rows))
    }

    fn is_outdated(&self) -> bool {
        self.file.as_ref().is_some_and(VectorFile::is_outdated)
    }

    fn refresh(&mut self) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.refresh(&mut self.rows) {
            tracing::warn!(path = %file.path().display(), %error, "a vector cache cannot be read again");
        }
    }
}

impl Held {
    fn flush(&mut self) -> Result<(), VectorError> {
        let Self { rows, file } = self;
        let Some(file) = file else {
            if rows.wants_rebuilding()
                && let Ok(rest) = rows.without_removed()
            {
                *rows = rest;
            }
            return Ok(());
        };
        file.save(rows).map_err(|source| VectorError::Io { path: file.path().to_owned(), source })
    }

    fn part(&self, only: Option<&NodeSet>) -> Part<'_> {
        let all = 0..self.rows.len();
        let runs = only.map_or_else(|| vec![all], |only| self.rows.runs_of(only));
        Part { rows: &self.rows, runs }
    }

    /// Forgets a damaged row and all later ones, in memory and on disk.
    fn set_aside(&mut self, damaged: DamagedRow) {
        // Another search may have done so meanwhile.
        if self.rows.components(damaged.0).is_err() && damaged.0 < self.rows.len() {
            let through = match &mut self.file {
                Some(file) => file.cut(damaged),
                None => 0,
            };
            self.rows.cut(through);
        }
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
        self.reading(conversation, |held| {
            VectorIndexStats::default()
                .vectors((held.rows.len() - held.rows.removed()) as u64)
                .removed(held.rows.removed() as u64)
                .through(held.rows.through())
                .bytes(held.file.as_ref().map_or(0, VectorFile::bytes))
        })
    }

    fn insert<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a [(NodeId, Vec<Vec<f32>>)],
    ) -> BoxFuture<'a, Result<(), VectorError>> {
        Box::pin(async move { self.writing(conversation, |held| self.insert_all(held, nodes)) })
    }

    fn remove<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a NodeSet,
    ) -> BoxFuture<'a, Result<u64, VectorError>> {
        Box::pin(async move { Ok(self.writing(conversation, |held| held.rows.remove(nodes)) as u64) })
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
        Box::pin(async move { self.flush_all() })
    }

    fn held(&self) -> Vec<CachedInMemory> {
        vec![self.conversations.held(DerivedKind::Vectors)]
    }
}

#[cfg(test)]
mod tests;
