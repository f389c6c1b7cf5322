//! Port: stored vectors of tokens, for late interaction.

use std::fmt;

use super::{BoxFuture, HeldInMemory, TokenVectors, VectorError};
use crate::{ConversationId, ModelId, NodeId, NodeSet};

/// Some nodes of one conversation.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TokenPart<'a> {
    /// The conversation.
    pub conversation: &'a ConversationId,
    /// The nodes, in any order.
    pub nodes: &'a [NodeId],
}

impl<'a> TokenPart<'a> {
    /// These nodes of `conversation`.
    #[must_use]
    pub const fn new(conversation: &'a ConversationId, nodes: &'a [NodeId]) -> Self {
        Self { conversation, nodes }
    }
}

/// An index's answer for some nodes and a question's tokens.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TokenAnswer {
    /// For each node, part by part in the order asked: for each of the question's tokens the largest cosine with one of
    /// the node's, −1..=1; `None` for a node without stored tokens.
    pub max_cosines: Vec<Option<Vec<f32>>>,
    /// For each of the question's tokens, in how many nodes of the conversations its id occurs.
    pub nodes_with: Vec<u64>,
    /// How many nodes of the conversations have tokens.
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

/// Extent of an index for a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenIndexStats {
    /// Tokens that are kept.
    pub tokens: u64,
    /// All nodes up to this position are indexed.
    pub through: u64,
    /// Bytes of its files, or of its memory where it has no files.
    pub bytes: u64,
}

impl TokenIndexStats {
    crate::setters! {
        const tokens: u64,
        const through: u64,
        const bytes: u64,
    }
}

/// Keeps the vectors of nodes' tokens, usually compressed, and compares a question's with them.
///
/// Contract: a cache, as [`VectorIndex`](super::VectorIndex) is. Nodes are inserted in order. The owner of the index
/// asks [`stats`](Self::stats) how far it reaches and inserts the rest. Compressed vectors give cosines near the true
/// ones.
pub trait TokenIndex: fmt::Debug + Send + Sync {
    /// The model that made the vectors.
    fn model(&self) -> &ModelId;

    /// Components of each vector.
    fn dimensions(&self) -> usize;

    /// Extent of the index for a conversation.
    fn stats(&self, conversation: &ConversationId) -> TokenIndexStats;

    /// Adds the tokens of the nodes that follow, each node's chunks together. A node without tokens has an empty entry.
    fn insert<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a [(NodeId, TokenVectors)],
    ) -> BoxFuture<'a, Result<(), VectorError>>;

    /// Forgets the tokens of nodes, which then count as having no tokens. Returns how many nodes had some. The tokens
    /// are gone from the disk once [`flush`](Self::flush) returns.
    fn remove<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a NodeSet,
    ) -> BoxFuture<'a, Result<u64, VectorError>>;

    /// Compares a question's tokens with those of nodes, each conversation named once.
    fn max_cosines<'a>(
        &'a self,
        question: &'a TokenVectors,
        parts: &'a [TokenPart<'a>],
    ) -> BoxFuture<'a, Result<TokenAnswer, VectorError>>;

    /// Writes and syncs what is not on disk yet. A local disk is written by the thread that polls this.
    fn flush(&self) -> BoxFuture<'_, Result<(), VectorError>>;

    /// How much this process holds in memory of what the index keeps; nothing by default.
    fn held(&self) -> Vec<HeldInMemory> {
        Vec::new()
    }
}
