//! The shared state of a memory: its ports and what its conversations share.

use std::sync::Arc;

use memory_core::{
    Clock, ContextStrategy, ImportanceScorer, Notice, Query, Retrieved, Retriever, Store, Summarizer, TokenCounter,
    plan::{Thresholds, ViewPolicy},
};

use crate::{
    HookRegistry, MemoryError,
    compaction_queue::CompactionQueue,
    counts::Counts,
    manager::{failing::Said, turns::Turns},
    snapshot_cache::SnapshotCache,
    uses::Uses,
};

/// The ports of a memory, its settings, and what its conversations share.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) retriever: Option<Arc<dyn Retriever>>,
    pub(crate) summarizer: Arc<dyn Summarizer>,
    pub(crate) fallback_summarizer: Arc<dyn Summarizer>,
    pub(crate) scorer: Option<Arc<dyn ImportanceScorer>>,
    pub(crate) fallback_scorer: Option<Arc<dyn ImportanceScorer>>,
    pub(crate) strategy: Arc<dyn ContextStrategy>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) thresholds: Thresholds,
    pub(crate) policy: ViewPolicy,
    pub(crate) hooks: HookRegistry,
    pub(crate) snapshots: SnapshotCache,
    pub(crate) counts: Counts,
    pub(crate) queue: Arc<CompactionQueue>,
    pub(crate) uses: Uses,
    pub(crate) compacting: Turns,
    pub(crate) said: Said,
}

impl Parts {
    /// Tokens of a text, cached.
    pub(crate) fn count(&self, text: &str) -> u32 {
        self.counts.count(text, self.counter.as_ref())
    }

    /// Searches, and counts each hit as a use of its message.
    pub(crate) async fn search(&self, query: &Query) -> Result<Retrieved, MemoryError> {
        let Some(retriever) = &self.retriever else {
            return Ok(Retrieved::default().notices(vec![Notice::NoRetriever]));
        };
        let found = retriever.search(query).await?;
        found.hits.iter().for_each(|hit| self.uses.add(&hit.conversation, [hit.node.id]));
        Ok(found)
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.queue.close();
    }
}
