//! Removes the vectors and tokens of models that a store no longer uses.

use memory_core::{DerivedError, ModelId};

use super::stored::DerivedFiles;
use crate::LogStore;

/// Removes the vectors, graphs and tokens of all models but `model` from the cache of `store`. Call it after everything
/// was embedded by another model. Embedding makes them again.
///
/// # Errors
/// When a directory cannot be listed, another process keeps the right to write to it, or a file cannot be removed;
/// files before that one are gone.
pub fn forget_other_models(store: &LogStore, model: &ModelId) -> Result<(), DerivedError> {
    let all =
        [DerivedFiles::vectors(store, None), DerivedFiles::graphs(store, None), DerivedFiles::tokens(store, None)];
    all.iter().try_for_each(|files| files.forget_other_models(model))
}
