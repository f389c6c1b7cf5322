//! Port: what a searcher reads.

use std::fmt;

use super::{BoxFuture, ConversationState, ReadNodes, StoreError};
use crate::{ConversationId, NodeOutline, NodeRange, Role, Summary, Timestamp};

/// Conversations that can be searched, wherever they are kept. Every [`Store`](super::Store) is one; a program that
/// only searches messages of its own implements this alone.
///
/// Contract, which `testing::source_conformance` checks:
/// - Nodes are numbered densely from 1. A node never changes, and more follow only at the end: a searcher reads each of
///   them once.
/// - A conversation that does not exist is [`StoreError::UnknownConversation`] in every method.
/// - A node states the tokens of its text ([`Node::tokens`](crate::Node::tokens)), which the budget of a recall counts.
/// - A node that cannot be read keeps its number and is reported.
pub trait Source: fmt::Debug + Send + Sync {
    /// The state of one conversation.
    fn conversation<'a>(
        &'a self,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<ConversationState, StoreError>>;

    /// The states of all conversations, by name.
    fn conversations(&self) -> BoxFuture<'_, Result<Vec<ConversationState>, StoreError>>;

    /// The nodes of a run that exist and can be read, in order, and those that cannot. Damage in a conversation does
    /// not hide the rest of it.
    fn readable_nodes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<ReadNodes, StoreError>>;

    /// Outlines of all nodes, in order. The default reads all nodes; one that cannot be read has an empty outline.
    fn outline<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Vec<NodeOutline>, StoreError>> {
        Box::pin(async move {
            let nodes = self.conversation(conversation).await?.nodes;
            let Some(all) = NodeRange::first_n(nodes) else { return Ok(Vec::new()) };
            let read = self.readable_nodes(conversation, all).await?;
            let blank = NodeOutline::new(Timestamp::default(), Role::User);
            let mut outline = vec![blank; usize::try_from(nodes).unwrap_or(usize::MAX)];
            for node in &read.nodes {
                if let Some(place) = outline.get_mut(node.id.index()) {
                    *place = NodeOutline::of(node);
                }
            }
            Ok(outline)
        })
    }

    /// All summaries of a conversation that can be read, in order of their numbers; those of lost ones are left out.
    /// The default has none: every message is at level FULL then.
    fn summaries<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        Box::pin(async move { self.conversation(conversation).await.map(|_| Vec::new()) })
    }
}
