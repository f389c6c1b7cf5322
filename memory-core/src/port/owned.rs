//! A store restricted to one owner.

use std::sync::Arc;

use super::{
    Appended, BoxFuture, Changes, ConversationState, Event, Lease, NodeProof, ReadNodes, Recorded, Revision, Source,
    Store, StoreError, Verification,
    scope::{conversation_of, conversations_of},
};
use crate::{
    ConversationId, Disabling, MessageKey, Node, NodeDraft, NodeId, NodeOutline, NodeRange, NoteId, OwnerId, Summary,
    SummaryId, ViewId, port::Note, view::View,
};

/// The conversations of one owner in a shared store.
///
/// Conversations of others are not found, and new conversations belong to the owner. Names are unique in the whole
/// store: beginning a conversation under another owner's name is [`StoreError::NameTaken`], which is all that an owner
/// can learn about others. Administration without an owner uses the store itself.
#[derive(Clone, Debug)]
pub struct OwnedStore {
    store: Arc<dyn Store>,
    owner: OwnerId,
}

impl OwnedStore {
    /// The conversations of `owner` in `store`.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, owner: OwnerId) -> Self {
        Self { store, owner }
    }

    /// Checks that a conversation is the owner's. One check is enough, because an owner is recorded when a conversation
    /// begins and never changes.
    async fn check(&self, id: &ConversationId) -> Result<(), StoreError> {
        self.state(id).await.map(drop)
    }

    async fn state(&self, id: &ConversationId) -> Result<ConversationState, StoreError> {
        conversation_of(&*self.store, Some(&self.owner), id).await
    }
}

impl Source for OwnedStore {
    fn conversation<'a>(
        &'a self,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<ConversationState, StoreError>> {
        Box::pin(self.state(conversation))
    }

    fn conversations(&self) -> BoxFuture<'_, Result<Vec<ConversationState>, StoreError>> {
        Box::pin(conversations_of(&*self.store, Some(&self.owner)))
    }

    fn readable_nodes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<ReadNodes, StoreError>> {
        Box::pin(async move {
            self.check(conversation).await?;
            self.store.readable_nodes(conversation, range).await
        })
    }

    fn whole_nodes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<ReadNodes, StoreError>> {
        Box::pin(async move {
            self.check(conversation).await?;
            self.store.whole_nodes(conversation, range).await
        })
    }

    fn outline<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Vec<NodeOutline>, StoreError>> {
        Box::pin(async move {
            self.check(conversation).await?;
            self.store.outline(conversation).await
        })
    }

    fn summaries<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        Box::pin(async move {
            self.check(conversation).await?;
            self.store.summaries(conversation).await
        })
    }
}

impl Store for OwnedStore {
    /// Appends for the owner of this store; any other owner is ignored.
    fn append_for<'a>(
        &'a self,
        _: Option<&'a OwnerId>,
        conversation: &'a ConversationId,
        batch: Vec<NodeDraft>,
    ) -> BoxFuture<'a, Result<Vec<Appended>, StoreError>> {
        self.store.append_for(Some(&self.owner), conversation, batch)
    }

    /// Records for the owner of this store; any other owner is ignored.
    fn record_for<'a>(
        &'a self,
        _: Option<&'a OwnerId>,
        conversation: &'a ConversationId,
        events: Vec<Event>,
    ) -> BoxFuture<'a, Result<Vec<Recorded>, StoreError>> {
        Box::pin(async move {
            // A note may begin the conversation, so that the store checks the name.
            if !matches!(events.first(), Some(Event::Note(_))) {
                self.check(conversation).await?;
            }
            self.store.record_for(Some(&self.owner), conversation, events).await
        })
    }

    fn fork<'a>(
        &'a self,
        parent: &'a ConversationId,
        node: NodeId,
        child: &'a ConversationId,
    ) -> BoxFuture<'a, Result<ConversationState, StoreError>> {
        Box::pin(async move {
            self.check(parent).await?;
            self.store.fork(parent, node, child).await
        })
    }

    fn node<'a>(&'a self, conversation: &'a ConversationId, node: NodeId) -> BoxFuture<'a, Result<Node, StoreError>> {
        Box::pin(async move {
            self.check(conversation).await?;
            self.store.node(conversation, node).await
        })
    }

    fn nodes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<Node>, StoreError>> {
        Box::pin(async move {
            self.check(conversation).await?;
            self.store.nodes(conversation, range).await
        })
    }

    fn summaries_of<'a>(
        &'a self,
        conversation: &'a ConversationId,
        ids: &'a [SummaryId],
    ) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        Box::pin(async move {
            self.check(conversation).await?;
            self.store.summaries_of(conversation, ids).await
        })
    }

    fn whole_summaries_of<'a>(
        &'a self,
        conversation: &'a ConversationId,
        ids: &'a [SummaryId],
    ) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        Box::pin(async move {
            self.check(conversation).await?;
            self.store.whole_summaries_of(conversation, ids).await
        })
    }

    fn disablings<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Vec<Disabling>, StoreError>> {
        Box::pin(async move {
            self.check(conversation).await?;
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
            self.check(conversation).await?;
            self.store.views(conversation, first, last).await
        })
    }

    fn notes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        first: NoteId,
        last: NoteId,
    ) -> BoxFuture<'a, Result<Vec<Note>, StoreError>> {
        Box::pin(async move {
            self.check(conversation).await?;
            self.store.notes(conversation, first, last).await
        })
    }

    fn changes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        since: Revision,
    ) -> BoxFuture<'a, Result<Changes, StoreError>> {
        Box::pin(async move {
            self.check(conversation).await?;
            self.store.changes(conversation, since).await
        })
    }

    fn find_key<'a>(
        &'a self,
        conversation: &'a ConversationId,
        key: &'a MessageKey,
    ) -> BoxFuture<'a, Result<Option<NodeId>, StoreError>> {
        Box::pin(async move {
            self.check(conversation).await?;
            self.store.find_key(conversation, key).await
        })
    }

    fn proofs<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<NodeProof>, StoreError>> {
        Box::pin(async move {
            self.check(conversation).await?;
            self.store.proofs(conversation, range).await
        })
    }

    fn verify<'a>(
        &'a self,
        conversation: Option<&'a ConversationId>,
    ) -> BoxFuture<'a, Result<Verification, StoreError>> {
        Box::pin(async move {
            if let Some(conversation) = conversation {
                self.check(conversation).await?;
                return self.store.verify(Some(conversation)).await;
            }
            let states = self.conversations().await?;
            let all = self.store.verify(None).await?;
            let is_owners = |id: &ConversationId| states.binary_search_by(|state| state.id.cmp(id)).is_ok();
            if all.damage.is_empty() {
                let owners = all.conversations.into_iter().filter(|one| is_owners(&one.id)).collect();
                return Ok(Verification::of(owners, Vec::new()));
            }
            // Conversations are verified one by one, so that only their own damage is reported.
            let (mut verified, mut damage) = (Vec::new(), Vec::new());
            for state in &states {
                let one = self.store.verify(Some(&state.id)).await?;
                verified.extend(one.conversations);
                damage.extend(one.damage);
            }
            damage.sort();
            damage.dedup();
            Ok(Verification::of(verified, damage))
        })
    }

    fn lease(&self) -> BoxFuture<'_, Result<Lease, StoreError>> {
        self.store.lease()
    }

    fn turn_lease<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Lease, StoreError>> {
        self.store.turn_lease(conversation)
    }
}
