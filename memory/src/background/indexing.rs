//! Indexing in the background: new messages are embedded without a request.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use memory_core::{
    ConversationId,
    port::{RetrieveError, Store, StoreError},
};
use tokio::{
    sync::{Mutex, mpsc},
    time::timeout,
};

use super::{BackgroundWork, Failures};
use crate::parts::Parts;

/// Time between sweeps for messages of other processes and for failed work.
const BETWEEN_SWEEPS: Duration = Duration::from_secs(10);
/// Time between requests for a lease that another process holds.
const BETWEEN_RETRIES: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct Indexer {
    parts: Parts,
    /// Receiver of grown conversations, locked by the only run.
    grown: Mutex<mpsc::UnboundedReceiver<ConversationId>>,
    failures: Arc<Failures>,
}

/// Conversations to index; `true` if the background compaction must be notified, too.
type Due = BTreeMap<ConversationId, bool>;

/// Number of indexed messages of each conversation.
type Indexed = HashMap<ConversationId, u64>;

/// Reasons why a conversation is not indexed.
enum Undone {
    /// Another process does background work on the store.
    LeftToAnother,
    Failed(RetrieveError),
}

impl<E: Into<RetrieveError>> From<E> for Undone {
    fn from(error: E) -> Self {
        match error.into() {
            RetrieveError::Store(StoreError::Locked { .. }) => Self::LeftToAnother,
            failed => Self::Failed(failed),
        }
    }
}

impl Indexer {
    pub(super) fn new(parts: Parts, grown: mpsc::UnboundedReceiver<ConversationId>, failures: Arc<Failures>) -> Self {
        Self { parts, grown: Mutex::new(grown), failures }
    }

    /// Indexes all messages that are not indexed yet, and then new ones.
    pub(super) async fn run(self: Arc<Self>) {
        let mut grown = self.grown.lock().await;
        let (mut due, mut indexed) = (Due::new(), Indexed::new());
        let mut swept = None::<Instant>;
        loop {
            if swept.is_none_or(|swept| swept.elapsed() >= BETWEEN_SWEEPS) {
                self.sweep(&indexed, &mut due).await;
                swept = Some(Instant::now());
            }
            self.work_off(&mut due, &mut indexed).await;
            let wait = if due.is_empty() { BETWEEN_SWEEPS } else { BETWEEN_RETRIES };
            match timeout(wait, grown.recv()).await {
                Ok(Some(conversation)) => {
                    due.entry(conversation).or_insert(false);
                    while let Ok(conversation) = grown.try_recv() {
                        due.entry(conversation).or_insert(false);
                    }
                }
                Ok(None) => return,
                Err(_elapsed) => {}
            }
        }
    }

    /// Adds the conversations with messages that are not indexed.
    async fn sweep(&self, indexed: &Indexed, due: &mut Due) {
        match self.parts.store.conversations().await {
            Ok(all) => {
                self.failures.clear(BackgroundWork::Indexing, None);
                let is_new = |id: &ConversationId, nodes: u64| nodes > indexed.get(id).copied().unwrap_or_default();
                let spoken = all.into_iter().filter(|one| !one.is_of_notes());
                due.extend(spoken.filter(|one| is_new(&one.id, one.nodes)).map(|one| (one.id, true)));
            }
            Err(error) => self.failures.add(BackgroundWork::Indexing, None, error.to_string()),
        }
    }

    /// Indexes each conversation; those left to another process stay. The next sweep finds those that failed.
    async fn work_off(&self, due: &mut Due, indexed: &mut Indexed) {
        let mut left = Due::new();
        while let Some((conversation, is_compaction_due)) = due.pop_first() {
            match self.index(&conversation, is_compaction_due).await {
                Ok(nodes) => {
                    self.failures.clear(BackgroundWork::Indexing, Some(&conversation));
                    indexed.insert(conversation, nodes);
                }
                Err(Undone::LeftToAnother) => {
                    tracing::debug!(%conversation, "indexing is left to another process");
                    left.insert(conversation, true);
                }
                Err(Undone::Failed(error)) => {
                    self.failures.add(BackgroundWork::Indexing, Some(&conversation), error.to_string());
                }
            }
        }
        *due = left;
    }

    /// Indexes a conversation. Returns the number of indexed messages.
    async fn index(&self, conversation: &ConversationId, is_compaction_due: bool) -> Result<u64, Undone> {
        let store: &dyn Store = &*self.parts.store;
        let _lease = store.lease().await?;
        if is_compaction_due {
            // The compaction likely gets the lease, too, since a process shares it.
            self.parts.memory.enqueue(conversation);
        }
        let nodes = store.conversation(conversation).await?.nodes;
        let report = self.parts.retriever.catch_up(conversation, &()).await?;
        for notice in report.notices {
            tracing::debug!(%conversation, %notice, "indexed");
        }
        Ok(nodes)
    }
}
