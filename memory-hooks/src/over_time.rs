//! The figures of a conversation over time: growth, compression, subjects.

use std::collections::HashMap;

use memory_core::{
    Level, NodeId, NodeKind, NodeOutline, NodeRange, SummaryId, SummaryOutline, Timestamp,
    plan::{Tree, coarsest},
    port::{Losses, Notice},
    time::Period,
};
use memory_strategies::Subjects;

use crate::{
    Conversation, MemoryError, kept_out::Redactor, manager::writing::most_tokens, parts::Parts,
    snapshot_cache::Snapshot,
};

/// Subjects of a period.
const MOST_TOPICS: usize = 3;
/// Messages read at once, to bound memory.
const CHUNK: u64 = 1_024;

/// The figures of a conversation, period by period.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct OverTime {
    /// The length of the periods.
    pub period: Period,
    /// Periods with messages, in order.
    pub rows: Vec<PeriodStats>,
    /// Notices for the caller.
    pub notices: Vec<Notice>,
}

/// The figures of a period.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct PeriodStats {
    /// Start of the period, in UTC; `None` for messages before the first one of known time.
    pub start: Option<Timestamp>,
    /// Messages of the period.
    pub nodes: NodeRange,
    /// Messages of the user's side.
    pub user_nodes: u64,
    /// Messages of the model.
    pub ai_nodes: u64,
    /// Tokens of the period's messages.
    pub tokens: u64,
    /// Messages up to the end of the period.
    pub total_nodes: u64,
    /// Tokens, at the end of the period, of a view that shows all messages verbatim, including the cost of a message in
    /// addition to its text.
    pub shown_tokens: u64,
    /// Tokens, at the end of the period, of the coarsest view that covered all messages, with the summaries that were
    /// due then.
    pub view_tokens: u64,
    /// Topics, the heaviest first, at most three.
    pub topics: Vec<String>,
}

impl PeriodStats {
    /// [`Self::shown_tokens`] divided by [`Self::view_tokens`]: the compression of the coarsest view at the end of the
    /// period.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a ratio need not be exact")]
    pub fn compression_ratio(&self) -> f64 {
        if self.view_tokens == 0 { 1.0 } else { self.shown_tokens as f64 / self.view_tokens as f64 }
    }
}

impl Conversation {
    /// Figures of the conversation by periods; without `period`, by periods that fit its length. A message of an
    /// earlier time than one before it, or of an unknown time, counts in the period of the one before. Every compaction
    /// is replayed and every message is read.
    ///
    /// # Errors
    /// If the store fails. Messages that cannot be read are named in a notice; the figures count them, the subjects do
    /// not.
    pub async fn over_time(&self, period: Option<Period>) -> Result<OverTime, MemoryError> {
        self.call(move |this| async move {
            let snapshot = Snapshot::read(&this.parts, &this.id).await?;
            let tree = &snapshot.tree;
            let times = || tree.nodes().map(|node| node.at).filter(|at| at.is_known());
            let ends = times().min().zip(times().max());
            let period = period.or(ends.map(|(first, last)| Period::fitting(first, last))).unwrap_or(Period::Day);
            let mut rows = counted(&this.parts, tree, period);
            let mut losses = Losses::default();
            for row in &mut rows {
                row.topics = this.topics(row.nodes, &snapshot.redactor, &mut losses).await?;
            }
            Ok(OverTime { period, rows, notices: losses.notice(&this.id).into_iter().collect() })
        })
        .await
    }

    /// Topics of a run of messages.
    async fn topics(
        &self,
        nodes: NodeRange,
        redactor: &Redactor,
        losses: &mut Losses,
    ) -> Result<Vec<String>, MemoryError> {
        let mut subjects = Subjects::default();
        let mut first = Some(nodes.first());
        while let Some(from) = first {
            let last = NodeId::new(from.get() + CHUNK - 1).unwrap_or(from).min(nodes.last());
            let Some(run) = NodeRange::new(from, last) else { break };
            let read = self.parts.store.readable_nodes(&self.id, run).await?;
            losses.extend(&read.losses);
            let is_said = |node: &&memory_core::Node| {
                !node.is_hidden() && !node.message.keep_out_of_summaries && node.message.tool_results().next().is_none()
            };
            read.nodes
                .iter()
                .filter(is_said)
                .for_each(|node| subjects.add(node.id, &node.message.text(), &node.topics));
            first = Some(last.next()).filter(|next| *next <= nodes.last());
        }
        let names = subjects.top(MOST_TOPICS, 1, nodes.last()).into_iter().map(|subject| subject.name);
        Ok(redactor.clean_topics(&names.collect::<Vec<_>>()))
    }
}

/// The rows without their subjects.
fn counted(parts: &Parts, tree: &Tree, period: Period) -> Vec<PeriodStats> {
    let mut replay = Replay::of(parts, tree);
    let mut rows: Vec<PeriodStats> = Vec::new();
    let mut start = None;
    for (index, outline) in tree.nodes().enumerate() {
        let node = NodeId::from_index(index);
        let here = period.start(outline.at).max(start);
        let is_new = rows.is_empty() || here != start;
        start = here;
        if is_new {
            close(&mut rows, &replay.tree);
            rows.push(PeriodStats::begin(start, node));
        }
        replay.take(*outline);
        let Some(row) = rows.last_mut() else { continue };
        row.nodes = row.nodes.hull(NodeRange::single(node));
        match NodeKind::of(outline.role) {
            NodeKind::User => row.user_nodes += 1,
            NodeKind::Ai => row.ai_nodes += 1,
        }
        row.tokens += u64::from(outline.tokens);
    }
    close(&mut rows, &replay.tree);
    rows
}

/// Completes the last row.
fn close(rows: &mut [PeriodStats], tree: &Tree) {
    let Some(row) = rows.last_mut() else { return };
    row.total_nodes = tree.total();
    row.shown_tokens = tree.tokens() + tree.total() * u64::from(tree.policy().per_message);
    row.view_tokens = u64::from(coarsest(tree));
}

/// A conversation up to some message, with the summaries that were due then.
struct Replay<'a> {
    parts: &'a Parts,
    tree: Tree,
    /// Tokens of the summaries that are recorded.
    recorded: HashMap<(Level, NodeRange), u32>,
}

impl<'a> Replay<'a> {
    /// The empty beginning of the replay of `known`.
    fn of(parts: &'a Parts, known: &Tree) -> Self {
        // A dissolved summary has no tokens of its own.
        let summaries = known.placed().filter(|summary| summary.tokens > 0 || summary.level == Level::Summary);
        let recorded = summaries.map(|summary| ((summary.level, summary.span), summary.tokens)).collect();
        Self { parts, tree: Tree::new(*known.policy()), recorded }
    }

    fn take(&mut self, outline: NodeOutline) {
        self.tree.append(outline);
        loop {
            let due = self.parts.strategy.due(&self.tree);
            if due.is_empty() {
                return;
            }
            for node in due.summarize {
                let tokens = self.tree.node(node).map_or(0, |outline| outline.tokens);
                self.add(Level::Summary, NodeRange::single(node), Box::default(), tokens);
            }
            for merge in due.merge {
                let tokens = |id: &SummaryId| self.tree.summary(*id).map_or(0, |summary| summary.tokens);
                let tokens = merge.children.iter().map(tokens).sum();
                self.add(merge.level, merge.span, merge.children.into(), tokens);
            }
        }
    }

    /// Adds a summary as if it were written, with the tokens of the recorded one or the most it may have.
    fn add(&mut self, level: Level, span: NodeRange, children: Box<[SummaryId]>, of: u32) {
        let id = SummaryId::from_index(self.tree.next_summary());
        let tokens = self.recorded.get(&(level, span)).copied().unwrap_or_else(|| most_tokens(level, of));
        self.tree.add(SummaryOutline::new(id, level, span).children(children).tokens(tokens));
    }
}

impl PeriodStats {
    fn begin(start: Option<Timestamp>, first: NodeId) -> Self {
        Self {
            start,
            nodes: NodeRange::single(first),
            user_nodes: 0,
            ai_nodes: 0,
            tokens: 0,
            total_nodes: 0,
            shown_tokens: 0,
            view_tokens: 0,
            topics: Vec::new(),
        }
    }
}
