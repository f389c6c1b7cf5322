//! Loads the cross-encoder that reads question and candidates together.

use std::sync::Arc;

use memory_core::port::Reranker;
use memory_embed::{ModelError, ModelSource, ModelStore, RerankerOptions};

use crate::{Config, model_names::full_name};

/// The cross-encoder that `config` names, if any.
///
/// # Errors
/// [`ModelError`], if it is missing or cannot be used: a user who asked for a cross-encoder does not want an answer
/// without it.
pub(crate) fn load(config: &Config) -> Result<Option<Arc<dyn Reranker>>, ModelError> {
    let Some(name) = &config.reranker else { return Ok(None) };
    let Ok(source) = full_name(name).parse::<ModelSource>();
    let store = ModelStore::discover(config.models.as_deref())?;
    source.load_reranker(&store, &RerankerOptions::default()).map(Some)
}
