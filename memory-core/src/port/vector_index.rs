//! Port: nearest-vector search.

use std::{fmt, path::PathBuf};

use super::{BoxError, BoxFuture, CachedInMemory};
use crate::{ConversationId, ModelId, NodeId, NodeSet, port::Progress};

/// Identity of a vector: a node and one of its chunks.
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
    /// Query vector: finite, not zero, of the index's dimensions; its length does not matter.
    pub vector: &'a [f32],
    /// Maximum vectors to return. `usize::MAX` returns all, in the order of their slots.
    pub limit: usize,
    /// Conversations to search, each at most once.
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
    /// Nodes that may be results, selected by time, role, session or level; `None` for all.
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
    /// Results, best first, ties by part, then by slot. With the limit `usize::MAX`, by part, then by slot, because
    /// sorting tens of thousands by cosine would take as long as computing it.
    pub hits: Vec<VectorHit>,
    /// Search method of each part, in the order of the parts.
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
    /// Index of the part of the query that the vector belongs to.
    pub part: usize,
    /// The vector.
    pub slot: Slot,
    /// Cosine, −1..=1, computed from the original components.
    pub cosine: f32,
}

impl VectorHit {
    /// A vector in a part of the query.
    #[must_use]
    pub const fn new(part: usize, slot: Slot, cosine: f32) -> Self {
        Self { part, slot, cosine }
    }
}

/// Search method of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum AnsweredBy {
    /// All vectors were compared.
    Scan,
    /// Only the vectors of the selected nodes were compared.
    SubsetScan,
    /// A graph of near neighbours was searched, and vectors outside of it were compared.
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

/// Contents of an index for one conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VectorIndexStats {
    /// Number of vectors that a search can find.
    pub vectors: u64,
    /// Number of removed vectors that still take space.
    pub removed: u64,
    /// Last indexed node; 0 for none.
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

/// Vectors of one model by conversation. A cache: a loss costs time, never data.
///
/// Contract: nodes are inserted in order, each with all its vectors. An unreadable node is inserted without vectors, so
/// that [`VectorIndexStats::through`] alone states what is indexed. Vectors must be finite, of unit length (± 1e-3) and
/// of the index's dimensions; otherwise the whole insert is rejected. A search sees every insert and removal that
/// returned before it began, and waits for a running one at most while its vectors are copied. Results may be
/// approximate, and [`VectorAnswer::answered_by`] states the method; cosines are always exact.
pub trait VectorIndex: fmt::Debug + Send + Sync {
    /// Model of the vectors.
    fn model(&self) -> &ModelId;

    /// Components of each vector.
    fn dimensions(&self) -> usize;

    /// Contents of the index for a conversation; zeros for an unknown one.
    fn stats(&self, conversation: &ConversationId) -> VectorIndexStats;

    /// Adds nodes: the first must follow [`VectorIndexStats::through`], the others follow without a gap. Returns once
    /// the vectors are searchable; [`Self::flush`] writes them to disk.
    fn insert<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a [(NodeId, Vec<Vec<f32>>)],
    ) -> BoxFuture<'a, Result<(), VectorError>>;

    /// Removes the vectors of nodes permanently: no search finds them, and the next flush destroys their bytes on disk.
    /// [`VectorIndexStats::through`] stays. Returns the number of removed vectors.
    fn remove<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a NodeSet,
    ) -> BoxFuture<'a, Result<u64, VectorError>>;

    /// The nearest vectors over all parts of a query.
    fn search<'a>(&'a self, query: &'a VectorQuery<'a>) -> BoxFuture<'a, Result<VectorAnswer, VectorError>>;

    /// Completes the work that the index would otherwise do in the background for faster answers, such as linking a
    /// graph; may do nothing. Progress counts vectors.
    ///
    /// Answers are correct without it, so a short-lived process need not wait. The indexes of `memory-store` block the
    /// polling thread, for seconds if a hundred thousand vectors must be linked, so in a runtime poll it where blocking
    /// is allowed.
    fn prepare<'a>(
        &'a self,
        _conversation: &'a ConversationId,
        _progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<(), VectorError>> {
        Box::pin(async { Ok(()) })
    }

    /// Writes and syncs inserts and removals. Blocks the polling thread for a local disk.
    fn flush(&self) -> BoxFuture<'_, Result<(), VectorError>>;

    /// Memory that the index holds in this process; none by default.
    fn held(&self) -> Vec<CachedInMemory> {
        Vec::new()
    }
}

/// Reason why an index rejected or did not find vectors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VectorError {
    /// The vector has another number of components.
    #[error("a vector has {found} components, the index holds vectors of {expected}")]
    Dimensions {
        /// Dimensions of the index.
        expected: usize,
        /// Components of the vector.
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
    /// The node does not follow the last one.
    #[error("vectors come in order: node {expected} is next, not {found}")]
    OutOfOrder {
        /// Expected node.
        expected: NodeId,
        /// Given node.
        found: NodeId,
    },
    /// A file could not be read or written.
    #[error("vector file {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The backend failed.
    #[error("vector backend {backend} failed")]
    Backend {
        /// The backend.
        backend: &'static str,
        /// The cause.
        #[source]
        source: BoxError,
    },
}
