//! The crate hnsw_rs instead of our graph.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError, RwLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use memory_core::{ConversationId, port::Progress};

use super::super::{
    super::graph::Near,
    exact::ExactIndex,
    hnsw_rs::{HnswRs, HnswRsOptions},
    rows::Rows,
};

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

    /// The nearest rows that `keep` accepts; `None` after a failure, which rebuilds the index.
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
                tracing::warn!(%conversation, %error, "vectors are scanned until an index is built anew");
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
        let (first, vectors, all) = exact.reading(conversation, |held| {
            let rows = &held.rows;
            let mut built = entry.built.write().unwrap_or_else(PoisonError::into_inner);
            if built.as_ref().is_none_or(|built| built.rows != rows.id()) {
                let index = HnswRs::new(rows.dimensions(), rows.len(), HnswRsOptions::default());
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
