//! Port: nearest vectors.

use std::{fmt, path::PathBuf};

use super::{BoxError, BoxFuture};
use crate::{ConversationId, ModelId, NodeId, NodeSet, Progress};

/// Which vector: a node and one of its chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The node.
    pub node: NodeId,
    /// The chunk of its text, from 0.
    pub chunk: u32,
}

/// A question to an index.
#[derive(Clone, Copy, Debug)]
pub struct VectorQuery<'a> {
    /// Finite, not zero, of the index's dimensions; its length does not matter.
    pub vector: &'a [f32],
    /// The most vectors to give. `usize::MAX` scores all, in the order of their places.
    pub limit: usize,
    /// Where to search, each conversation once.
    pub parts: &'a [VectorPart<'a>],
}

/// A conversation, or some nodes of it, to be searched.
#[derive(Clone, Copy, Debug)]
pub struct VectorPart<'a> {
    /// The conversation.
    pub conversation: &'a ConversationId,
    /// The nodes that may answer: what of time, role, session or level was asked for. `None` for all.
    pub only: Option<&'a NodeSet>,
}

impl<'a> VectorPart<'a> {
    /// All nodes of a conversation.
    #[must_use]
    pub fn whole(conversation: &'a ConversationId) -> Self {
        Self { conversation, only: None }
    }
}

/// The answer to a [`VectorQuery`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VectorAnswer {
    /// Best first; equal ones by part, then by slot. Where all were asked for, by part, then by slot: to order tens of
    /// thousands by their likeness takes as long as to compute it.
    pub hits: Vec<VectorHit>,
    /// How each part was searched, in the order of the parts.
    pub answered_by: Vec<AnsweredBy>,
}

/// A vector's likeness to a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VectorHit {
    /// The part of the query that it is of, from 0.
    pub part: usize,
    /// The vector.
    pub slot: Slot,
    /// Cosine, −1..=1, computed from the components as they were inserted.
    pub cosine: f32,
}

/// How a conversation was searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AnsweredBy {
    /// All vectors were compared.
    Scan,
    /// The vectors of the nodes that may answer were compared, and no others.
    SubsetScan,
    /// A graph of near neighbours was walked, and what it lacks was compared.
    Graph {
        /// Whose.
        backend: &'static str,
    },
}

impl fmt::Display for AnsweredBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scan => f.write_str("scan"),
            Self::SubsetScan => f.write_str("scan of a subset"),
            Self::Graph { backend } => write!(f, "graph ({backend})"),
        }
    }
}

/// What an index holds of one conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VectorIndexStats {
    /// Vectors that can be found.
    pub vectors: u64,
    /// Vectors that were removed and still take room.
    pub removed: u64,
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
/// sees every insert and removal that returned before it, and waits for none that is under way longer than it takes
/// to copy its vectors. What is found may be approximate, and [`VectorAnswer::answered_by`] says so; cosines never are.
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

    /// Removes the vectors of nodes, for ever: they answer no more, and the next flush destroys what of them is on disk.
    /// [`VectorIndexStats::through`] stays. Gives how many vectors that were.
    fn remove<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a NodeSet,
    ) -> BoxFuture<'a, Result<u64, VectorError>>;

    /// The best vectors over all parts of a query.
    fn search<'a>(&'a self, query: &'a VectorQuery<'a>) -> BoxFuture<'a, Result<VectorAnswer, VectorError>>;

    /// Does now, however long it takes, what an index would otherwise do in the background so that answers come faster:
    /// it links a graph. One that has nothing of the kind does nothing. Progress counts vectors.
    ///
    /// Answers are right without it, so that a process that ends soon need not wait. The indexes of `memory-store` work on
    /// the thread that polls this, for seconds where a hundred thousand vectors are to be linked: beside other tasks of a
    /// runtime, poll it where blocking is allowed.
    fn prepare<'a>(
        &'a self,
        _conversation: &'a ConversationId,
        _progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<(), VectorError>> {
        Box::pin(async { Ok(()) })
    }

    /// Puts what was inserted and removed on disk; where that is a local disk, written and synced by the thread that polls
    /// this.
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
    /// A query that is zero or not finite.
    #[error("the query is zero or not finite")]
    BadQuery,
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
