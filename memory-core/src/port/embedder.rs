//! Port: vectors of texts.

use std::fmt;

use super::{BoxError, BoxFuture, TokenEmbedder};
use crate::ModelId;

/// Computes vectors of texts.
///
/// Contract: every vector has [`dimensions`](Self::dimensions) finite components and unit length. The vectors of a text
/// do not depend on other texts in the call. Documents and queries may be encoded differently. Dropping a future
/// cancels its work.
pub trait Embedder: fmt::Debug + Send + Sync {
    /// Id of the model. Vectors of different models must not be compared.
    fn model(&self) -> &ModelId;

    /// Components of each vector.
    fn dimensions(&self) -> usize;

    /// Vectors of the chunks of each text, in input order. Each text has at least one chunk, and more if it is longer
    /// than the model's input: nothing is truncated.
    fn embed_documents<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vec<Vec<f32>>>, EmbedError>>;

    /// Vector of a question. A question longer than the model's input is represented by all its chunks. An embedder may
    /// refuse a question in a script that its model does not know ([`EmbedError::UnknownScript`]).
    fn embed_query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>>;

    /// The embedder's token vectors, if its model provides them.
    fn with_tokens(&self) -> Option<&dyn TokenEmbedder> {
        None
    }
}

/// Reason why a text has no vector.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// The model or its runtime is missing.
    #[error("{what} is missing: {how}")]
    Unavailable {
        /// The missing part.
        what: String,
        /// Remedy.
        how: String,
    },
    /// A remote model does not answer, because of the network, a rate limit or the credentials. A later call, or one
    /// with other settings, may succeed.
    #[error("{model} cannot be asked")]
    Unreachable {
        /// The model.
        model: ModelId,
        /// Cause and remedy.
        #[source]
        source: BoxError,
    },
    /// The model does not know the script of a question, so that its vector would say nothing.
    #[error(
        "{model} does not know the script of the question; one of many languages does (`memory model fetch multilingual-e5-small`)"
    )]
    UnknownScript {
        /// The model.
        model: ModelId,
    },
    /// The model's output is not an embedding.
    #[error("model {model} returned {what}")]
    BadOutput {
        /// The model.
        model: ModelId,
        /// The model's output.
        what: String,
    },
    /// The backend failed.
    #[error("embedding with {model} failed")]
    Backend {
        /// The model.
        model: ModelId,
        /// The cause.
        #[source]
        source: BoxError,
    },
}
