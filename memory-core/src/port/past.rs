//! A conversation as it was at an earlier message.

use std::sync::Arc;

use super::{
    Appended, BoxFuture, ConversationState, Event, NodeProof, Place, ReadNodes, Recorded, Source, Store, StoreError,
    Verification, VerifiedConversation,
};
use crate::{
    ConversationId, Disabling, MessageKey, Node, NodeDraft, NodeId, NodeOutline, NodeRange, NoteId, OwnerId, Summary,
    SummaryId, ViewId, port::Note, proof::TreeHead, view::View,
};

/// One conversation of a store as it was when it ended with a certain message; read-only.
///
/// Contains the messages up to that one, the summaries that cover no later message, and the views that were recorded
/// before the next message, and no notes. Importance and pins are current; title and tags are those at the construction
/// of this value; superseded summaries show their newest text. Other conversations are not found. A memory over this
/// store shows what it would have shown then, and records nothing.
#[derive(Clone, Debug)]
pub struct PastStore {
    store: Arc<dyn Store>,
    conversation: ConversationId,
    last: NodeId,
    /// Read once, because computing it reads the whole conversation.
    state: ConversationState,
}

impl PastStore {
    /// `conversation` as it was when `last` was its last message.
    ///
    /// # Errors
    /// If the conversation or the message does not exist, or the store fails.
    pub async fn new(store: Arc<dyn Store>, conversation: ConversationId, last: NodeId) -> Result<Self, StoreError> {
        let now = store.conversation(&conversation).await?;
        if last.get() > now.nodes {
            return Err(StoreError::UnknownNode { conversation, node: last, nodes: now.nodes });
        }
        let views = ViewId::new(now.views).unwrap_or(ViewId::FIRST);
        let mut past = Self { store, conversation, last, state: now.nodes(last.get()).notes(0) };
        let id = &past.conversation;
        let outline = past.outline(id).await?;
        let summaries = past.summaries(id).await?.last().map_or(0, |summary| summary.id.get());
        let views = past.views(id, ViewId::FIRST, views).await?.last().map_or(0, |view| view.id.get());
        let tokens = outline.iter().map(|node| u64::from(node.tokens)).sum();
        let mut times = outline.iter().rev().map(|node| node.at);
        let last_at = times.clone().find(|at| at.is_known()).or_else(|| times.next());
        past.state = past.state.summaries(summaries).views(views).last_at(last_at).tokens(tokens);
        Ok(past)
    }

    fn check(&self, id: &ConversationId) -> Result<(), StoreError> {
        if *id == self.conversation { Ok(()) } else { Err(StoreError::unknown_conversation(id, [&self.conversation])) }
    }

    /// The part of a run up to the last message.
    fn within(&self, range: NodeRange) -> Option<NodeRange> {
        NodeRange::new(range.first(), range.last().min(self.last))
    }

    fn was_there(&self, node: NodeId) -> Result<(), StoreError> {
        if node <= self.last {
            return Ok(());
        }
        let (conversation, nodes) = (self.conversation.clone(), self.last.get());
        Err(StoreError::UnknownNode { conversation, node, nodes })
    }

    fn read_only(&self) -> StoreError {
        StoreError::ReadOnly { place: Place::new(format!("`{}` up to message {}", self.conversation, self.last)) }
    }
}

impl Source for PastStore {
    fn conversation<'a>(
        &'a self,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<ConversationState, StoreError>> {
        Box::pin(async move {
            self.check(conversation)?;
            Ok(self.state.clone())
        })
    }

    fn conversations(&self) -> BoxFuture<'_, Result<Vec<ConversationState>, StoreError>> {
        Box::pin(async move { Ok(vec![self.state.clone()]) })
    }

    fn readable_nodes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<ReadNodes, StoreError>> {
        Box::pin(async move {
            self.check(conversation)?;
            match self.within(range) {
                Some(range) => self.store.readable_nodes(conversation, range).await,
                None => Ok(ReadNodes::default()),
            }
        })
    }

    fn whole_nodes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<ReadNodes, StoreError>> {
        Box::pin(async move {
            self.check(conversation)?;
            match self.within(range) {
                Some(range) => self.store.whole_nodes(conversation, range).await,
                None => Ok(ReadNodes::default()),
            }
        })
    }

    fn outline<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Vec<NodeOutline>, StoreError>> {
        Box::pin(async move {
            self.check(conversation)?;
            let mut outline = self.store.outline(conversation).await?;
            outline.truncate(self.last.index() + 1);
            Ok(outline)
        })
    }

    fn summaries<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        Box::pin(async move {
            self.check(conversation)?;
            let mut summaries = self.store.summaries(conversation).await?;
            summaries.retain(|summary| summary.body.span.last() <= self.last);
            Ok(summaries)
        })
    }
}

impl Store for PastStore {
    fn append_for<'a>(
        &'a self,
        _: Option<&'a OwnerId>,
        _: &'a ConversationId,
        _: Vec<NodeDraft>,
    ) -> BoxFuture<'a, Result<Vec<Appended>, StoreError>> {
        Box::pin(async { Err(self.read_only()) })
    }

    fn record_for<'a>(
        &'a self,
        _: Option<&'a OwnerId>,
        _: &'a ConversationId,
        _: Vec<Event>,
    ) -> BoxFuture<'a, Result<Vec<Recorded>, StoreError>> {
        Box::pin(async { Err(self.read_only()) })
    }

    fn fork<'a>(
        &'a self,
        _: &'a ConversationId,
        _: NodeId,
        _: &'a ConversationId,
    ) -> BoxFuture<'a, Result<ConversationState, StoreError>> {
        Box::pin(async { Err(self.read_only()) })
    }

    fn node<'a>(&'a self, conversation: &'a ConversationId, node: NodeId) -> BoxFuture<'a, Result<Node, StoreError>> {
        Box::pin(async move {
            self.check(conversation)?;
            self.was_there(node)?;
            self.store.node(conversation, node).await
        })
    }

    fn nodes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<Node>, StoreError>> {
        Box::pin(async move {
            self.check(conversation)?;
            match self.within(range) {
                Some(range) => self.store.nodes(conversation, range).await,
                None => Ok(Vec::new()),
            }
        })
    }

    fn summaries_of<'a>(
        &'a self,
        conversation: &'a ConversationId,
        ids: &'a [SummaryId],
    ) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        Box::pin(async move {
            self.check(conversation)?;
            let mut summaries = self.store.summaries_of(conversation, ids).await?;
            summaries.retain(|summary| summary.body.span.last() <= self.last);
            Ok(summaries)
        })
    }

    fn whole_summaries_of<'a>(
        &'a self,
        conversation: &'a ConversationId,
        ids: &'a [SummaryId],
    ) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        Box::pin(async move {
            self.check(conversation)?;
            let mut summaries = self.store.whole_summaries_of(conversation, ids).await?;
            summaries.retain(|summary| summary.body.span.last() <= self.last);
            Ok(summaries)
        })
    }

    fn disablings<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Vec<Disabling>, StoreError>> {
        Box::pin(async move {
            self.check(conversation)?;
            self.store.disablings(conversation).await
        })
    }

    fn views<'a>(
        &'a self,
        conversation: &'a ConversationId,
        first: ViewId,
        last: ViewId,
    ) -> BoxFuture<'a, Result<Vec<View>, StoreError>> {
        Box::pin(async move {
            self.check(conversation)?;
            let mut views = self.store.views(conversation, first, last).await?;
            views.retain(|view| view.body.nodes <= self.last.get());
            Ok(views)
        })
    }

    fn notes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        _: NoteId,
        _: NoteId,
    ) -> BoxFuture<'a, Result<Vec<Note>, StoreError>> {
        Box::pin(async move { self.check(conversation).map(|()| Vec::new()) })
    }

    fn find_key<'a>(
        &'a self,
        conversation: &'a ConversationId,
        key: &'a MessageKey,
    ) -> BoxFuture<'a, Result<Option<NodeId>, StoreError>> {
        Box::pin(async move {
            self.check(conversation)?;
            Ok(self.store.find_key(conversation, key).await?.filter(|node| *node <= self.last))
        })
    }

    fn proofs<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<NodeProof>, StoreError>> {
        Box::pin(async move {
            self.check(conversation)?;
            match self.within(range) {
                Some(range) => self.store.proofs(conversation, range).await,
                None => Ok(Vec::new()),
            }
        })
    }

    /// Verifies the whole conversation, because a store cannot verify a part. If there is no damage, the root is the
    /// one over the messages up to the last.
    fn verify<'a>(
        &'a self,
        conversation: Option<&'a ConversationId>,
    ) -> BoxFuture<'a, Result<Verification, StoreError>> {
        Box::pin(async move {
            self.check(conversation.unwrap_or(&self.conversation))?;
            let all = self.store.verify(Some(&self.conversation)).await?;
            if !all.is_whole() {
                return Ok(all);
            }
            let range = NodeRange::single(NodeId::FIRST).hull(NodeRange::single(self.last));
            let proofs = self.store.proofs(&self.conversation, range).await?;
            let leaves: Vec<_> = proofs.iter().map(|proof| proof.leaf).collect();
            let nodes = leaves.len() as u64;
            let past = VerifiedConversation::new(self.conversation.clone(), TreeHead::of(&leaves).root);
            Ok(Verification::of(vec![past.nodes(nodes).verified(nodes)], Vec::new()))
        })
    }
}

#[cfg(test)]
mod tests {
    use pollster::block_on;

    use super::*;
    use crate::{Message, Timestamp, testing::MemoryStore};

    #[test]
    fn a_past_conversation_is_the_fork_of_it() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let id = |name| ConversationId::new(name).unwrap();
        let (talk, other, fork) = (id("talk"), id("other"), id("fork"));
        let draft = |text: String| NodeDraft::new(Message::user(text), Timestamp::from_millis(1_000), 3);
        let drafts = (1..=9).map(|number| draft(format!("Message {number}."))).collect();
        block_on(store.append(&talk, drafts)).unwrap();
        block_on(store.append(&other, vec![draft("Hi.".to_owned())])).unwrap();
        let (fifth, all) = (NodeId::new(5).unwrap(), NodeRange::first_n(9).unwrap());
        let past = block_on(PastStore::new(Arc::clone(&store), talk.clone(), fifth)).unwrap();
        block_on(store.fork(&talk, fifth, &fork)).unwrap();

        assert_eq!(block_on(past.nodes(&talk, all)).unwrap(), block_on(store.nodes(&fork, all)).unwrap());
        assert_eq!(block_on(past.outline(&talk)).unwrap(), block_on(store.outline(&fork)).unwrap());
        assert_eq!(block_on(past.readable_nodes(&talk, all)).unwrap().nodes.len(), 5);
        assert_eq!(block_on(past.proofs(&talk, all)).unwrap(), block_on(store.proofs(&fork, all)).unwrap());
        let [verified, forked] =
            [past.verify(None), store.verify(Some(&fork))].map(|verified| block_on(verified).unwrap());
        assert_eq!((verified.root, verified.nodes), (forked.root, 5));
        let [state, forked] =
            [past.conversation(&talk), store.conversation(&fork)].map(|state| block_on(state).unwrap());
        assert_eq!((state.nodes, state.tokens, state.last_at), (forked.nodes, forked.tokens, forked.last_at));
        assert_eq!(block_on(past.conversations()).unwrap().len(), 1, "no other conversation is there");

        let sixth = fifth.next();
        assert!(matches!(block_on(past.node(&talk, sixth)), Err(StoreError::UnknownNode { nodes: 5, .. })));
        assert_eq!(block_on(past.nodes(&talk, NodeRange::single(sixth))).unwrap(), []);
        assert!(block_on(past.outline(&other)).unwrap_err().is_not_found());
        let append = block_on(past.append(&talk, vec![draft("More.".to_owned())]));
        assert!(matches!(append, Err(StoreError::ReadOnly { .. })));
        let tenth = NodeId::new(10).unwrap();
        assert!(block_on(PastStore::new(store, talk, tenth)).unwrap_err().is_not_found());
    }
}
