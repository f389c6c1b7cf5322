//! What conversation managers share: the ports of a memory, its settings and its caches.

use std::sync::Arc;

use memory_core::{
    Clock, ContextStrategy, HookRegistry, ImportanceScorer, Store, Summarizer, TokenCounter,
    plan::{Thresholds, ViewPolicy},
};

use crate::{
    counts::Counts,
    manager::{failing::Said, turns::Turns},
    snapshot_cache::SnapshotCache,
    uses::Uses,
};

/// The ports of a memory, its settings, and what its conversations share.
#[derive(Debug)]
pub(crate) struct Ports {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) counter: Arc<dyn TokenCounter>,
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
    pub(crate) uses: Uses,
    pub(crate) compacting: Turns,
    pub(crate) said: Said,
}

impl Ports {
    /// Tokens of a text, cached.
    pub(crate) fn count(&self, text: &str) -> u32 {
        self.counts.count(text, self.counter.as_ref())
    }
}
