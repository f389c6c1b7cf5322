//! The one list of all data derived from a store's log.

use std::sync::Arc;

use memory_core::port::Derived;
use memory_store::{DerivedBlocks, DerivedFiles, LogStore, RecordedQuestions};

use crate::{Config, embedding};

/// All data derived from the log of `store`, one of each kind. No model is loaded.
///
/// Indexes that this process has open are not known here. To delete files while one is open, name the index in the call
/// that lists them ([`DerivedFiles::vectors`], [`DerivedFiles::graphs`], [`DerivedFiles::tokens`]).
#[must_use]
pub fn derived(config: &Config, store: &Arc<LogStore>) -> Vec<Arc<dyn Derived>> {
    if store.is_in_memory() {
        return vec![Arc::new(RecordedQuestions::of(Arc::<LogStore>::clone(store)))];
    }
    vec![
        Arc::new(DerivedBlocks::words(store)),
        Arc::new(DerivedFiles::vectors(store, None)),
        Arc::new(DerivedFiles::graphs(store, None)),
        Arc::new(DerivedFiles::tokens(store, None)),
        Arc::new(embedding::derived(config, store)),
        Arc::new(RecordedQuestions::of(Arc::<LogStore>::clone(store))),
    ]
}
