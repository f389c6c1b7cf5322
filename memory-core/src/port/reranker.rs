//! Port: scores of texts as answers to a question.

use std::fmt;

use super::{BoxError, BoxFuture, ScoreScale};
use crate::ModelId;

/// Scores candidates against a question with a model that reads both together.
///
/// Contract: one finite score for each document, in input order, on the stated scale; higher is better.
pub trait Reranker: fmt::Debug + Send + Sync {
    /// The model.
    fn model(&self) -> &ModelId;

    /// The scale of its scores.
    fn scale(&self) -> ScoreScale;

    /// Scores `documents` for `query`.
    fn rerank<'a>(&'a self, query: &'a str, documents: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<f32>, RerankError>>;
}

/// Reason why candidates have no score.
#[derive(Debug, thiserror::Error)]
#[error("reranking with {model} failed")]
#[non_exhaustive]
pub struct RerankError {
    /// The model.
    pub model: ModelId,
    /// The cause.
    #[source]
    pub source: BoxError,
}

impl RerankError {
    /// The error of `model`.
    #[must_use]
    pub fn new(model: ModelId, source: impl Into<BoxError>) -> Self {
        Self { model, source: source.into() }
    }
}
