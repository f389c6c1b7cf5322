//! Port: stored token vectors, for late interaction.

use std::fmt;

use super::{BoxFuture, CachedInMemory, TokenVectors, VectorError};
use crate::{ConversationId, ModelId, NodeId, NodeSet};

/// Some nodes of one conversation.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TokenPart<'a> {
    /// The conversation.
    pub conversation: &'a ConversationId,
    /// The nodes, in any order.
    pub nodes: &'a [NodeId],
    /// Nodes that [`TokenAnswer::nodes_with`] and [`TokenAnswer::nodes`] leave out.
    pub without: &'a [NodeId],
}

impl<'a> TokenPart<'a> {
    /// These nodes of `conversation`.
    #[must_use]
    pub const fn new(conversation: &'a ConversationId, nodes: &'a [NodeId]) -> Self {
        Self { conversation, nodes, without: &[] }
    }

    /// The same nodes; counts leave others out.
    #[must_use]
    pub const fn without(self, without: &'a [NodeId]) -> Self {
        Self { without, ..self }
    }
}

/// Answer of an index for some nodes and a question's tokens.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TokenAnswer {
    /// For each node, in the order of the request: for each of the question's tokens, the largest cosine with one of
    /// the node's tokens, −1..=1; `None` for a node without stored tokens.
    pub max_cosines: Vec<Option<Vec<f32>>>,
    /// For each of the question's tokens, the number of nodes of the conversations that contain its id.
    pub nodes_with: Vec<u64>,
    /// Number of nodes of the conversations that have tokens.
    pub nodes: u64,
}

impl TokenAnswer {
    /// An answer of these cosines.
    #[must_use]
    pub fn new(max_cosines: Vec<Option<Vec<f32>>>) -> Self {
        Self { max_cosines, nodes_with: Vec::new(), nodes: 0 }
    }

    crate::setters! {
        nodes_with: Vec<u64>,
        const nodes: u64,
    }
}

/// Contents of an index for a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenIndexStats {
    /// Number of stored tokens.
    pub tokens: u64,
    /// Last indexed node.
    pub through: u64,
    /// Bytes of its files, or of its memory if it has no files.
    pub bytes: u64,
}

impl TokenIndexStats {
    crate::setters! {
        const tokens: u64,
        const through: u64,
        const bytes: u64,
    }
}

/// Stores the token vectors of nodes, usually compressed, and compares a question's token vectors with them.
///
/// Contract: a cache, like [`VectorIndex`](super::VectorIndex). Nodes are inserted in order; the owner of the index
/// asks [`stats`](Self::stats) for the last one and inserts the rest. Compressed vectors give approximate cosines.
pub trait TokenIndex: fmt::Debug + Send + Sync {
    /// Model of the vectors.
    fn model(&self) -> &ModelId;

    /// Components of each vector.
    fn dimensions(&self) -> usize;

    /// Contents of the index for a conversation.
    fn stats(&self, conversation: &ConversationId) -> TokenIndexStats;

    /// Adds the tokens of the next nodes, each with all its chunks. A node without tokens has an empty entry.
    fn insert<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a [(NodeId, TokenVectors)],
    ) -> BoxFuture<'a, Result<(), VectorError>>;

    /// Forgets the tokens of nodes, which then count as nodes without tokens. Returns the number of nodes that had
    /// some. The tokens are gone from the disk once [`flush`](Self::flush) returns.
    fn remove<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a NodeSet,
    ) -> BoxFuture<'a, Result<u64, VectorError>>;

    /// Compares a question's tokens with those of nodes; each conversation may be named once.
    fn max_cosines<'a>(
        &'a self,
        question: &'a TokenVectors,
        parts: &'a [TokenPart<'a>],
    ) -> BoxFuture<'a, Result<TokenAnswer, VectorError>>;

    /// Writes and syncs unsaved changes. Blocks the polling thread for a local disk.
    fn flush(&self) -> BoxFuture<'_, Result<(), VectorError>>;

    /// Memory that the index holds in this process; none by default.
    fn held(&self) -> Vec<CachedInMemory> {
        Vec::new()
    }
}
