//! A store that says how long was waited for what it writes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use memory_core::{
    Appended, BoxFuture, Changes, ConversationId, ConversationState, Event, Lease, MessageKey, Node, NodeDraft, NodeId,
    NodeOutline, NodeProof, NodeRange, OwnerId, ReadNodes, Recorded, Revision, Source, Store, StoreError, Summary,
    SummaryId, Verification, View, ViewId,
};

/// Passes everything on, and adds up the time in which records are written and synced.
#[derive(Debug)]
pub(super) struct Waiting {
    store: Arc<dyn Store>,
    nanos: AtomicU64,
}

impl Waiting {
    pub(super) fn over(store: Arc<dyn Store>) -> Self {
        Self { store, nanos: AtomicU64::new(0) }
    }

    /// The time since this was asked last.
    pub(super) fn take(&self) -> Duration {
        Duration::from_nanos(self.nanos.swap(0, Ordering::Relaxed))
    }

    fn timed<'a, T: Send + 'a>(&'a self, written: BoxFuture<'a, T>) -> BoxFuture<'a, T> {
        Box::pin(async move {
            let start = Instant::now();
            let written = written.await;
            let nanos = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.nanos.fetch_add(nanos, Ordering::Relaxed);
            written
        })
    }
}

impl Source for Waiting {
    fn conversation<'a>(&'a self, id: &'a ConversationId) -> BoxFuture<'a, Result<ConversationState, StoreError>> {
        self.store.conversation(id)
    }

    fn conversations(&self) -> BoxFuture<'_, Result<Vec<ConversationState>, StoreError>> {
        self.store.conversations()
    }

    fn readable_nodes<'a>(
        &'a self,
        id: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<ReadNodes, StoreError>> {
        self.store.readable_nodes(id, range)
    }

    fn outline<'a>(&'a self, id: &'a ConversationId) -> BoxFuture<'a, Result<Vec<NodeOutline>, StoreError>> {
        self.store.outline(id)
    }

    fn summaries<'a>(&'a self, id: &'a ConversationId) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        self.store.summaries(id)
    }
}

impl Store for Waiting {
    fn append_for<'a>(
        &'a self,
        owner: Option<&'a OwnerId>,
        id: &'a ConversationId,
        batch: Vec<NodeDraft>,
    ) -> BoxFuture<'a, Result<Vec<Appended>, StoreError>> {
        self.timed(self.store.append_for(owner, id, batch))
    }

    fn record<'a>(
        &'a self,
        id: &'a ConversationId,
        events: Vec<Event>,
    ) -> BoxFuture<'a, Result<Vec<Recorded>, StoreError>> {
        self.timed(self.store.record(id, events))
    }

    fn fork<'a>(
        &'a self,
        parent: &'a ConversationId,
        node: NodeId,
        child: &'a ConversationId,
    ) -> BoxFuture<'a, Result<ConversationState, StoreError>> {
        self.timed(self.store.fork(parent, node, child))
    }

    fn node<'a>(&'a self, id: &'a ConversationId, node: NodeId) -> BoxFuture<'a, Result<Node, StoreError>> {
        self.store.node(id, node)
    }

    fn nodes<'a>(&'a self, id: &'a ConversationId, range: NodeRange) -> BoxFuture<'a, Result<Vec<Node>, StoreError>> {
        self.store.nodes(id, range)
    }

    fn summaries_of<'a>(
        &'a self,
        id: &'a ConversationId,
        ids: &'a [SummaryId],
    ) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        self.store.summaries_of(id, ids)
    }

    fn views<'a>(
        &'a self,
        id: &'a ConversationId,
        first: ViewId,
        last: ViewId,
    ) -> BoxFuture<'a, Result<Vec<View>, StoreError>> {
        self.store.views(id, first, last)
    }

    fn changes<'a>(&'a self, id: &'a ConversationId, since: Revision) -> BoxFuture<'a, Result<Changes, StoreError>> {
        self.store.changes(id, since)
    }

    fn find_key<'a>(
        &'a self,
        id: &'a ConversationId,
        key: &'a MessageKey,
    ) -> BoxFuture<'a, Result<Option<NodeId>, StoreError>> {
        self.store.find_key(id, key)
    }

    fn proofs<'a>(
        &'a self,
        id: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<NodeProof>, StoreError>> {
        self.store.proofs(id, range)
    }

    fn nodes_with_proofs<'a>(
        &'a self,
        id: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<(Node, NodeProof)>, StoreError>> {
        self.store.nodes_with_proofs(id, range)
    }

    fn verify<'a>(&'a self, id: Option<&'a ConversationId>) -> BoxFuture<'a, Result<Verification, StoreError>> {
        self.store.verify(id)
    }

    fn lease(&self) -> BoxFuture<'_, Result<Lease, StoreError>> {
        self.store.lease()
    }
}
