//! Port: search for the nearest vectors.

use std::{fmt, path::PathBuf};

use super::{BoxError, BoxFuture, HeldInMemory};
use crate::{ConversationId, ModelId, NodeId, NodeSet, Progress};

/// The identity of a vector: a node and one of its chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The node.
    pub node: NodeId,
    /// The chunk of its text, from 0.
    pub chunk: u32,
}

/// A query to an index.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct VectorQuery<'a> {
    /// Finite, not zero, of the index's dimensions; its length does not matter.
    pub vector: &'a [f32],
    /// The most vectors to return. `usize::MAX` scores all, in the order of their slots.
    pub limit: usize,
    /// Where to search, each conversation at most once.
    pub parts: &'a [VectorPart<'a>],
}

impl<'a> VectorQuery<'a> {
    /// The query for the `limit` vectors nearest to `vector`.
    #[must_use]
    pub const fn new(vector: &'a [f32], limit: usize, parts: &'a [VectorPart<'a>]) -> Self {
        Self { vector, limit, parts }
    }
}

/// A conversation, or some of its nodes, to search.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct VectorPart<'a> {
    /// The conversation.
    pub conversation: &'a ConversationId,
    /// The nodes that may answer, chosen by time, role, session or level; `None` for all.
    pub only: Option<&'a NodeSet>,
}

impl<'a> VectorPart<'a> {
    /// All nodes of a conversation.
    #[must_use]
    pub const fn new(conversation: &'a ConversationId) -> Self {
        Self { conversation, only: None }
    }

    crate::setters! { into only: Option<&'a NodeSet> }
}

/// The answer to a [`VectorQuery`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct VectorAnswer {
    /// Best first; equal ones by part, then by slot. With the limit `usize::MAX`, by part, then by slot: sorting tens
    /// of thousands by their cosine takes as long as computing it.
    pub hits: Vec<VectorHit>,
    /// How each part was searched, in the order of the parts.
    pub answered_by: Vec<AnsweredBy>,
}

impl VectorAnswer {
    /// An answer of these hits.
    #[must_use]
    pub fn new(hits: Vec<VectorHit>, answered_by: Vec<AnsweredBy>) -> Self {
        Self { hits, answered_by }
    }
}

/// A vector's similarity to a query.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct VectorHit {
    /// The part of the query that it belongs to, from 0.
    pub part: usize,
    /// The vector.
    pub slot: Slot,
    /// Cosine, −1..=1, computed from the components as they were inserted.
    pub cosine: f32,
}

impl VectorHit {
    /// The vector of `slot` in a part of the query.
    #[must_use]
    pub const fn new(part: usize, slot: Slot, cosine: f32) -> Self {
        Self { part, slot, cosine }
    }
}

/// How a conversation was searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum AnsweredBy {
    /// All vectors were compared.
    Scan,
    /// The vectors of the nodes that may answer were compared, and no others.
    SubsetScan,
    /// A graph of near neighbours was searched, and vectors that are not in it were compared.
    Graph {
        /// The backend of the graph.
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

/// Extent of an index for one conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VectorIndexStats {
    /// Vectors that a search can find.
    pub vectors: u64,
    /// Vectors that were removed and still take room.
    pub removed: u64,
    /// All nodes up to this position are indexed; 0 if none is.
    pub through: u64,
    /// Bytes on disk.
    pub bytes: u64,
}

impl VectorIndexStats {
    crate::setters! {
        const vectors: u64,
        const removed: u64,
        const through: u64,
        const bytes: u64,
    }
}

/// Vectors of one model by conversation. A cache: losing it loses time, never data.
///
/// Contract: nodes are inserted in order, each with all its vectors. A node that cannot be read is inserted without
/// vectors, so that [`VectorIndexStats::through`] alone states what is indexed. Vectors are finite, of unit length (±
/// 1e-3) and of the index's dimensions; otherwise the whole insert is refused. A search sees every insert and removal
/// that returned before it. A search waits for a running insert or removal at most as long as copying its vectors
/// takes. The result may be approximate, and [`VectorAnswer::answered_by`] states how it was found; cosines are always
/// exact.
pub trait VectorIndex: fmt::Debug + Send + Sync {
    /// The model whose vectors these are.
    fn model(&self) -> &ModelId;

    /// Components of each vector.
    fn dimensions(&self) -> usize;

    /// Extent of the index for a conversation; zeros for an unknown one.
    fn stats(&self, conversation: &ConversationId) -> VectorIndexStats;

    /// Adds nodes: the first must be the one after [`VectorIndexStats::through`], the others follow without a gap.
    /// Returns once the vectors are searchable. [`Self::flush`] writes them to disk.
    fn insert<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a [(NodeId, Vec<Vec<f32>>)],
    ) -> BoxFuture<'a, Result<(), VectorError>>;

    /// Removes the vectors of nodes permanently: no search finds them, and the next flush destroys their bytes on disk.
    /// [`VectorIndexStats::through`] stays. Returns how many vectors were removed.
    fn remove<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a NodeSet,
    ) -> BoxFuture<'a, Result<u64, VectorError>>;

    /// The best vectors over all parts of a query.
    fn search<'a>(&'a self, query: &'a VectorQuery<'a>) -> BoxFuture<'a, Result<VectorAnswer, VectorError>>;

    /// Does now, to its end, the work that an index would otherwise do in the background to make answers faster, such
    /// as linking a graph. An index without such work does nothing. Progress counts vectors.
    ///
    /// Answers are correct without it, so a short-lived process need not wait. The indexes of `memory-store` work on
    /// the thread that polls this, for seconds where a hundred thousand vectors are to be linked: in a runtime, poll it
    /// where blocking is allowed.
    fn prepare<'a>(
        &'a self,
        _conversation: &'a ConversationId,
        _progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<(), VectorError>> {
        Box::pin(async { Ok(()) })
    }

    /// Writes and syncs inserts and removals. A local disk is written by the thread that polls this.
    fn flush(&self) -> BoxFuture<'_, Result<(), VectorError>>;

    /// How much this process holds in memory of what the index keeps; nothing by default.
    fn held(&self) -> Vec<HeldInMemory> {
        Vec::new()
    }
}

/// Why an index did not accept or find vectors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VectorError {
    /// A vector has another number of components.
    #[error("a vector has {found} components, the index holds vectors of {expected}")]
    Dimensions {
        /// The index's dimensions.
        expected: usize,
        /// The vector's dimensions.
        found: usize,
    },
    /// The query is zero or not finite.
    #[error("the query is zero or not finite")]
    BadQuery,
    /// A component is NaN or infinite, or the length is not 1.
    #[error("vector of node {node}: {what}")]
    BadVector {
        /// The node of the vector.
        node: NodeId,
        /// The fault.
        what: &'static str,
    },
    /// The node is not the next one.
    #[error("vectors come in order: node {expected} is next, not {found}")]
    OutOfOrder {
        /// The next node.
        expected: NodeId,
        /// The node that was given.
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
        /// The backend.
        backend: &'static str,
        /// Why.
        #[source]
        source: BoxError,
    },
}
