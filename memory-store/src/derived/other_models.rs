//! Removes vectors and tokens of models that are no longer used.

use memory_core::{DerivedError, ModelId};

use super::stored::DerivedFiles;
use crate::LogStore;

/// Removes the vectors, graphs and tokens of all models except `model` from the cache of `store`. Call it once
/// everything is embedded by that model. Embedding by a removed model makes them again.
///
/// # Errors
/// If a directory cannot be listed, another process holds its turn to write, or a file cannot be removed; files before
/// that one are gone.
pub fn forget_other_models(store: &LogStore, model: &ModelId) -> Result<(), DerivedError> {
    let all =
        [DerivedFiles::vectors(store, None), DerivedFiles::graphs(store, None), DerivedFiles::tokens(store, None)];
    all.iter().try_for_each(|files| files.forget_other_models(model))
}
