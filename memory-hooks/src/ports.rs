//! Ports of a memory, its settings and its caches, which conversation managers share.

use std::{
    error::Error,
    sync::{Arc, LazyLock, OnceLock},
};

use memory_core::{
    ConversationId,
    plan::{
        ViewPolicy,
        list::{PerTurn, ProactiveCompression},
    },
    port::{
        Clock, ContextStrategy, Detector, HookError, HookEvent, HookRegistry, ImportanceScorer, Retriever, Store,
        Summarizer, TokenCounter,
    },
};

use crate::{
    CompactionFailed, HookFailed, Redaction,
    calls::Calls,
    counts::Counts,
    judge::Judge,
    ledger::LedgerNotes,
    manager::{
        failing::{ReportedFailures, in_a_line},
        locks::CompactionLocks,
    },
    snapshot_cache::SnapshotCache,
    uses::Uses,
};

/// The registry until the hooks are registered.
static NO_HOOKS: LazyLock<HookRegistry> = LazyLock::new(HookRegistry::new);

/// The ports of a memory, its settings, and the shared state of its conversations.
#[derive(Debug)]
pub(crate) struct Ports {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) retriever: Option<Arc<dyn Retriever>>,
    /// Judge of the summaries that matter, if one is set.
    pub(crate) judge: Option<Judge>,
    pub(crate) summarizer: Arc<dyn Summarizer>,
    pub(crate) fallback_summarizer: Arc<dyn Summarizer>,
    /// True if prompts wait for the summarizer.
    pub(crate) prompts_wait: bool,
    pub(crate) scorer: Option<Arc<dyn ImportanceScorer>>,
    pub(crate) fallback_scorer: Option<Arc<dyn ImportanceScorer>>,
    pub(crate) strategy: Arc<dyn ContextStrategy>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) detector: Option<Arc<dyn Detector>>,
    pub(crate) redaction: Redaction,
    pub(crate) policy: ViewPolicy,
    /// Registry of the hooks, set once the manager, which is made of these ports, has registered its own.
    pub(crate) registered: OnceLock<HookRegistry>,
    pub(crate) proactive: ProactiveCompression,
    pub(crate) per_turn: PerTurn,
    pub(crate) calls: Calls,
    pub(crate) snapshots: SnapshotCache,
    pub(crate) ledger_notes: LedgerNotes,
    pub(crate) counts: Counts,
    pub(crate) uses: Uses,
    pub(crate) compacting: CompactionLocks,
    pub(crate) said: ReportedFailures,
}

impl Ports {
    /// Author of the summaries of one compaction.
    pub(crate) fn author(&self) -> Arc<dyn Summarizer> {
        self.summarizer.for_compaction().unwrap_or_else(|| Arc::clone(&self.summarizer))
    }

    /// Author of the summaries that a prompt needs at once.
    pub(crate) fn author_for_prompt(&self) -> Arc<dyn Summarizer> {
        if self.prompts_wait { self.author() } else { Arc::clone(&self.fallback_summarizer) }
    }

    /// The hooks.
    pub(crate) fn hooks(&self) -> &HookRegistry {
        self.registered.get().unwrap_or(&NO_HOOKS)
    }

    /// Reports an event to the hooks. A hook that fails is reported and stops nothing.
    pub(crate) async fn report<E: HookEvent>(&self, mut event: E) -> E {
        for HookError { hook, source } in self.hooks().report(&mut event).await {
            tracing::warn!(hook, error = %source, "a hook failed on a report");
            let mut failed = HookFailed { hook, error: source.to_string() };
            // A failure of this report is not announced again.
            self.hooks().report(&mut failed).await;
        }
        event
    }

    /// Reports to the hooks why a compaction failed.
    pub(crate) async fn report_failure(
        &self,
        conversation: &ConversationId,
        error: &(dyn Error + Send + Sync + 'static),
    ) {
        let event = CompactionFailed { conversation: conversation.clone(), error: in_a_line(error) };
        tracing::warn!(%conversation, error = event.error, "compaction failed");
        self.report(event).await;
    }

    /// Tokens of a text, cached.
    pub(crate) fn count(&self, text: &str) -> u32 {
        self.counts.count(text, self.counter.as_ref())
    }
}
