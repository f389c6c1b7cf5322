//! Indexing in the background: new messages are embedded without being asked for.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use memory_core::{ConversationId, RetrieveError, Store, StoreError};
use tokio::{
    sync::{Mutex, mpsc},
    time::timeout,
};

use super::{BackgroundWork, Failures};
use crate::parts::Parts;

/// How often it looks for what other processes appended, and tries again what failed.
const BETWEEN_SWEEPS: Duration = Duration::from_secs(10);
/// How often it asks again for the lease that another process has.
const BETWEEN_RETRIES: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct Indexer {
    parts: Parts,
    /// Taken once: there is one run at a time.
    grown: Mutex<mpsc::UnboundedReceiver<ConversationId>>,
    failures: Arc<Failures>,
}

/// Conversations to look at, each with whether the compaction in the background must be notified, too.
type Due = BTreeMap<ConversationId, bool>;

/// How many messages of each conversation are indexed.
type Indexed = HashMap<ConversationId, u64>;

/// Why a conversation is not indexed.
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

    /// Indexes what is not indexed yet, and then whatever is appended.
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

    /// Adds the conversations that have messages that are not indexed.
    async fn sweep(&self, indexed: &Indexed, due: &mut Due) {
        match self.parts.store.conversations().await {
            Ok(all) => {
                self.failures.clear(BackgroundWork::Indexing, None);
                let is_new = |id: &ConversationId, nodes: u64| nodes > indexed.get(id).copied().unwrap_or_default();
                let spoken = all.into_iter().filter(|one| !one.is_companion());
                due.extend(spoken.filter(|one| is_new(&one.id, one.nodes)).map(|one| (one.id, true)));
            }
            Err(error) => self.failures.add(BackgroundWork::Indexing, None, error.to_string()),
        }
    }

    /// Indexes each conversation; those that are left to another process stay. The next sweep finds those that failed.
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

    /// Indexes a conversation. Returns how many messages are indexed.
    async fn index(&self, conversation: &ConversationId, is_compaction_due: bool) -> Result<u64, Undone> {
        let store: &dyn Store = &*self.parts.store;
        let _lease = store.lease().await?;
        if is_compaction_due {
            // Likely to have the lease, too, since a process shares it.
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
