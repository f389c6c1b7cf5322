//! Port: text becomes vectors.

use std::fmt;

use super::{BoxError, BoxFuture, TokenEmbedder};
use crate::ModelId;

/// Embeds texts.
///
/// Contract: every vector has [`dimensions`](Self::dimensions) finite components and unit length; the
/// vectors of a text do not depend on the texts embedded with it; documents and queries may be encoded
/// differently. Dropping a future gives the work up.
pub trait Embedder: fmt::Debug + Send + Sync {
    /// The model; vectors of different models are never compared.
    fn model(&self) -> &ModelId;

    /// Components of each vector.
    fn dimensions(&self) -> usize;

    /// For each text, in input order, one vector a chunk: at least one, and several where the text is
    /// longer than the model's input. Nothing is cut off.
    fn embed_documents<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vec<Vec<f32>>>, EmbedError>>;

    /// The vector of a question; one longer than the model's input is represented by all its chunks.
    fn embed_query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>>;

    /// The same embedder with the vectors of tokens beside those of texts, if its model gives them.
    fn with_tokens(&self) -> Option<&dyn TokenEmbedder> {
        None
    }
}

/// Why a text has no vector.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// The model or its runtime is not there.
    #[error("{what} is missing: {how}")]
    Unavailable {
        /// What is missing.
        what: String,
        /// How to get it.
        how: String,
    },
    /// A model elsewhere gives no answer: the network, its limits or its credentials are in the way. Another time, or
    /// with other settings, it may.
    #[error("{model} cannot be asked")]
    Unreachable {
        /// The model.
        model: ModelId,
        /// Why, and what to do.
        #[source]
        source: BoxError,
    },
    /// The model gave something that is no embedding.
    #[error("model {model} returned {what}")]
    BadOutput {
        /// The model.
        model: ModelId,
        /// What came back.
        what: String,
    },
    /// The backend failed.
    #[error("embedding with {model} failed")]
    Backend {
        /// The model.
        model: ModelId,
        /// Why.
        #[source]
        source: BoxError,
    },
}
