//! Port: read access for searching.

use std::fmt;

use super::{BoxFuture, ConversationState, ReadNodes, StoreError};
use crate::{ConversationId, NodeOutline, NodeRange, Role, Summary, Timestamp};

/// Read access to searchable conversations. Every [`Store`](super::Store) is a source; a program that only searches its
/// own messages implements just this trait.
///
/// Contract, which `testing::source_conformance` checks:
/// - Nodes are numbered densely from 1. A node never changes, and new nodes are only appended, so that a searcher reads
///   each one once.
/// - A missing conversation is [`StoreError::UnknownConversation`] in every method.
/// - A node states the tokens of its text ([`Node::tokens`](crate::Node::tokens)), which count in the budget of a
///   recall.
/// - An unreadable node keeps its number and is reported.
pub trait Source: fmt::Debug + Send + Sync {
    /// The state of one conversation.
    fn conversation<'a>(
        &'a self,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<ConversationState, StoreError>>;

    /// The states of all conversations, by name.
    fn conversations(&self) -> BoxFuture<'_, Result<Vec<ConversationState>, StoreError>>;

    /// The existing nodes of a run that can be read, in order, and those that cannot. Damage hides only the damaged
    /// nodes.
    fn readable_nodes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<ReadNodes, StoreError>>;

    /// [`Self::readable_nodes`] with disabled messages as they were said, and marked: for indexes, which have them ready
    /// when they are enabled, for exports and for audits. The default is for a source in which nothing can be disabled.
    fn whole_nodes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<ReadNodes, StoreError>> {
        self.readable_nodes(conversation, range)
    }

    /// Outlines of all nodes, in order. The default reads all nodes; an unreadable one has an empty outline.
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

    /// All readable summaries of a conversation, in order of their numbers. The default has none, so that every message
    /// is at level FULL.
    fn summaries<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        Box::pin(async move { self.conversation(conversation).await.map(|_| Vec::new()) })
    }
}
