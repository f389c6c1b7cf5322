//! The hierarchical manager: performs the compactions that `memory_core::plan` plans.

use memory_core::{
    ConversationId, Event, Hash, History, Level, NodeId, NodeOutline, NodeRange, Progress, Recorded, StoreError,
    Summary, SummaryDraft, SummaryId, SummaryMetadata, WrittenBy,
    plan::{Compaction, Merge, PlanError, Tree, plan_compaction, plan_shrink, plan_view},
};

use super::writing::{KEPT_OUT, Writer};
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
    /// Something was due and was left undone, since another process has the store's lease for background work.
    pub is_left_to_another: bool,
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

    /// Goes on as if these events were recorded.
    fn apply(&mut self, events: &[Event]) {
        for event in events {
            match event {
                Event::Summary(body) => self.push(body.clone()),
                Event::Importance { node, importance, .. } => {
                    if let Some(node) = self.nodes.get_mut(node.index()) {
                        node.set_importance(*importance);
                    }
                }
                _ => {}
            }
        }
    }

    fn push(&mut self, body: SummaryDraft) {
        self.summaries.push(Summary { id: SummaryId::from_index(self.next_summary()), body });
    }

    /// The index of the number that the next summary gets: numbers go on behind the last, also where some
    /// before it were lost.
    fn next_summary(&self) -> usize {
        self.summaries.last().map_or(0, |last| last.id.index() + 1)
    }
}

/// Does whatever compaction the thresholds ask for; gives the conversation as it is then.
///
/// What would not lower the token count is not recorded: it is left for later, when more messages have come. What is
/// due while another process does background work is left too, so that no summary is paid for twice.
pub(crate) async fn compact(
    parts: &Parts,
    conversation: &ConversationId,
    progress: &dyn Progress,
) -> Result<(CompactionReport, Snapshot), MemoryError> {
    let mut manager = Manager::begin(parts, conversation).await?;
    let next = |tree: &Tree<'_>| {
        let mut plan = plan_compaction(tree, &parts.thresholds);
        plan.summarize.truncate(STEP);
        plan
    };
    if !manager.may_help(next) {
        return manager.finish().await;
    }
    let _lease = match parts.store.lease().await {
        Ok(lease) => lease,
        Err(StoreError::Locked { pid, host, .. }) => {
            tracing::debug!(%conversation, pid, host, "compaction is left to another process");
            manager.report.is_left_to_another = true;
            return manager.finish().await;
        }
        Err(error) => return Err(error.into()),
    };
    if !manager.is_up_to_date().await? {
        // Whoever had the lease before has done some of it.
        manager = Manager::begin(parts, conversation).await?;
    }
    let total = manager.ahead.nodes.len() as u64;
    loop {
        let full: u64 = manager.ahead.tree().full().iter().map(|run| run.count()).sum();
        progress.report(total - full, total);
        if !manager.step(next).await? {
            return manager.finish().await;
        }
    }
}

/// Compacts until the coarsest view costs at most `budget` tokens, whatever the thresholds say; stops
/// without an error when nothing more can be done.
pub(crate) async fn shrink(
    parts: &Parts,
    conversation: &ConversationId,
    budget: u32,
) -> Result<(CompactionReport, Snapshot), MemoryError> {
    let mut manager = Manager::begin(parts, conversation).await?;
    while manager.report.tokens_after > budget && manager.step(|tree| plan_shrink(tree, &parts.thresholds)).await? {}
    manager.finish().await
}

struct Manager<'a> {
    parts: &'a Parts,
    conversation: &'a ConversationId,
    /// As recorded, and with what is written but not recorded yet.
    ahead: Snapshot,
    /// The index of the number that the next recorded summary gets.
    recorded: usize,
    /// What is written but not recorded yet, a plan each: by itself it lowers nothing. One SUMMARY for each
    /// of many tiny messages costs as much as they do; the META over them does not.
    pending: Vec<Vec<Event>>,
    redactor: Redactor,
    report: CompactionReport,
}

impl<'a> Manager<'a> {
    async fn begin(parts: &'a Parts, conversation: &'a ConversationId) -> Result<Self, MemoryError> {
        let ahead = Snapshot::read(parts, conversation).await?;
        let redactor = redactor(parts, conversation, &ahead).await?;
        let tokens = ahead.coarsest(parts);
        let report = CompactionReport { tokens_before: tokens, tokens_after: tokens, ..CompactionReport::default() };
        let recorded = ahead.next_summary();
        Ok(Self { parts, conversation, ahead, recorded, pending: Vec::new(), redactor, report })
    }

    /// Whether nobody has recorded summaries since.
    async fn is_up_to_date(&self) -> Result<bool, MemoryError> {
        let state = self.parts.store.conversation(self.conversation).await?;
        Ok(state.summaries == self.recorded as u64)
    }

    /// Performs the next plan; `false` when there is none, or none that could help.
    async fn step(&mut self, next: impl Fn(&Tree<'_>) -> Compaction) -> Result<bool, MemoryError> {
        let plan = next(&self.ahead.tree());
        if plan.is_empty() || (self.pending.is_empty() && !self.may_help(&next)) {
            return Ok(false);
        }
        match self.perform(&plan).await {
            Ok(()) => Ok(true),
            Err(error) => {
                self.announce_failure(&error).await;
                Err(error)
            }
        }
    }

    /// Whether the token count would fall, were every summary as short as can be. Asked before a strategy is
    /// paid for words that would be thrown away, turn after turn.
    fn may_help(&mut self, next: impl Fn(&Tree<'_>) -> Compaction) -> bool {
        let written = self.ahead.summaries.len();
        let helps = loop {
            let plan = next(&self.ahead.tree());
            if plan.is_empty() {
                break false;
            }
            for draft in shortest(&plan, &self.ahead, self.parts) {
                self.ahead.push(draft);
            }
            if self.ahead.coarsest(self.parts) < self.report.tokens_after {
                break true;
            }
        };
        self.ahead.summaries.truncate(written);
        helps
    }

    /// Writes one plan, and records it with those before it once they lower the token count.
    async fn perform(&mut self, plan: &Compaction) -> Result<(), MemoryError> {
        let writer = Writer {
            store: self.parts.store.as_ref(),
            counter: self.parts.counter.as_ref(),
            summarizer: self.parts.summarizer.as_ref(),
            scorer: self.parts.scorer.as_deref(),
            conversation: self.conversation,
            summaries: &self.ahead.summaries,
            redactor: &self.redactor,
        };
        let events = writer.write(plan).await?;
        self.ahead.apply(&events);
        self.pending.push(events);
        if self.ahead.coarsest(self.parts) < self.report.tokens_after { self.record().await } else { Ok(()) }
    }

    async fn record(&mut self) -> Result<(), MemoryError> {
        let (known, before) = (self.recorded, self.report.tokens_after);
        for events in std::mem::take(&mut self.pending) {
            let expected = events.iter().filter(|event| matches!(event, Event::Summary(_))).count();
            let expected = (self.recorded..self.recorded + expected).map(SummaryId::from_index);
            let recorded = match self.parts.store.record(self.conversation, events).await {
                // What a store that takes no writes cannot keep serves this one time; so it is for a conversation
                // that may have lost its end.
                Err(error) if matches!(error, StoreError::ReadOnly { .. }) || error.is_damage() => {
                    self.recorded += expected.count();
                    continue;
                }
                recorded => recorded?,
            };
            let numbers = recorded.iter().filter_map(|recorded| match recorded {
                Recorded::Summary(id) => Some(*id),
                Recorded::Done => None,
            });
            self.report.summaries += numbers.clone().filter(|id| id.index() >= self.recorded).count() as u64;
            if !numbers.eq(expected.clone()) {
                // Somebody else recorded summaries meanwhile: go on from what is there now.
                self.ahead = Snapshot::read(self.parts, self.conversation).await?;
                self.recorded = self.ahead.next_summary();
                if self.recorded == known {
                    // The store has them all and the tree still lacks them: trying again would go on for ever.
                    return Err(MemoryError::NoProgress { before, after: self.ahead.coarsest(self.parts) });
                }
                break;
            }
            self.recorded += expected.count();
        }
        self.report.tokens_after = self.ahead.coarsest(self.parts);
        Ok(())
    }

    async fn finish(mut self) -> Result<(CompactionReport, Snapshot), MemoryError> {
        let CompactionReport { summaries, tokens_before, tokens_after, .. } = self.report;
        if !self.pending.is_empty() {
            let after = self.ahead.coarsest(self.parts);
            self.announce_failure(&MemoryError::NoProgress { before: tokens_after, after }).await;
            let recorded = self.recorded;
            self.ahead.summaries.retain(|summary| summary.id.index() < recorded);
        }
        if summaries > 0 {
            let conversation = self.conversation.clone();
            tracing::debug!(%conversation, summaries, tokens_before, tokens_after, "compacted");
            let mut event = Compacted { conversation, summaries, tokens_before, tokens_after };
            self.parts.hooks.dispatch(&mut event).await?;
        }
        Ok((self.report, self.ahead))
    }

    async fn announce_failure(&self, error: &MemoryError) {
        let mut event = CompactionFailed { conversation: self.conversation.clone(), error: error.to_string() };
        tracing::warn!(conversation = %event.conversation, %error, "compaction failed and changed nothing");
        if let Err(hook) = self.parts.hooks.dispatch(&mut event).await {
            tracing::warn!(%hook, "a hook failed on the failure");
        }
    }
}

/// The summaries of a plan as short as can be, for estimates.
fn shortest(plan: &Compaction, snapshot: &Snapshot, parts: &Parts) -> Vec<SummaryDraft> {
    let draft = |level, span, children, tokens| SummaryDraft {
        level,
        span,
        children,
        text: String::new(),
        tokens,
        metadata: SummaryMetadata::default(),
        written_by: WrittenBy { strategy: String::new(), version: String::new() },
        input_hash: Hash::of_parts([]),
    };
    let leaf = |node: &NodeId| {
        let outline = snapshot.nodes.get(node.index());
        let tokens = match outline {
            Some(outline) if outline.keep_out_of_summaries => parts.counter.count(KEPT_OUT),
            Some(outline) => outline.tokens.min(1),
            None => 0,
        };
        draft(Level::Summary, NodeRange::single(*node), Vec::new(), tokens)
    };
    let merged = |merge: &Merge| draft(merge.level, merge.span, merge.children.clone(), 1);
    plan.summarize.iter().map(leaf).chain(plan.merge.iter().map(merged)).collect()
}

/// What strikes out the content of kept-out messages.
pub(crate) async fn redactor(
    parts: &Parts,
    conversation: &ConversationId,
    snapshot: &Snapshot,
) -> Result<Redactor, MemoryError> {
    let kept_out = snapshot.nodes.iter().enumerate().filter(|(_, node)| node.keep_out_of_summaries);
    let kept_out: Vec<_> = kept_out.map(|(index, _)| NodeRange::single(NodeId::from_index(index))).collect();
    let mut messages = Vec::new();
    for run in NodeRange::merge(kept_out) {
        // What a lost message would have had struck out is not known any more; summaries written before are clean.
        let read = parts.store.readable_nodes(conversation, run).await?;
        messages.extend(read.nodes.into_iter().map(|node| node.message));
    }
    Ok(Redactor::new(&messages))
}
