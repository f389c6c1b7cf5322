//! The hierarchical manager: performs the compactions that `memory_core::plan` plans.

use memory_core::{
    ConversationId, Event, History, NodeId, NodeOutline, NodeRange, Progress, Recorded, Summary, SummaryId,
    plan::{Compaction, PlanError, Tree, plan_compaction, plan_shrink, plan_view},
};

use super::writing::Writer;
use crate::{Compacted, CompactionFailed, MemoryError, kept_out::Redactor, memory::Parts};

/// Most nodes that one step summarizes, to bound memory and the size of a record.
const STEP: usize = 1024;

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionReport {
    /// Summaries written.
    pub summaries: u64,
    /// Tokens of the coarsest view before.
    pub tokens_before: u32,
    /// Tokens of the coarsest view after.
    pub tokens_after: u32,
}

/// What is known of a conversation for planning.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) nodes: Vec<NodeOutline>,
    pub(crate) summaries: Vec<Summary>,
}

impl Snapshot {
    pub(crate) async fn read(parts: &Parts, conversation: &ConversationId) -> Result<Self, MemoryError> {
        let summaries = parts.store.summaries(conversation).await?;
        // Read after the summaries, so that no summary covers a node that is not there yet.
        let nodes = parts.store.outline(conversation).await?;
        Ok(Self { nodes, summaries })
    }

    pub(crate) fn history(&self) -> History<'_> {
        History { nodes: &self.nodes, summaries: &self.summaries }
    }

    pub(crate) fn tree(&self) -> Tree<'_> {
        Tree::new(self.history())
    }

    /// Tokens of the coarsest view.
    pub(crate) fn coarsest(&self, parts: &Parts) -> u32 {
        match plan_view(&self.tree(), 0, &parts.policy) {
            Ok(cut) => cut.tokens,
            Err(PlanError::BudgetTooSmall { needed, .. }) => needed,
            Err(_) => u32::MAX,
        }
    }

    /// The snapshot as it would be with these events recorded.
    fn with(&self, events: &[Event]) -> Self {
        let mut after = self.clone();
        for event in events {
            match event {
                Event::Summary(body) => {
                    let id = SummaryId::from_index(after.summaries.len());
                    after.summaries.push(Summary { id, body: body.clone() });
                }
                Event::Importance { node, importance, .. } => {
                    if let Some(node) = after.nodes.get_mut(node.index()) {
                        node.set_importance(*importance);
                    }
                }
                _ => {}
            }
        }
        after
    }
}

/// Does whatever compaction the thresholds ask for.
///
/// A step that would not lower the token count is left for later, when more messages have come.
pub(crate) async fn compact(
    parts: &Parts,
    conversation: &ConversationId,
    progress: &dyn Progress,
) -> Result<CompactionReport, MemoryError> {
    let mut manager = Manager::begin(parts, conversation).await?;
    let total = manager.snapshot.nodes.len() as u64;
    loop {
        let mut plan = plan_compaction(&manager.snapshot.tree(), &parts.thresholds);
        plan.summarize.truncate(STEP);
        let full: u64 = manager.snapshot.tree().full().iter().map(|run| run.count()).sum();
        progress.report(total - full, total);
        if plan.is_empty() {
            return manager.finish().await;
        }
        match manager.perform(&plan).await {
            Ok(()) => {}
            Err(MemoryError::NoProgress { .. }) => return manager.finish().await,
            Err(error) => return Err(manager.fail(error).await),
        }
    }
}

/// Compacts until the coarsest view costs at most `budget` tokens, whatever the thresholds say; stops
/// without an error when nothing more can be done.
pub(crate) async fn shrink(
    parts: &Parts,
    conversation: &ConversationId,
    budget: u32,
) -> Result<CompactionReport, MemoryError> {
    let mut manager = Manager::begin(parts, conversation).await?;
    while manager.snapshot.coarsest(parts) > budget {
        let plan = plan_shrink(&manager.snapshot.tree(), &parts.thresholds);
        if plan.is_empty() {
            break;
        }
        match manager.perform(&plan).await {
            Ok(()) => {}
            Err(MemoryError::NoProgress { .. }) => break,
            Err(error) => return Err(manager.fail(error).await),
        }
    }
    manager.finish().await
}

struct Manager<'a> {
    parts: &'a Parts,
    conversation: &'a ConversationId,
    snapshot: Snapshot,
    redactor: Redactor,
    report: CompactionReport,
}

impl<'a> Manager<'a> {
    async fn begin(parts: &'a Parts, conversation: &'a ConversationId) -> Result<Self, MemoryError> {
        let snapshot = Snapshot::read(parts, conversation).await?;
        let redactor = redactor(parts, conversation, &snapshot).await?;
        let tokens = snapshot.coarsest(parts);
        let report = CompactionReport { summaries: 0, tokens_before: tokens, tokens_after: tokens };
        Ok(Self { parts, conversation, snapshot, redactor, report })
    }

    /// Writes and records one plan, whole or not at all.
    async fn perform(&mut self, plan: &Compaction) -> Result<(), MemoryError> {
        let writer = Writer {
            store: self.parts.store.as_ref(),
            counter: self.parts.counter.as_ref(),
            summarizer: self.parts.summarizer.as_ref(),
            scorer: self.parts.scorer.as_deref(),
            conversation: self.conversation,
            summaries: &self.snapshot.summaries,
            redactor: &self.redactor,
        };
        let events = writer.write(plan).await?;
        let mut after = self.snapshot.with(&events);
        let tokens = after.coarsest(self.parts);
        if tokens >= self.report.tokens_after {
            return Err(MemoryError::NoProgress { before: self.report.tokens_after, after: tokens });
        }
        let recorded = self.parts.store.record(self.conversation, events).await?;
        let numbers = recorded.iter().filter_map(|recorded| match recorded {
            Recorded::Summary(id) => Some(*id),
            Recorded::Done => None,
        });
        let expected = after.summaries.iter().skip(self.snapshot.summaries.len()).map(|summary| summary.id);
        if !numbers.clone().eq(expected) {
            // Somebody else recorded summaries meanwhile: plan from what is there now.
            after = Snapshot::read(self.parts, self.conversation).await?;
        }
        self.report.summaries += numbers.count() as u64;
        self.report.tokens_after = after.coarsest(self.parts);
        self.snapshot = after;
        Ok(())
    }

    async fn finish(self) -> Result<CompactionReport, MemoryError> {
        let CompactionReport { summaries, tokens_before, tokens_after } = self.report;
        if summaries > 0 {
            let conversation = self.conversation.clone();
            tracing::debug!(%conversation, summaries, tokens_before, tokens_after, "compacted");
            let mut event = Compacted { conversation, summaries, tokens_before, tokens_after };
            self.parts.hooks.dispatch(&mut event).await?;
        }
        Ok(self.report)
    }

    async fn fail(&self, error: MemoryError) -> MemoryError {
        let mut event = CompactionFailed { conversation: self.conversation.clone(), error: error.to_string() };
        tracing::warn!(conversation = %event.conversation, %error, "compaction failed and changed nothing");
        match self.parts.hooks.dispatch(&mut event).await {
            Ok(()) => error,
            Err(hook) => {
                tracing::warn!(%hook, "a hook failed on the failure");
                error
            }
        }
    }
}

async fn redactor(parts: &Parts, conversation: &ConversationId, snapshot: &Snapshot) -> Result<Redactor, MemoryError> {
    let kept_out = snapshot.nodes.iter().enumerate().filter(|(_, node)| node.keep_out_of_summaries);
    let kept_out: Vec<_> = kept_out.map(|(index, _)| NodeRange::single(NodeId::from_index(index))).collect();
    let mut messages = Vec::new();
    for run in NodeRange::merge(kept_out) {
        messages.extend(parts.store.nodes(conversation, run).await?.into_iter().map(|node| node.message));
    }
    Ok(Redactor::new(&messages))
}
