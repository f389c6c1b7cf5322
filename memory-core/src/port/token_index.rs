//! Port: the vectors of tokens, kept for late interaction.

use std::fmt;

use super::{BoxFuture, TokenVectors, VectorError};
use crate::{ConversationId, ModelId, NodeId, NodeSet};

/// Some nodes of one conversation.
#[derive(Clone, Copy, Debug)]
pub struct TokenPart<'a> {
    /// The conversation.
    pub conversation: &'a ConversationId,
    /// The nodes, in any order.
    pub nodes: &'a [NodeId],
}

/// What an index says of nodes and of a question's tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenAnswer {
    /// For each node, part by part in the order asked: for each of the question's tokens the largest cosine with one of
    /// the node's, −1..=1; `None` for a node of which no token is kept.
    pub max_cosines: Vec<Option<Vec<f32>>>,
    /// For each of the question's tokens, in how many nodes of the conversations its number occurs.
    pub nodes_with: Vec<u64>,
    /// How many nodes of the conversations have tokens.
    pub nodes: u64,
}

/// What an index has of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenIndexStats {
    /// Tokens that are kept.
    pub tokens: u64,
    /// All nodes up to this position are in it.
    pub through: u64,
    /// Bytes that its files take, or its memory where it has none.
    pub bytes: u64,
}

/// Keeps the vectors of nodes' tokens, most likely compressed, and compares a question's with them.
///
/// Contract: a cache, as [`VectorIndex`](super::VectorIndex) is. Nodes are inserted in order; whoever owns the index
/// asks [`stats`](Self::stats) how far it reaches and inserts the rest. What is compressed gives cosines that are near
/// the true ones.
pub trait TokenIndex: fmt::Debug + Send + Sync {
    /// The model that made the vectors.
    fn model(&self) -> &ModelId;

    /// Components of each vector.
    fn dimensions(&self) -> usize;

    /// What there is of a conversation.
    fn stats(&self, conversation: &ConversationId) -> TokenIndexStats;

    /// Adds the tokens of the nodes that follow, each node's chunks together; a node without a token has an empty one.
    fn insert<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a [(NodeId, TokenVectors)],
    ) -> BoxFuture<'a, Result<(), VectorError>>;

    /// Forgets the tokens of nodes, which then count as having none; gives how many nodes that were. They are gone from
    /// the disk once [`flush`](Self::flush) returns.
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

    /// Puts on disk what is not there yet; where that is a local disk, written and synced by the thread that polls this.
    fn flush(&self) -> BoxFuture<'_, Result<(), VectorError>>;
}
