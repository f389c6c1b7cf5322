//! Port: vectors of texts.

use std::fmt;

use super::{BoxError, BoxFuture, TokenEmbedder};
use crate::ModelId;

/// Embeds texts.
///
/// Contract: every vector has [`dimensions`](Self::dimensions) finite components and unit length. The vectors of a text
/// do not depend on the texts embedded with it. Documents and queries may be encoded differently. Dropping a future
/// cancels its work.
pub trait Embedder: fmt::Debug + Send + Sync {
    /// The model; vectors of different models are never compared.
    fn model(&self) -> &ModelId;

    /// Components of each vector.
    fn dimensions(&self) -> usize;

    /// The vectors of each text, in input order, one for each chunk. A text has at least one chunk, and several where
    /// it is longer than the model's input. Nothing is cut off.
    fn embed_documents<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vec<Vec<f32>>>, EmbedError>>;

    /// The vector of a question. A question longer than the model's input is represented by all its chunks.
    fn embed_query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>>;

    /// The same embedder with vectors of tokens, if its model provides them.
    fn with_tokens(&self) -> Option<&dyn TokenEmbedder> {
        None
    }
}

/// Why a text has no vector.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// The model or its runtime is missing.
    #[error("{what} is missing: {how}")]
    Unavailable {
        /// Name of what is missing.
        what: String,
        /// How to get it.
        how: String,
    },
    /// A remote model does not answer, because of the network, its limits or its credentials. A later call, or one with
    /// other settings, may succeed.
    #[error("{model} cannot be asked")]
    Unreachable {
        /// The model.
        model: ModelId,
        /// Why, and what to do.
        #[source]
        source: BoxError,
    },
    /// The model's output is not an embedding.
    #[error("model {model} returned {what}")]
    BadOutput {
        /// The model.
        model: ModelId,
        /// Description of what the model returned.
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
