//! A stand-in for a missing embedding model.

use memory_core::{
    ModelId,
    port::{BoxFuture, EmbedError, Embedder},
};
use memory_embed::ModelError;

/// Stands in for a missing model: cached vectors stay, and every question is answered by words with a notice that
/// states how to get the model.
#[derive(Debug)]
pub(super) struct AbsentModel {
    model: ModelId,
    dimensions: usize,
    what: String,
    how: String,
}

impl AbsentModel {
    pub(super) fn new(model: ModelId, dimensions: usize, why: ModelError) -> Self {
        let (what, how) = match EmbedError::from(why) {
            EmbedError::Unavailable { what, how } => (what, how),
            other => (other.to_string(), "run `memory model fetch`".to_owned()),
        };
        Self { model, dimensions, what, how }
    }

    fn unavailable(&self) -> EmbedError {
        EmbedError::Unavailable { what: self.what.clone(), how: self.how.clone() }
    }
}

impl Embedder for AbsentModel {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed_documents<'a>(&'a self, _texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vec<Vec<f32>>>, EmbedError>> {
        Box::pin(async { Err(self.unavailable()) })
    }

    fn embed_query<'a>(&'a self, _text: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
        Box::pin(async { Err(self.unavailable()) })
    }
}
