//! Performs the compactions that `memory_core::plan` plans.

use std::sync::{Arc, Mutex, PoisonError, atomic::AtomicUsize};

use memory_core::{
    ConversationId, DISABLED, ERASED, Level, NodeId, NodeRange, Summary, SummaryId, SummaryOutline,
    plan::{Compaction, Merge, Tree},
    port::{CompactionReport, Event, Progress, Recorded, ShrinkScope, StoreError, Summarizer},
};

use super::{
    failing::FailureCount,
    writing::{KEPT_OUT, Writer},
};
use crate::{Compacted, CompactionStarted, MemoryError, ports::Ports, snapshot_cache::Snapshot};

/// Most nodes that one step summarizes, to bound memory and the size of a record.
const STEP: usize = 1024;
/// Most awaited answers in one step, such as those of a model. The step is recorded after them, so that a killed
/// process loses no more.
const AWAITED: usize = 16;

/// Outcome of a compaction.
pub(crate) struct Outcome {
    pub(crate) report: CompactionReport,
    /// The conversation after the compaction, including unrecorded summaries.
    pub(crate) snapshot: Snapshot,
    /// The store's error at recording, unless it is read-only or damaged. Hooks have not received it yet.
    pub(crate) refused: Option<StoreError>,
}

/// Performs due compaction. Returns the conversation after it.
///
/// Summaries that would not lower the token count wait for more messages. Compaction is left to another process that
/// does background work, and to another task that compacts this conversation, so that no summary is paid for twice.
pub(crate) async fn compact(
    ports: &Ports,
    conversation: &ConversationId,
    progress: &dyn Progress,
) -> Result<Outcome, MemoryError> {
    let mut manager = Compacting::begin(ports, conversation).await?;
    // Nodes of the last plan. A step may end before its plan does, and the rest of the plan, though not due by itself,
    // belongs to the same tree whichever strategy wrote it.
    let planned = Mutex::new(Vec::new());
    let next = |tree: &Tree| {
        let mut plan = ports.strategy.due(tree);
        let mut planned = planned.lock().unwrap_or_else(PoisonError::into_inner);
        if plan.summarize.is_empty() {
            plan.summarize.extend(planned.iter().filter(|node| tree.level(**node) == Level::Full));
        } else {
            planned.clone_from(&plan.summarize);
        }
        plan.summarize.truncate(STEP);
        plan
    };
    if !manager.may_help(next) {
        return manager.finish().await;
    }
    let Some(_turn) = ports.compacting.take(conversation) else {
        tracing::debug!(%conversation, "compaction is left to another task");
        manager.report.is_left_to_another = true;
        return manager.finish().await;
    };
    let _lease = match ports.store.lease().await {
        Ok(lease) => lease,
        Err(StoreError::Locked { pid, host, .. }) => {
            tracing::debug!(%conversation, pid, host, "compaction is left to another process");
            manager.report.is_left_to_another = true;
            return manager.finish().await;
        }
        Err(error) => return Err(error.into()),
    };
    if !manager.is_up_to_date().await? {
        // The previous lease holder may have done some of the work.
        manager = Compacting::begin(ports, conversation).await?;
    }
    let total = manager.ahead.tree.total();
    loop {
        progress.report(total - manager.ahead.tree.full_count(), total);
        if !manager.step(next).await? {
            return manager.finish().await;
        }
    }
}

/// Compacts until the smallest view costs at most `budget` tokens, even if nothing is due. Stops without an error when
/// no step is left.
pub(crate) async fn shrink(
    ports: &Ports,
    conversation: &ConversationId,
    budget: u32,
    scope: ShrinkScope,
) -> Result<Outcome, MemoryError> {
    // A view that does not fit cannot wait for a running compaction, which then finds its work done.
    let _turn = ports.compacting.take(conversation);
    Compacting::begin(ports, conversation).await?.shrink(budget, scope).await
}

/// [`shrink`] for one view: the conversation's own tree stays the one of its length, so that no other view depends on
/// this one. New summaries are recorded, so that the view can be shown again, and the next view that needs them finds
/// them.
pub(crate) async fn shrink_for_view(
    ports: &Ports,
    conversation: &ConversationId,
    snapshot: Snapshot,
    budget: u32,
    scope: ShrinkScope,
) -> Result<Outcome, MemoryError> {
    let mut manager = Compacting::from(ports, conversation, snapshot);
    manager.for_view = true;
    manager.shrink(budget, scope).await
}

struct Compacting<'a> {
    ports: &'a Ports,
    conversation: &'a ConversationId,
    /// The recorded conversation with the unrecorded summaries added.
    ahead: Snapshot,
    /// Number of recorded summaries, which is the index of the next one.
    recorded: usize,
    /// Written plans that are not recorded yet, since by themselves they do not lower the token count. SUMMARYs of many
    /// tiny messages cost as much as the messages; the META over them does not.
    pending: Vec<Vec<Event>>,
    /// True if the summaries are written for one view.
    for_view: bool,
    author: Arc<dyn Summarizer>,
    summarizer: FailureCount,
    scorer: FailureCount,
    report: CompactionReport,
    /// True once the hooks know of the compaction.
    is_started: bool,
    refused: Option<StoreError>,
}

impl<'a> Compacting<'a> {
    async fn begin(ports: &'a Ports, conversation: &'a ConversationId) -> Result<Self, MemoryError> {
        Ok(Self::from(ports, conversation, Snapshot::read(ports, conversation).await?))
    }

    fn from(ports: &'a Ports, conversation: &'a ConversationId, ahead: Snapshot) -> Self {
        let tokens = ports.strategy.smallest(&ahead.tree);
        let report = CompactionReport::default().tokens_before(tokens).tokens_after(tokens);
        let recorded = ahead.tree.next_summary();
        Self {
            ports,
            conversation,
            ahead,
            recorded,
            pending: Vec::new(),
            for_view: false,
            author: ports.author(),
            summarizer: FailureCount::default(),
            scorer: FailureCount::default(),
            report,
            is_started: false,
            refused: None,
        }
    }

    async fn shrink(mut self, budget: u32, scope: ShrinkScope) -> Result<Outcome, MemoryError> {
        self.author = self.ports.author_for_prompt();
        let strategy = &self.ports.strategy;
        while self.report.tokens_after > budget && self.step(|tree| strategy.shrink(tree, scope)).await? {}
        self.finish().await
    }

    /// Puts the summaries of a plan that earlier views recorded into the tree, and removes them from the plan.
    fn adopt(&mut self, plan: &mut Compaction) {
        let tree = self.ahead.tree_mut();
        let mut is_adopted = |level, span, children: &[SummaryId]| {
            tree.written_for_view(level, span, children).is_some_and(|known| tree.adopt(known))
        };
        plan.summarize.retain(|node| !is_adopted(Level::Summary, NodeRange::single(*node), &[]));
        plan.merge.retain(|merge| !is_adopted(merge.level, merge.span, &merge.children));
    }

    /// True if no other process or task has recorded summaries since.
    async fn is_up_to_date(&self) -> Result<bool, MemoryError> {
        let state = self.ports.store.conversation(self.conversation).await?;
        Ok(state.summaries == self.recorded as u64)
    }

    /// Performs the next plan; `false` if there is none, or none that could help.
    async fn step(&mut self, next: impl Fn(&Tree) -> Compaction) -> Result<bool, MemoryError> {
        let mut plan = next(&self.ahead.tree);
        if plan.is_empty() || (self.pending.is_empty() && !self.may_help(&next)) {
            return Ok(false);
        }
        if self.for_view {
            self.adopt(&mut plan);
            if plan.is_empty() {
                let smallest = self.ports.strategy.smallest(&self.ahead.tree);
                self.report.tokens_after = self.report.tokens_after.min(smallest);
                return Ok(true);
            }
        }
        if !std::mem::replace(&mut self.is_started, true) {
            let conversation = self.conversation.clone();
            let tokens_before = self.report.tokens_before;
            self.ports.report(CompactionStarted { conversation, tokens_before }).await;
        }
        let performed = self.perform(&plan).await;
        if performed.is_err() {
            self.announce().await;
        }
        performed.map(|()| true)
    }

    /// True if the token count would fall if every summary were as short as possible. Checked before a strategy is
    /// called, so that no words are paid for and thrown away turn after turn.
    fn may_help(&mut self, next: impl Fn(&Tree) -> Compaction) -> bool {
        let written = self.ahead.tree.summaries();
        let helps = loop {
            let plan = next(&self.ahead.tree);
            if plan.is_empty() {
                break false;
            }
            for shortest in shortest(&plan, &self.ahead.tree, self.ports) {
                self.push(shortest);
            }
            if self.ports.strategy.smallest(&self.ahead.tree) < self.report.tokens_after {
                break true;
            }
        };
        while self.ahead.tree.summaries() > written {
            self.ahead.tree_mut().undo();
        }
        helps
    }

    /// Applies events as if they were recorded.
    fn apply(&mut self, events: &[Event]) {
        for event in events {
            match event {
                Event::Summary(body) => self.push(SummaryOutline::of(SummaryId::from_index(0), body).for_view(false)),
                Event::Importance { node, importance, .. } => {
                    if let Some(mut outline) = self.ahead.tree.node(*node).copied() {
                        outline.set_importance(*importance);
                        self.ahead.tree_mut().revise(*node, outline);
                    }
                }
                _ => {}
            }
        }
    }

    /// Adds a summary under the next number.
    fn push(&mut self, mut summary: SummaryOutline) {
        summary.id = SummaryId::from_index(self.ahead.tree.next_summary());
        self.ahead.tree_mut().add(summary);
    }

    /// The written but unrecorded summaries, in order of their numbers.
    fn unrecorded(&self) -> Vec<Summary> {
        let pending = numbered(self.recorded, self.pending.iter().flatten());
        self.ahead.unrecorded.iter().cloned().chain(pending).collect()
    }

    /// Writes one plan, or its part up to the limit of awaited answers, and records it with the pending ones once they
    /// lower the token count. If a plan fails, the part written before is handled the same way.
    async fn perform(&mut self, plan: &Compaction) -> Result<(), MemoryError> {
        let writer = Writer {
            ports: self.ports,
            conversation: self.conversation,
            tree: &self.ahead.tree,
            written: &self.unrecorded(),
            redactor: &self.ahead.redactor,
            author: &*self.author,
            summarizer: &self.summarizer,
            scorer: &self.scorer,
            for_view: self.for_view,
            awaited: AtomicUsize::new(0),
            most_awaited: AWAITED,
        };
        let mut events = Vec::new();
        let written = writer.write(plan, &mut events).await;
        self.apply(&events);
        self.pending.push(events);
        if self.ports.strategy.smallest(&self.ahead.tree) < self.report.tokens_after {
            self.record().await?;
        }
        written
    }

    async fn record(&mut self) -> Result<(), MemoryError> {
        let (known, before) = (self.recorded, self.report.tokens_after);
        for events in std::mem::take(&mut self.pending) {
            let expected = events.iter().filter(|event| matches!(event, Event::Summary(_))).count();
            let expected = (self.recorded..self.recorded + expected).map(SummaryId::from_index);
            let Some(recorded) = self.offer(&events).await else {
                self.ahead.unrecorded.extend(numbered(self.recorded, &events));
                self.recorded += expected.count();
                continue;
            };
            let numbers = recorded.iter().filter_map(|recorded| match recorded {
                Recorded::Summary(id) => Some(*id),
                _ => None,
            });
            self.report.summaries += numbers.clone().filter(|id| id.index() >= self.recorded).count() as u64;
            if !numbers.eq(expected.clone()) {
                // Another process or task recorded summaries meanwhile: continue from the recorded state.
                self.ahead = Snapshot::read(self.ports, self.conversation).await?;
                self.recorded = self.ahead.tree.next_summary();
                if self.recorded == known {
                    // The store has all of them and the tree still lacks them, so retries would never end.
                    return Err(MemoryError::NoProgress {
                        before,
                        after: self.ports.strategy.smallest(&self.ahead.tree),
                    });
                }
                break;
            }
            self.recorded += expected.count();
        }
        self.report.tokens_after = self.ports.strategy.smallest(&self.ahead.tree);
        Ok(())
    }

    /// Records these events. `None` if the store accepted none; the summaries then serve this view alone, since an
    /// unrecorded view is better than none. After a refusal no further events are offered, since they may refer to
    /// refused summaries.
    async fn offer(&mut self, events: &[Event]) -> Option<Vec<Recorded>> {
        if !self.ahead.unrecorded.is_empty() {
            return None;
        }
        match self.ports.store.record(self.conversation, events.to_vec()).await {
            Ok(recorded) => Some(recorded),
            // A read-only store is expected here; the read path reports damage.
            Err(error) if matches!(error, StoreError::ReadOnly { .. }) || error.is_damage() => None,
            Err(error) => {
                self.refused = Some(error);
                None
            }
        }
    }

    async fn finish(mut self) -> Result<Outcome, MemoryError> {
        if !self.pending.is_empty() {
            let after = self.ports.strategy.smallest(&self.ahead.tree);
            let error = MemoryError::NoProgress { before: self.report.tokens_after, after };
            self.ports.report_failure(self.conversation, &error).await;
            while self.ahead.tree.next_summary() > self.recorded {
                self.ahead.tree_mut().undo();
            }
        }
        self.announce().await;
        Ok(Outcome { report: self.report, snapshot: self.ahead, refused: self.refused })
    }

    /// Reports recorded summaries to the hooks, if any.
    async fn announce(&self) {
        let CompactionReport { summaries, tokens_before, tokens_after, .. } = self.report;
        if summaries == 0 {
            return;
        }
        let conversation = self.conversation.clone();
        tracing::debug!(%conversation, summaries, tokens_before, tokens_after, "compacted");
        self.ports.report(Compacted { conversation, summaries, tokens_before, tokens_after }).await;
    }
}

/// The summaries among these events, numbered as if recorded after the first `from`.
fn numbered<'e>(from: usize, events: impl IntoIterator<Item = &'e Event>) -> impl Iterator<Item = Summary> {
    let drafts = events.into_iter().filter_map(|event| match event {
        Event::Summary(body) => Some(body.clone()),
        _ => None,
    });
    (from..).map(SummaryId::from_index).zip(drafts).map(|(id, body)| Summary::new(id, body))
}

/// The summaries of a plan, as short as possible, for estimates. Their numbers are arbitrary.
fn shortest(plan: &Compaction, tree: &Tree, ports: &Ports) -> Vec<SummaryOutline> {
    let id = SummaryId::from_index(0);
    let leaf = |node: &NodeId| {
        let tokens = match tree.node(*node) {
            Some(outline) if outline.is_erased => ports.counter.count(ERASED),
            Some(outline) if outline.is_disabled => ports.counter.count(DISABLED),
            Some(outline) if outline.keep_out_of_summaries => ports.counter.count(KEPT_OUT),
            Some(outline) => outline.tokens.min(1),
            None => 0,
        };
        SummaryOutline::new(id, Level::Summary, NodeRange::single(*node)).tokens(tokens)
    };
    let merged = |merge: &Merge| {
        let children = merge.children.as_slice().into();
        SummaryOutline::new(id, merge.level, merge.span).children(children).tokens(1)
    };
    plan.summarize.iter().map(leaf).chain(plan.merge.iter().map(merged)).collect()
}
