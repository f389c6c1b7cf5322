//! Indexes of the crate hnsw_rs, as a choice next to our graph, with the input validation that the crate lacks.

use std::{
    any::Any,
    collections::HashMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError, RwLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use hnsw_rs::prelude::{Distance, Hnsw};
use memory_core::{ConversationId, port::Progress};

use super::super::{
    super::graph::Near,
    exact::ExactIndex,
    kernel::{Kernels, is_unit},
    rows::Rows,
};

/// Maximum layers, also the limit of hnsw_rs.
const LAYERS: usize = 16;
/// Neighbours of a node: the crate's `max_nb_connection`, of which more than 256 end the process.
const DEGREE: usize = 16;
/// Candidates for the neighbours of a node.
const EF_CONSTRUCTION: usize = 200;
/// Vectors per step; few, because searches wait during a step.
const STEP: usize = 32;

/// An hnsw_rs index, only in memory, for each conversation that is large enough; built from the original vectors.
#[derive(Debug)]
pub(super) struct Backends {
    /// Index of the vectors; does not keep it alive.
    exact: Weak<ExactIndex>,
    entries: Mutex<HashMap<ConversationId, Arc<Entry>>>,
}

#[derive(Debug, Default)]
struct Entry {
    built: RwLock<Option<Built>>,
    /// Held during building.
    building: Mutex<()>,
    in_background: AtomicBool,
}

/// An index, with the rows that it belongs to.
#[derive(Debug)]
struct Built {
    index: HnswRs,
    /// [`Rows::id`] of those rows.
    rows: u64,
}

impl Built {
    fn of(&self, rows: &Rows) -> usize {
        if self.rows == rows.id() { self.index.len().min(rows.len()) } else { 0 }
    }
}

impl Backends {
    pub(super) fn new(exact: &Arc<ExactIndex>) -> Self {
        Self { exact: Arc::downgrade(exact), entries: Mutex::default() }
    }

    fn entry(&self, conversation: &ConversationId) -> Arc<Entry> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(entries.entry(conversation.clone()).or_default())
    }

    pub(super) fn forget(&self, conversation: &ConversationId) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).remove(conversation);
    }

    /// Number of indexed rows among these.
    pub(super) fn of(&self, conversation: &ConversationId, rows: &Rows) -> usize {
        let entry = self.entry(conversation);
        let built = entry.built.read().unwrap_or_else(PoisonError::into_inner);
        built.as_ref().map_or(0, |built| built.of(rows))
    }

    /// Nearest rows that `keep` accepts; `None` while no index is built, or after a failure, which discards it.
    pub(super) fn search(
        &self,
        conversation: &ConversationId,
        query: &[f32],
        (limit, ef): (usize, usize),
        keep: impl Fn(u32) -> bool,
    ) -> Option<Vec<Near>> {
        let entry = self.entry(conversation);
        let found = {
            let built = entry.built.read().unwrap_or_else(PoisonError::into_inner);
            built.as_ref()?.index.search(query, limit, ef, keep)
        };
        match found {
            Ok(found) => Some(found),
            Err(error) => {
                tracing::warn!(%conversation, %error, "vectors are scanned until an index is rebuilt");
                *entry.built.write().unwrap_or_else(PoisonError::into_inner) = None;
                None
            }
        }
    }

    /// Adds the missing rows of an index on a background thread, unless one is already running.
    pub(super) fn build_in_background(self: &Arc<Self>, conversation: &ConversationId) {
        let entry = self.entry(conversation);
        if entry.in_background.swap(true, Ordering::AcqRel) {
            return;
        }
        let (backends, conversation, of_thread) = (Arc::downgrade(self), conversation.clone(), Arc::clone(&entry));
        let build = move || {
            // Upgraded for one step at a time, so that the builder does not keep a dropped index alive.
            while let Some(backends) = backends.upgrade()
                && let Some(exact) = backends.exact.upgrade()
                && backends.step(&exact, &conversation).is_some_and(|(done, all)| done < all)
            {}
            of_thread.in_background.store(false, Ordering::Release);
        };
        if let Err(error) = thread::Builder::new().name("memory-hnsw-rs".to_owned()).spawn(build) {
            tracing::warn!(%error, "no thread for building an index of vectors");
            entry.in_background.store(false, Ordering::Release);
        }
    }

    /// Adds the missing rows of an index; returns its number of rows.
    pub(super) fn build(&self, exact: &ExactIndex, conversation: &ConversationId, progress: &dyn Progress) -> usize {
        loop {
            let Some((done, all)) = self.step(exact, conversation) else { return 0 };
            progress.report(done as u64, all as u64);
            if done >= all {
                return done;
            }
        }
    }

    /// Adds one step of rows; returns the number of indexed rows and of all rows. `None` if a row cannot be read or the
    /// crate failed.
    fn step(&self, exact: &ExactIndex, conversation: &ConversationId) -> Option<(usize, usize)> {
        let entry = self.entry(conversation);
        let _turn = entry.building.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, vectors, all) = exact.cache.reading(conversation, |held| {
            let rows = &held.data;
            let mut built = entry.built.write().unwrap_or_else(PoisonError::into_inner);
            if built.as_ref().is_none_or(|built| built.rows != rows.id()) {
                let index = HnswRs::new(rows.dimensions(), rows.len());
                *built = Some(Built { index, rows: rows.id() });
            }
            let first = built.as_ref().map_or(0, |built| built.index.len());
            let last = rows.len().min(first + STEP);
            let vectors = (first..last).map(|row| stand_in(rows, row)).collect::<Option<Vec<_>>>()?;
            Some((first, vectors, rows.len()))
        })?;
        let vectors: Vec<&[f32]> = vectors.iter().map(Vec::as_slice).collect();
        let built = entry.built.read().unwrap_or_else(PoisonError::into_inner);
        match built.as_ref()?.index.insert(&vectors) {
            Ok(()) => Some((first + vectors.len(), all)),
            Err(error) => {
                drop(built);
                tracing::warn!(%conversation, %error, "vectors are scanned");
                *entry.built.write().unwrap_or_else(PoisonError::into_inner) = None;
                None
            }
        }
    }
}

/// Components of a row. A removed row has none any more; an arbitrary vector stands for it and is never a result.
fn stand_in(rows: &Rows, row: usize) -> Option<Vec<f32>> {
    if rows.is_removed(row) {
        return Some((0..rows.dimensions()).map(|component| if component == 0 { 1.0 } else { 0.0 }).collect());
    }
    rows.components(row).ok().map(<[f32]>::to_vec)
}

/// Why the backend rejected or did not find vectors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum HnswRsError {
    /// The vector has another number of components.
    #[error("a vector has {found} components, the index holds vectors of {expected}")]
    Dimensions { expected: usize, found: usize },
    /// The vector is not finite or not of unit length.
    #[error("a vector is not finite, or not of unit length")]
    BadVector,
    /// The crate panicked in this or an earlier call. Its state is undefined, so build a new index.
    #[error("hnsw_rs panicked: {message}; rebuild the index")]
    Panicked { message: String },
}

/// An index of rows with the crate [hnsw_rs](https://docs.rs/hnsw_rs).
///
/// Holds a copy of each vector, is built on demand, and is never written to disk, because the crate reads its own files
/// without checking edges, and a damaged one ends the process. Vectors are validated before the crate sees them.
/// Inserts and searches exclude each other, which the crate requires but does not enforce. Its points are never
/// iterated, which can hang during an insert. A panic becomes an error of that call and all later ones.
///
/// The crate draws levels at random, so two indexes of the same rows differ.
struct HnswRs {
    dimensions: usize,
    state: RwLock<State>,
}

struct State {
    index: Hnsw<'static, f32, Cosine>,
    rows: usize,
    /// Error of the crate's panic.
    broken: Option<HnswRsError>,
}

/// One minus the cosine of unit vectors.
#[derive(Clone, Copy, Debug)]
struct Cosine(Kernels);

impl Distance<f32> for Cosine {
    fn eval(&self, a: &[f32], b: &[f32]) -> f32 {
        // Rounding must not make it negative, because the crate uses negative values as markers.
        (1.0 - self.0.dot_f32(a, b)).max(0.0)
    }
}

impl HnswRs {
    /// An empty index with room for about `rows`.
    fn new(dimensions: usize, rows: usize) -> Self {
        let index = Hnsw::new(DEGREE, rows.max(1), LAYERS, EF_CONSTRUCTION, Cosine(Kernels::detected()));
        Self { dimensions, state: RwLock::new(State { index, rows: 0, broken: None }) }
    }

    /// Number of rows.
    fn len(&self) -> usize {
        self.state.read().unwrap_or_else(PoisonError::into_inner).rows
    }

    /// Adds rows, numbered from [`len`](Self::len) on; on all cores if there are many.
    ///
    /// # Errors
    /// [`HnswRsError`]; no row is added then, unless the crate panicked.
    fn insert(&self, vectors: &[&[f32]]) -> Result<(), HnswRsError> {
        vectors.iter().try_for_each(|vector| self.check(vector))?;
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(broken) = &state.broken {
            return Err(broken.clone());
        }
        let first = state.rows;
        let rows: Vec<(&[f32], usize)> = vectors.iter().copied().zip(first..).collect();
        let inserted = catch_unwind(AssertUnwindSafe(|| {
            // The first row is added alone, because rows that are added in parallel to an empty index find no
            // neighbours.
            let (alone, others) = rows.split_at(rows.len().min(usize::from(first == 0)));
            alone.iter().for_each(|row| state.index.insert_slice(*row));
            match others {
                [row] => state.index.insert_slice(*row),
                _ => state.index.parallel_insert_slice(&others.to_vec()),
            }
        }));
        inserted.map_err(|panic| state.fail(&*panic))?;
        state.rows += rows.len();
        Ok(())
    }

    /// The `limit` nearest rows that `keep` accepts, nearest first, as far as they are among `ef` candidates.
    fn search(
        &self,
        query: &[f32],
        limit: usize,
        ef: usize,
        keep: impl Fn(u32) -> bool,
    ) -> Result<Vec<Near>, HnswRsError> {
        self.check(query)?;
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let limit = limit.min(state.rows);
        if let Some(broken) = &state.broken {
            return Err(broken.clone());
        }
        if limit == 0 {
            return Ok(Vec::new());
        }
        let ef = ef.clamp(limit, state.rows);
        let row = |id: usize| u32::try_from(id).ok();
        let filter = |id: &usize| row(*id).is_some_and(&keep);
        let found = catch_unwind(AssertUnwindSafe(|| state.index.search_filter(query, ef, ef, Some(&filter))));
        drop(state);
        let found = found.map_err(|panic| self.state.write().unwrap_or_else(PoisonError::into_inner).fail(&*panic))?;
        let near =
            found.iter().filter_map(|found| Some(Near { row: row(found.d_id)?, likeness: 1.0 - found.distance }));
        let mut near: Vec<Near> = near.collect();
        near.sort_by(|a, b| b.likeness.total_cmp(&a.likeness).then(a.row.cmp(&b.row)));
        near.truncate(limit);
        Ok(near)
    }

    fn check(&self, vector: &[f32]) -> Result<(), HnswRsError> {
        if vector.len() != self.dimensions {
            return Err(HnswRsError::Dimensions { expected: self.dimensions, found: vector.len() });
        }
        if is_unit(vector) { Ok(()) } else { Err(HnswRsError::BadVector) }
    }
}

impl State {
    fn fail(&mut self, panic: &(dyn Any + Send)) -> HnswRsError {
        let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
        let error = HnswRsError::Panicked { message: said.unwrap_or("without a word").to_owned() };
        self.broken.insert(error).clone()
    }
}

impl fmt::Debug for HnswRs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HnswRs")
            .field("dimensions", &self.dimensions)
            .field("rows", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
