//! The forest of summaries over the nodes of a conversation.

mod grow;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::{Arc, OnceLock},
};

use super::{ViewPolicy, chunks::Chunks, profile::Profile, runs::Runs, turns::Turns};
use crate::{Level, NodeId, NodeOutline, NodeRange, SummaryId, SummaryOutline, Timestamp};

/// Maximum nodes after a user's message that are shown verbatim as the end of a conversation, since an agent may work
/// for hours without a message of its user.
const LONGEST_TURN: usize = 32;

/// Maximum nodes of unknown time that are skipped in the search for a known time.
const UNTIMED: usize = 1_000;

/// The nodes of a conversation and the forest of summaries over them.
///
/// Appending a node or summary costs at most one step for each level, whatever the length of the conversation. Copies
/// share unchanged parts, so that planning may try changes on a copy.
///
/// Any sequence of summaries makes a forest: if two summaries claim the same nodes or children, the second one is
/// ignored, and so is a summary whose child was lost. A later summary of the same level, span and children supersedes
/// the first one, which keeps its place and number but shows the later text. If the later one has no text, the first
/// one is dissolved: its parts are shown in its place. A summary that was written for a view of a small budget is
/// outside the forest; [`Self::adopt`] adds it, to a copy on which such a view is planned.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    policy: ViewPolicy,
    nodes: Chunks<NodeOutline>,
    turns: Turns,
    /// For each node, the SUMMARY that covers it.
    leaves: Chunks<Option<SummaryId>>,
    /// Recorded summaries, in order of their numbers.
    places: Chunks<Place>,
    /// Number of assigned summary numbers, including those of unreadable summaries.
    numbered: usize,
    /// Summaries without a parent, by the first node they cover.
    roots: BTreeMap<NodeId, SummaryId>,
    /// Nodes that no summary covers.
    full: Runs,
    pinned: BTreeSet<NodeId>,
    kept_out: BTreeSet<NodeId>,
    /// Erased and disabled ones.
    erased: BTreeSet<NodeId>,
    tokens: Tokens,
    /// Summaries that were written for views, by their first node.
    for_views: Arc<BTreeMap<NodeId, Vec<SummaryId>>>,
    /// Most nodes of the end, if a view has room for fewer than the longest.
    longest_end: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tokens {
    nodes: u64,
    /// Tokens of the nodes that no summary covers.
    full: u64,
    roots: u64,
}

#[derive(Clone, Debug)]
struct Place {
    /// The summary, with the tokens of the text that is shown in its place.
    summary: SummaryOutline,
    parent: Option<SummaryId>,
    /// Levels above the SUMMARYs below it; `None` for a summary without a place in the forest.
    height: Option<u32>,
    /// The summary whose text is shown in this place: itself, or the last one that superseded it.
    words: SummaryId,
    /// For a summary that superseded another: the place, and the text that it replaced there.
    superseded: Option<Superseded>,
    /// Sum of the importance of the covered nodes, each halved with every half-life between the node and the last one.
    weight: f64,
    /// Cached profile of its cuts, which a copy of the tree shares until something below the summary changes there.
    profile: Arc<OnceLock<Profile>>,
}

/// The state of a place before its text was replaced.
#[derive(Clone, Copy, Debug)]
struct Superseded {
    place: SummaryId,
    words: SummaryId,
    tokens: u32,
}

impl Place {
    fn is_dissolved(&self) -> bool {
        let is_blank = self.summary.tokens == 0 && self.words != self.summary.id;
        let is_disabled = self.summary.is_disabled && self.words == self.summary.id;
        (is_blank || is_disabled) && self.summary.level != Level::Summary
    }

    fn stands_at(&self) -> Option<SummaryId> {
        let is_placed = self.height.is_some() || self.summary.for_view;
        self.superseded.map(|superseded| superseded.place).or_else(|| is_placed.then_some(self.summary.id))
    }
}

impl Tree {
    /// A tree without nodes.
    #[must_use]
    pub fn new(policy: ViewPolicy) -> Self {
        Self { policy, ..Self::default() }
    }

    /// The policy of its views.
    #[must_use]
    pub fn policy(&self) -> &ViewPolicy {
        &self.policy
    }

    /// Index of a summary in `places`: its number, unless earlier summaries were lost.
    fn position(&self, id: SummaryId) -> Option<usize> {
        let is_it = |place: &Place| place.summary.id == id;
        if self.places.get(id.index()).is_some_and(is_it) {
            return Some(id.index());
        }
        let found = self.places.partition_point(|place| place.summary.id < id);
        self.places.get(found).is_some_and(is_it).then_some(found)
    }

    fn place(&self, id: SummaryId) -> Option<&Place> {
        self.places.get(self.position(id)?)
    }

    /// Number of erased and disabled messages in a run.
    #[must_use]
    pub fn erased_in(&self, run: NodeRange) -> u64 {
        self.erased.range(run.first()..=run.last()).count() as u64
    }

    /// Erased and disabled messages among the first `nodes`, as runs in order.
    #[must_use]
    pub fn erased_runs(&self, nodes: u64) -> Vec<NodeRange> {
        let first = self.erased.iter().take_while(|node| node.get() <= nodes);
        NodeRange::merge(first.map(|node| NodeRange::single(*node)).collect())
    }

    /// Outline of a node.
    #[must_use]
    pub fn node(&self, node: NodeId) -> Option<&NodeOutline> {
        self.nodes.get(node.index())
    }

    /// Outlines of the nodes, in order.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeOutline> {
        self.nodes.iter()
    }

    /// Number of nodes of the conversation.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// Tokens of all nodes.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.tokens.nodes
    }

    /// Cost of the first `nodes` nodes verbatim, in tokens, including [`ViewPolicy::per_message`] for each.
    #[must_use]
    pub fn shown_tokens_within(&self, nodes: u64) -> u64 {
        if nodes >= self.total() {
            return self.verbatim_total();
        }
        NodeRange::first_n(nodes).map_or(0, |first| self.verbatim_cost(first))
    }

    /// Number of added summaries, including ignored ones.
    #[must_use]
    pub fn summaries(&self) -> usize {
        self.places.len()
    }

    /// Index of the next summary's number. Numbers are never reused, even if summaries were lost.
    #[must_use]
    pub fn next_summary(&self) -> usize {
        self.places.last().map_or(0, |last| last.summary.id.index() + 1).max(self.numbered)
    }

    /// Reserves the summary numbers up to `last`, whose summaries may be unreadable.
    pub fn reserve_numbers(&mut self, last: u64) {
        self.numbered = self.numbered.max(usize::try_from(last).unwrap_or(usize::MAX));
    }

    /// Outline of a summary. If it was superseded, its tokens are those of the text shown in its place.
    #[must_use]
    pub fn summary(&self, id: SummaryId) -> Option<&SummaryOutline> {
        Some(&self.place(id)?.summary)
    }

    /// Number of the summary whose text is shown in the place of `id`: its own, unless it was superseded.
    #[must_use]
    pub fn words_for(&self, id: SummaryId) -> SummaryId {
        self.place(id).map_or(id, |place| place.words)
    }

    /// True if the parts of this merged summary are shown in its place, because a summary without text superseded it.
    #[must_use]
    pub fn is_dissolved(&self, id: SummaryId) -> bool {
        self.place(id).is_some_and(Place::is_dissolved)
    }

    /// True if this record dissolved the place that it superseded; the record may have been superseded since.
    #[must_use]
    pub fn dissolves(&self, id: SummaryId) -> bool {
        let dissolves = |record: &Place| {
            record.superseded.is_some() && record.summary.tokens == 0 && record.summary.level != Level::Summary
        };
        self.place(id).is_some_and(dissolves)
    }

    /// Replaces each dissolved summary in the sequence by its parts.
    #[must_use]
    pub fn undissolved(&self, ids: impl IntoIterator<Item = SummaryId>) -> Vec<SummaryId> {
        let mut whole = Vec::new();
        let mut left: Vec<_> = ids.into_iter().collect();
        left.reverse();
        while let Some(id) = left.pop() {
            match self.place(id).filter(|place| place.is_dissolved()) {
                Some(place) => left.extend(place.summary.children.iter().rev()),
                None => whole.push(id),
            }
        }
        whole
    }

    /// The summary in whose place `id` is shown: itself, or the one that it superseded; `None` if it is ignored.
    #[must_use]
    pub fn place_of(&self, id: SummaryId) -> Option<SummaryId> {
        self.place(id).and_then(Place::stands_at)
    }

    /// Every recorded summary that is not ignored, in order of the numbers, with the place in which it is or was shown.
    pub fn recorded(&self) -> impl Iterator<Item = (SummaryId, SummaryId)> {
        self.places.iter().filter_map(|place| Some((place.summary.id, place.stands_at()?)))
    }

    /// Summaries with a place in the forest, in order of their numbers.
    pub fn placed(&self) -> impl Iterator<Item = &SummaryOutline> {
        self.places.iter().filter(|place| place.height.is_some()).map(|place| &place.summary)
    }

    /// Summaries that were written for views, children before parents.
    pub fn placed_for_views(&self) -> impl Iterator<Item = &SummaryOutline> {
        let is_for_view = |place: &&Place| place.summary.for_view && place.superseded.is_none();
        self.places.iter().filter(is_for_view).map(|place| &place.summary)
    }

    /// Number of summaries that superseded another.
    #[must_use]
    pub fn superseded(&self) -> usize {
        self.places.iter().filter(|place| place.superseded.is_some()).count()
    }

    /// SUMMARY over a node.
    #[must_use]
    pub fn leaf(&self, node: NodeId) -> Option<SummaryId> {
        self.leaves.get(node.index()).copied().flatten()
    }

    /// Summary directly above another.
    #[must_use]
    pub fn parent(&self, id: SummaryId) -> Option<SummaryId> {
        self.place(id)?.parent
    }

    /// Levels between a summary and the SUMMARYs below it; `None` for one that is ignored or supersedes another.
    #[must_use]
    pub fn height(&self, id: SummaryId) -> Option<u32> {
        self.place(id)?.height
    }

    /// Summaries without a parent, in order of their nodes.
    pub fn roots(&self) -> impl DoubleEndedIterator<Item = &SummaryOutline> {
        self.roots.values().filter_map(|id| self.summary(*id))
    }

    /// Runs of nodes that no summary covers.
    pub fn full(&self) -> impl DoubleEndedIterator<Item = NodeRange> {
        self.full.iter()
    }

    /// Number of nodes that no summary covers.
    #[must_use]
    pub fn full_count(&self) -> u64 {
        self.full.count()
    }

    /// Nodes that must stay verbatim.
    pub fn pinned(&self) -> impl DoubleEndedIterator<Item = NodeId> {
        self.pinned.iter().copied()
    }

    /// Nodes that are excluded from summaries, as runs in order.
    #[must_use]
    pub fn kept_out(&self) -> Vec<NodeRange> {
        NodeRange::merge(self.kept_out.iter().copied().map(NodeRange::single).collect())
    }

    /// Number of nodes that are excluded from summaries.
    #[must_use]
    pub fn kept_out_count(&self) -> usize {
        self.kept_out.len()
    }

    /// Turns as [`turns`](super::turns) splits them, from the one that contains `node`.
    pub fn turns_from(&self, node: NodeId) -> impl Iterator<Item = NodeRange> {
        self.turns.from(node)
    }

    /// The last user's message up to `last` with the nodes after it up to `last`; at most the last 32 of these nodes.
    #[must_use]
    pub fn last_turn_within(&self, last: NodeId) -> Option<NodeRange> {
        let end = last.index().min(self.nodes.len().checked_sub(1)?);
        let reached = (end + 1).saturating_sub(LONGEST_TURN);
        let first = self.last_prompt_in(reached..end + 1).unwrap_or(reached);
        NodeRange::new(NodeId::from_index(first), NodeId::from_index(end))
    }

    /// The end of the conversation, which is summarized last: the last user's message and the nodes after it, at most the
    /// last 32 of them, or those that [`Self::limit_end`] leaves.
    #[must_use]
    pub fn end(&self) -> Option<NodeRange> {
        let turn = self.last_turn_within(NodeId::new(self.total())?)?;
        let first = self.nodes.len().saturating_sub(self.longest_end.unwrap_or(LONGEST_TURN));
        NodeRange::new(turn.first().max(NodeId::from_index(first)), turn.last())
    }

    /// Limits the end to its last `nodes` nodes, at least one, on a copy on which a small view is planned.
    pub fn limit_end(&mut self, nodes: usize) {
        self.longest_end = Some(nodes.clamp(1, LONGEST_TURN));
    }

    /// The last user's message.
    #[must_use]
    pub fn last_prompt(&self) -> Option<NodeId> {
        self.last_prompt_in(0..self.nodes.len()).map(NodeId::from_index)
    }

    /// Index of the last of these nodes that is a user's message.
    fn last_prompt_in(&self, indices: Range<usize>) -> Option<usize> {
        indices.rev().find(|index| self.nodes.get(*index).is_some_and(NodeOutline::begins_prompt))
    }

    /// Turns, newest first, that contain one of the last [`ViewPolicy::recent`] nodes or of the end.
    pub fn recent_turns(&self) -> impl Iterator<Item = NodeRange> {
        let recent = NodeId::new(self.total().saturating_sub(self.policy.recent).saturating_add(1));
        let end = self.end().map(NodeRange::first);
        let first = recent.into_iter().chain(end).min();
        let turns: Vec<_> = first.into_iter().flat_map(|first| self.turns_from(first)).collect();
        turns.into_iter().rev()
    }

    /// Last known time of a node.
    #[must_use]
    pub fn last_time(&self) -> Timestamp {
        self.last_time_within(self.total())
    }

    /// Last known time among the first `nodes` nodes.
    #[must_use]
    pub fn last_time_within(&self, nodes: u64) -> Timestamp {
        let end = usize::try_from(nodes).unwrap_or(usize::MAX).min(self.nodes.len());
        let times = (0..end).rev().filter_map(|index| self.nodes.get(index)).map(|node| node.at);
        times.take(UNTIMED).find(|at| at.is_known()).unwrap_or_default()
    }

    /// Turn of a node.
    #[must_use]
    pub fn turn_of(&self, node: NodeId) -> Option<NodeRange> {
        self.turns_from(node).next()
    }

    /// Turns that summaries cover only in part: a call was summarized before its result came, or a summary was lost.
    pub(super) fn mixed_turns(&self) -> Vec<NodeRange> {
        let ends = |run: NodeRange| {
            let first = self.turn_of(run.first()).filter(|turn| turn.first() < run.first());
            let last = self.turn_of(run.last()).filter(|turn| turn.last() > run.last());
            [first, last].into_iter().flatten()
        };
        let mut mixed: Vec<_> = self.full().flat_map(ends).collect();
        mixed.dedup();
        mixed
    }

    /// Level of a node: that of the highest summary over it.
    #[must_use]
    pub fn level(&self, node: NodeId) -> Level {
        let mut level = Level::Full;
        let mut above = self.leaf(node);
        while let Some(id) = above {
            level = self.summary(id).map_or(level, |summary| summary.level);
            above = self.parent(id);
        }
        level
    }

    /// Number of nodes at each level, by the level's number.
    #[must_use]
    pub fn nodes_per_level(&self) -> [u64; 4] {
        let mut counts = [0; 4];
        for root in self.roots() {
            if let Some(count) = counts.get_mut(usize::from(root.level.number())) {
                *count += root.span.count();
            }
        }
        if let Some(full) = counts.first_mut() {
            *full = self.full_count();
        }
        counts
    }

    /// Cost of all nodes verbatim.
    pub(super) fn verbatim_total(&self) -> u64 {
        self.tokens.nodes + self.total() * u64::from(self.policy.per_message)
    }

    /// Cost of a run of nodes verbatim, in tokens, including [`ViewPolicy::per_message`] for each.
    #[must_use]
    pub fn verbatim_cost(&self, run: NodeRange) -> u64 {
        let outlines = run.iter().filter_map(|node| self.node(node));
        outlines.map(|outline| u64::from(outline.tokens) + u64::from(self.policy.per_message)).sum()
    }

    /// Cost of a summary in a view. A short message costs what the message costs, and a dissolved summary what its
    /// parts cost, since these are shown instead.
    pub(super) fn summary_cost(&self, id: SummaryId) -> u64 {
        match self.place(id) {
            Some(place) if place.is_dissolved() => {
                let parts = self.undissolved([id]);
                parts.into_iter().filter_map(|part| self.summary(part)).map(|part| self.cost_of(part)).sum()
            }
            Some(place) => self.cost_of(&place.summary),
            None => 0,
        }
    }

    /// Topmost summary over a summary.
    fn root_over(&self, mut id: SummaryId) -> SummaryId {
        while let Some(parent) = self.parent(id) {
            id = parent;
        }
        id
    }

    pub(super) fn cost_of(&self, summary: &SummaryOutline) -> u64 {
        if self.is_short(summary) {
            self.verbatim_cost(summary.span)
        } else {
            u64::from(summary.tokens) + u64::from(self.policy.per_summary)
        }
    }

    /// True if a summary covers one message that is too short to be summarized.
    #[must_use]
    pub fn is_short(&self, summary: &SummaryOutline) -> bool {
        let is_short = |node: &NodeOutline| node.tokens < self.policy.short && !node.keep_out_of_summaries;
        summary.level == Level::Summary
            && summary.span.count() == 1
            && self.node(summary.span.first()).is_some_and(is_short)
    }

    /// Cost of a view of all roots, with nodes verbatim that no summary covers.
    pub(super) fn top(&self) -> u64 {
        self.tokens.roots + self.tokens.full + self.full.count() * u64::from(self.policy.per_message)
    }

    /// Sum of the importance of a run of nodes, each halved with every half-life between the node and the last one.
    pub(super) fn weight_of(&self, run: NodeRange) -> f64 {
        let weigh = |node: NodeId| {
            let importance = self.node(node).map_or(0.0, |outline| f64::from(outline.importance()));
            // The importance is at least 0.01: between two nodes of importance 0 the newer still wins.
            importance.max(0.01) * self.ageing(node, run.last())
        };
        run.iter().map(weigh).sum()
    }

    /// [`Self::weight_of`] the span of a summary.
    pub(super) fn weight(&self, id: SummaryId) -> f64 {
        self.place(id).map_or(0.0, |place| place.weight)
    }

    /// Profile of a merged summary, cached until something below it changes.
    pub(super) fn profile(&self, id: SummaryId, make: impl FnOnce() -> Profile) -> Profile {
        match self.place(id) {
            Some(place) => place.profile.get_or_init(make).clone(),
            None => make(),
        }
    }

    /// The remaining share of a node's weight when `now` is the last node.
    pub(super) fn ageing(&self, node: NodeId, now: NodeId) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a weight need not be exact")]
        let age = now.get().saturating_sub(node.get()) as f64;
        (-age / f64::from(self.policy.half_life.max(1.0))).exp2()
    }

    /// Share of a node's content that a summary preserves. A lower one of nested ARCHIVEs preserves more.
    pub(super) fn fidelity(&self, id: SummaryId) -> f64 {
        let Some(place) = self.place(id) else { return 0.0 };
        let level = place.summary.level;
        let kept = self.policy.fidelity.get(usize::from(level.number())).copied().map_or(0.0, f64::from);
        let storeys = if level == Level::Archive { place.height.unwrap_or(0).saturating_sub(2).min(64) } else { 0 };
        kept * (-f64::from(storeys)).exp2()
    }
}

#[cfg(test)]
mod tests;
