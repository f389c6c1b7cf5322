//! Port: nearest vectors.

use std::{fmt, path::PathBuf};

use super::{BoxError, BoxFuture};
use crate::{ConversationId, ModelId, NodeId};

/// Which vector: a node and one of its chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The node.
    pub node: NodeId,
    /// The chunk of its text, from 0.
    pub chunk: u32,
}

/// A vector's likeness to a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlotScore {
    /// The vector.
    pub slot: Slot,
    /// Cosine, −1..=1.
    pub cosine: f32,
}

/// What an index holds of one conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VectorIndexStats {
    /// Vectors.
    pub vectors: u64,
    /// All nodes up to this position are in it; 0 for none.
    pub through: u64,
    /// Bytes on disk.
    pub bytes: u64,
}

/// Vectors of one model by conversation. A cache: losing it loses time, never data.
///
/// Contract: nodes are inserted in order, each with all its vectors, which are none for a node that cannot be
/// read, so that "through node N" says all;
/// vectors are finite, of unit length (± 1e-3) and of the index's dimensions, or refused whole; a search
/// sees every insert that returned before it; equal scores are ordered by slot.
pub trait VectorIndex: fmt::Debug + Send + Sync {
    /// The model whose vectors these are.
    fn model(&self) -> &ModelId;

    /// Components of each vector.
    fn dimensions(&self) -> usize;

    /// What is there of a conversation; zeros for one that it does not know.
    fn stats(&self, conversation: &ConversationId) -> VectorIndexStats;

    /// Adds nodes: the first must be the one after [`VectorIndexStats::through`], the others follow it
    /// without a gap. Returns once the vectors are searchable; they reach the disk by [`Self::flush`].
    fn insert<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a [(NodeId, Vec<Vec<f32>>)],
    ) -> BoxFuture<'a, Result<(), VectorError>>;

    /// The `limit` best vectors for `query`, best first. `limit` of `usize::MAX` scores all.
    fn search<'a>(
        &'a self,
        conversation: &'a ConversationId,
        query: &'a [f32],
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<SlotScore>, VectorError>>;

    /// Puts what was inserted on disk.
    fn flush(&self) -> BoxFuture<'_, Result<(), VectorError>>;
}

/// Why an index did not take or find vectors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VectorError {
    /// A vector of another length.
    #[error("a vector has {found} components, the index holds vectors of {expected}")]
    Dimensions {
        /// The index's dimensions.
        expected: usize,
        /// The vector's.
        found: usize,
    },
    /// NaN, an infinity, or not of unit length.
    #[error("vector of node {node}: {what}")]
    BadVector {
        /// The node it was for.
        node: NodeId,
        /// What is wrong.
        what: &'static str,
    },
    /// Not the next node.
    #[error("vectors come in order: node {expected} is next, not {found}")]
    OutOfOrder {
        /// The next node.
        expected: NodeId,
        /// The one that came.
        found: NodeId,
    },
    /// A file could not be read or written.
    #[error("vector file {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The backend failed.
    #[error("vector backend {backend} failed")]
    Backend {
        /// Which one.
        backend: &'static str,
        /// Why.
        #[source]
        source: BoxError,
    },
}
