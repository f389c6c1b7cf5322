//! The index that scans or walks a graph, whichever is faster.

mod graphs;
#[cfg(feature = "hnsw-rs")]
mod hnsw_rs;
mod options;

use std::{
    path::Path,
    sync::{Arc, PoisonError},
};

use memory_core::{
    ConversationId, ModelId, NodeId, NodeSet,
    port::{
        AnsweredBy, BoxFuture, CachedInMemory, Progress, VectorAnswer, VectorError, VectorIndex, VectorIndexStats,
        VectorQuery,
    },
};

pub use options::{AutoOptions, Method};

use self::graphs::Graphs;
use super::{
    super::graph::{Codes, Near},
    exact::ExactIndex,
    scan::{self, Candidate, Question, RowSelection},
};
use crate::LogStore;

const BACKEND: &str = "memory";

/// Finds the nearest vectors in the fastest way: scans a small conversation or a narrow selection, and walks a graph of
/// near neighbours otherwise. [`AutoOptions`] sets the limits.
///
/// Graphs are built in the background from the cached vectors, once a conversation exceeds the limit, and rebuilt when
/// a quarter of its vectors were removed. Vectors that are not in a graph yet are scanned. Each graph has a cache file
/// of its own, whose loss or damage costs only time.
///
/// In all other respects as [`ExactIndex`].
#[derive(Debug)]
pub struct AutoIndex {
    exact: Arc<ExactIndex>,
    graphs: Arc<Graphs>,
    #[cfg(feature = "hnsw-rs")]
    hnsw_rs: Arc<hnsw_rs::Backends>,
    options: AutoOptions,
}

impl AutoIndex {
    /// Adds graphs to `exact`.
    #[must_use]
    pub fn over(exact: ExactIndex, options: AutoOptions) -> Self {
        let exact = Arc::new(exact);
        Self {
            graphs: Arc::new(Graphs::new(&exact, options.graph)),
            #[cfg(feature = "hnsw-rs")]
            hnsw_rs: Arc::new(hnsw_rs::Backends::new(&exact)),
            exact,
            options,
        }
    }

    /// The index in memory alone; see [`ExactIndex::in_memory`].
    #[must_use]
    pub fn in_memory(model: ModelId, dimensions: usize, options: AutoOptions) -> Self {
        Self::over(ExactIndex::in_memory(model, dimensions), options)
    }

    /// The index next to a log; see [`ExactIndex::beside`].
    #[must_use]
    pub fn beside(store: &LogStore, model: ModelId, dimensions: usize, options: AutoOptions) -> Self {
        Self::over(ExactIndex::beside(store, model, dimensions), options)
    }

    /// The index in a directory; see [`ExactIndex::open`].
    #[must_use]
    pub fn open(dir: impl AsRef<Path>, model: ModelId, dimensions: usize, options: AutoOptions) -> Self {
        Self::over(ExactIndex::open(dir, model, dimensions), options)
    }

    /// Links the vectors of a conversation now, not in the background. Returns how many its graph then has, 0 if no
    /// graph is needed. Progress counts vectors.
    pub fn build_graph(&self, conversation: &ConversationId, progress: &dyn Progress) -> u64 {
        let rows = self.exact.cache.reading(conversation, |held| held.data.len());
        match self.options.method {
            _ if !self.wants_graph(rows) => 0,
            #[cfg(feature = "hnsw-rs")]
            Method::HnswRs => self.hnsw_rs.build(&self.exact, conversation, progress) as u64,
            _ => self.graphs.build(&self.exact, conversation, progress) as u64,
        }
    }

    /// Number of vectors of a conversation in its graph, and in total.
    #[must_use]
    pub fn linked(&self, conversation: &ConversationId) -> (u64, u64) {
        #[cfg(feature = "hnsw-rs")]
        if self.options.method == Method::HnswRs {
            return self.exact.cache.reading(conversation, |held| {
                let linked = self.hnsw_rs.of(conversation, &held.data);
                (linked as u64, held.data.len() as u64)
            });
        }
        let entry = self.graphs.entry(conversation);
        self.exact.cache.reading(conversation, |held| {
            let linked = entry.built.read().unwrap_or_else(PoisonError::into_inner).of(&held.data);
            (linked as u64, held.data.len() as u64)
        })
    }

    /// Forgets the vectors and the graph of a conversation, for the log that [`ExactIndex::forget`] describes.
    ///
    /// # Errors
    /// If a file cannot be removed; the vectors in memory are gone nevertheless.
    pub fn forget(&self, conversation: &ConversationId) -> Result<(), VectorError> {
        self.exact.forget(conversation)?;
        self.forget_graph(conversation)
    }

    /// Removes the graph of a conversation, in memory and on disk; it is rebuilt from the vectors.
    pub(in crate::derived) fn forget_graph(&self, conversation: &ConversationId) -> Result<(), VectorError> {
        #[cfg(feature = "hnsw-rs")]
        self.hnsw_rs.forget(conversation);
        self.graphs.forget(&self.exact, conversation)
    }

    /// Conversations in memory, each with its last node and the bytes of unsaved rows.
    pub(in crate::derived) fn held_in_memory(&self) -> Vec<(ConversationId, u64, u64)> {
        self.exact.cache.unsaved()
    }

    fn wants_graph(&self, rows: usize) -> bool {
        match self.options.method {
            Method::Scan => false,
            Method::Graph => rows > 0,
            #[cfg(feature = "hnsw-rs")]
            Method::HnswRs => rows > 0,
            Method::Fastest => rows >= self.options.graph_from,
        }
    }

    /// True if a graph, if there is one, should answer for a part.
    fn suits_graph(&self, part: &RowSelection<'_>, candidates: usize) -> bool {
        let (rows, selected) = (part.rows.len(), part.selected());
        let is_narrow = selected.saturating_mul(100) < rows.saturating_mul(usize::from(self.options.subset_percent));
        // A walk for a large share of the vectors would meet most of them anyway, one by one.
        self.wants_graph(rows) && !is_narrow && candidates < selected / 10
    }

    /// Candidates for an answer, and the method of each part.
    fn pick(
        &self,
        query: &VectorQuery<'_>,
        parts: &[RowSelection<'_>],
        question: &Question,
        limit: usize,
    ) -> (Vec<Candidate>, Vec<AnsweredBy>) {
        let wanted = scan::candidates_for(limit);
        let (mut found, mut answered_by, mut rest) = (Vec::new(), Vec::new(), parts.to_vec());
        for (number, (part, asked)) in rest.iter_mut().zip(query.parts).enumerate() {
            if self.suits_graph(part, wanted)
                && let Some(walked) = self.walk(asked.conversation, part, question, wanted)
            {
                let candidate = |near: &Near| Candidate { part: number, row: near.row as usize, score: near.likeness };
                found.extend(walked.near.iter().map(candidate));
                // Rows that are not linked are scanned.
                part.runs.iter_mut().for_each(|run| run.start = run.start.max(walked.linked).min(run.end));
                answered_by.push(AnsweredBy::Graph { backend: walked.backend });
                continue;
            }
            answered_by.push(if asked.only.is_some() { AnsweredBy::SubsetScan } else { AnsweredBy::Scan });
        }
        found.extend(scan::nearest_by_codes(&rest, question, wanted));
        (found, answered_by)
    }

    /// The nearest linked rows, if any. Starts linking the others in the background.
    fn walk(
        &self,
        conversation: &ConversationId,
        part: &RowSelection<'_>,
        question: &Question,
        wanted: usize,
    ) -> Option<Walked> {
        let rows = part.rows;
        let selected = (part.selected() < rows.len()).then(|| part.bitmap());
        let is_selected = |row: usize| {
            let has = |bits: &Vec<u64>| bits.get(row / 64).is_some_and(|word| word & (1 << (row % 64)) != 0);
            selected.as_ref().is_none_or(has)
        };
        let keep = |row: u32| is_selected(row as usize) && !rows.is_removed(row as usize);
        let ef = self.options.ef.max(wanted);
        #[cfg(feature = "hnsw-rs")]
        if self.options.method == Method::HnswRs {
            let linked = self.hnsw_rs.of(conversation, rows);
            if rows.len() > linked {
                self.hnsw_rs.build_in_background(conversation);
            }
            let keep = |row: u32| (row as usize) < linked && keep(row);
            let near = self.hnsw_rs.search(conversation, &question.components, (wanted, ef), keep);
            return near.filter(|_| linked > 0).map(|near| Walked { linked, near, backend: "hnsw_rs" });
        }
        let (first, codes) = rows.first_block();
        let entry = self.graphs.entry(conversation);
        self.graphs.load_once(&entry, &self.exact, conversation, rows);
        let built = entry.built.read().unwrap_or_else(PoisonError::into_inner);
        let linked = built.of(rows);
        if first > linked + self.options.scan_beside(linked) {
            self.graphs.build_in_background(conversation);
        }
        // Rows that are linked during the search are scanned already, so they are hidden from the walk.
        let codes = codes.get(..linked * rows.dimensions()).filter(|_| linked > 0)?;
        let codes = Codes::new(rows.dimensions(), codes, rows.scales());
        let near = built.graph.search(&codes, &question.codes, wanted, ef, keep);
        Some(Walked { linked, near, backend: BACKEND })
    }
}

/// Result of a walk.
struct Walked {
    /// Number of linked rows.
    linked: usize,
    near: Vec<Near>,
    backend: &'static str,
}

impl VectorIndex for AutoIndex {
    fn model(&self) -> &ModelId {
        self.exact.model()
    }

    fn dimensions(&self) -> usize {
        self.exact.dimensions()
    }

    fn stats(&self, conversation: &ConversationId) -> VectorIndexStats {
        self.exact.stats(conversation)
    }

    fn insert<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a [(NodeId, Vec<Vec<f32>>)],
    ) -> BoxFuture<'a, Result<(), VectorError>> {
        self.exact.insert(conversation, nodes)
    }

    fn remove<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a NodeSet,
    ) -> BoxFuture<'a, Result<u64, VectorError>> {
        self.exact.remove(conversation, nodes)
    }

    fn search<'a>(&'a self, query: &'a VectorQuery<'a>) -> BoxFuture<'a, Result<VectorAnswer, VectorError>> {
        Box::pin(
            async move { self.exact.answer(query, |parts, question, limit| self.pick(query, parts, question, limit)) },
        )
    }

    /// Builds the graph, and saves it for the next process. A read-only index leaves that to a writer; with hnsw_rs
    /// nothing is built, because its graph would be lost with this process.
    fn prepare<'a>(
        &'a self,
        conversation: &'a ConversationId,
        progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<(), VectorError>> {
        Box::pin(async move {
            let rows = self.exact.cache.reading(conversation, |held| held.data.len());
            let builds_its_own =
                matches!(self.options.method, Method::Fastest | Method::Graph) && self.wants_graph(rows);
            if builds_its_own && self.exact.cache.writes {
                let (linked, linkable) = self.graphs.linked(&self.exact, conversation);
                if linkable > linked + self.options.scan_beside(linked) {
                    self.graphs.build(&self.exact, conversation, progress);
                }
            }
            Ok(())
        })
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), VectorError>> {
        self.exact.flush()
    }

    fn held(&self) -> Vec<CachedInMemory> {
        self.exact.held()
    }
}

#[cfg(test)]
mod tests;
