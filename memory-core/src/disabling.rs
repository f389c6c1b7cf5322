//! Disabling: messages and summaries that are neither shown nor recalled until they are enabled, and never lost.

use std::collections::BTreeSet;

use crate::{Level, NodeId, NodeRange, SummaryId, Timestamp};

/// Text that a reader is given in the place of a disabled message or summary.
pub const DISABLED: &str = "[disabled]";

/// Tokens that [`DISABLED`] counts as.
pub const DISABLED_TOKENS: u32 = 4;

/// A change of what is disabled in one conversation.
///
/// From the moment it is recorded, every reader is given [`DISABLED`] in the place of the message or the summary, and no
/// summary that was made from what is disabled now, or without what is enabled now, is read. Nothing leaves the log: the
/// content is read by [`Source::whole_nodes`](crate::port::Source::whole_nodes), and enabling brings back what was there
/// before. The change concerns this conversation and the forks that are made of it later.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Disabling {
    /// Time of the change.
    pub at: Timestamp,
    /// Person or program that changed it; may be empty.
    pub by: String,
    /// True if they are disabled, false if they are enabled again.
    #[cfg_attr(feature = "serde", serde(rename = "disabled"))]
    pub is_disabled: bool,
    /// The messages, as runs in order; no two overlap or touch.
    pub nodes: Vec<NodeRange>,
    /// Numbers of the summaries, in order.
    pub summaries: Vec<SummaryId>,
}

impl Disabling {
    /// A change of nothing yet.
    #[must_use]
    pub fn new(at: Timestamp, is_disabled: bool) -> Self {
        Self { at, by: String::new(), is_disabled, nodes: Vec::new(), summaries: Vec::new() }
    }

    crate::setters! { into by: String }

    /// The messages of these runs, which may overlap and come in any order.
    #[must_use]
    pub fn nodes(mut self, nodes: Vec<NodeRange>) -> Self {
        self.nodes = NodeRange::merge(nodes);
        self
    }

    /// These summaries, in any order.
    #[must_use]
    pub fn summaries(mut self, mut summaries: Vec<SummaryId>) -> Self {
        summaries.sort_unstable();
        summaries.dedup();
        self.summaries = summaries;
        self
    }

    /// True if nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.summaries.is_empty()
    }
}

/// The changes of what is disabled in a conversation, for stores: each with its place, in the order of places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disablings<P> {
    all: Vec<Placed<P>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Placed<P> {
    place: P,
    change: Disabling,
    /// The summaries that are known, with level and span.
    summaries: Vec<(SummaryId, Level, NodeRange)>,
}

impl<P> Default for Disablings<P> {
    fn default() -> Self {
        Self { all: Vec::new() }
    }
}

impl<P: Copy + Ord> Disablings<P> {
    /// True if nothing was ever disabled.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Number of changes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The changes with their places, in order.
    pub fn iter(&self) -> impl Iterator<Item = (P, &Disabling)> {
        self.all.iter().map(|placed| (placed.place, &placed.change))
    }

    /// Adds the next change; `find` gives level and span of a summary.
    pub fn push(&mut self, place: P, change: Disabling, find: impl Fn(SummaryId) -> Option<(Level, NodeRange)>) {
        let known = |id: &SummaryId| find(*id).map(|(level, span)| (*id, level, span));
        let summaries = change.summaries.iter().filter_map(known).collect();
        self.all.push(Placed { place, change, summaries });
    }

    /// Disabled messages among the first `nodes`, for a fork that shares them.
    #[must_use]
    pub fn first(&self, nodes: u64) -> Self {
        let Some(shared) = NodeRange::first_n(nodes) else { return Self::default() };
        let cut = |placed: &Placed<P>| {
            let mut placed = placed.clone();
            placed.change.nodes = placed.change.nodes.iter().filter_map(|run| run.common(shared)).collect();
            (!placed.change.is_empty()).then_some(placed)
        };
        Self { all: self.all.iter().filter_map(cut).collect() }
    }

    /// True if the summary is disabled.
    #[must_use]
    pub fn has_summary(&self, id: SummaryId) -> bool {
        let last = self.all.iter().rev().find(|placed| placed.change.summaries.binary_search(&id).is_ok());
        last.is_some_and(|placed| placed.change.is_disabled)
    }

    /// True if the last change may concern summaries of these nodes.
    #[must_use]
    pub fn last_touches(&self, span: NodeRange) -> bool {
        self.all.last().is_some_and(|placed| placed.touches(span))
    }

    /// True if a summary of these nodes, recorded at `place`, was made from what is disabled now, or without what is
    /// enabled now.
    #[must_use]
    pub fn is_stale(&self, level: Level, span: NodeRange, place: P) -> bool {
        let (mut then, mut now) = (Below::default(), Below::default());
        let mut is_changed = false;
        for placed in self.all.iter().filter(|placed| placed.touches(span)) {
            if placed.place < place {
                then.apply(placed, level, span);
            } else {
                is_changed = true;
            }
            now.apply(placed, level, span);
        }
        is_changed && then != now
    }
}

impl<P> Placed<P> {
    fn touches(&self, span: NodeRange) -> bool {
        let spans = self.summaries.iter().map(|(_, _, span)| span);
        self.change.nodes.iter().chain(spans).any(|run| run.common(span).is_some())
    }
}

/// Disabled messages below a summary.
#[derive(Debug, Default, PartialEq, Eq)]
struct Below {
    /// Runs in order; no two overlap or touch.
    nodes: Vec<NodeRange>,
    summaries: BTreeSet<SummaryId>,
}

impl Below {
    fn apply<P>(&mut self, placed: &Placed<P>, level: Level, span: NodeRange) {
        let nodes = placed.change.nodes.iter().filter_map(|run| run.common(span));
        let is_below = |of: &&(SummaryId, Level, NodeRange)| of.1 < level && span.covers(of.2);
        let summaries = placed.summaries.iter().filter(is_below).map(|(id, ..)| *id);
        if placed.change.is_disabled {
            self.nodes = NodeRange::merge(self.nodes.iter().copied().chain(nodes).collect());
            self.summaries.extend(summaries);
        } else {
            for gone in nodes {
                self.nodes = self.nodes.iter().flat_map(|run| without(*run, gone)).collect();
            }
            for id in summaries {
                self.summaries.remove(&id);
            }
        }
    }
}

/// The parts of a run before and after another one.
fn without(run: NodeRange, gone: NodeRange) -> impl Iterator<Item = NodeRange> {
    let before = NodeId::new(gone.first().get() - 1).and_then(|last| NodeRange::new(run.first(), last.min(run.last())));
    let after = NodeRange::new(gone.last().next().max(run.first()), run.last());
    before.into_iter().chain(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(first: u64, last: u64) -> NodeRange {
        NodeRange::new(NodeId::new(first).unwrap(), NodeId::new(last).unwrap()).unwrap()
    }

    fn change(is_disabled: bool, first: u64, last: u64) -> Disabling {
        Disabling::new(Timestamp::default(), is_disabled).nodes(vec![span(first, last)])
    }

    #[test]
    fn summaries_are_of_the_time_when_the_same_was_disabled() {
        let mut all = Disablings::default();
        let stale = |all: &Disablings<u32>, place| all.is_stale(Level::Meta, span(1, 9), place);
        assert!(!stale(&all, 1));
        all.push(10, change(true, 3, 4), |_| None);
        assert_eq!([5, 15].map(|place| stale(&all, place)), [true, false]);
        assert!(!all.is_stale(Level::Meta, span(5, 9), 5), "of other messages");
        all.push(20, change(false, 4, 8), |_| None);
        assert_eq!([5, 15, 25].map(|place| stale(&all, place)), [true, true, false]);
        all.push(30, change(false, 3, 3), |_| None);
        assert_eq!([5, 15, 25, 35].map(|place| stale(&all, place)), [false, true, true, false]);
        assert_eq!(all.first(3).len(), 2, "the second is of none of the first three");
    }

    #[test]
    fn a_disabled_summary_makes_those_above_it_stale_and_no_other() {
        let id = SummaryId::new(7).unwrap();
        let of = |change: Disabling| change.summaries(vec![id]);
        let mut all = Disablings::default();
        let known = |_| Some((Level::Summary, span(3, 3)));
        all.push(10, of(Disabling::new(Timestamp::default(), true)), known);
        assert!(all.has_summary(id));
        assert!(all.is_stale(Level::Meta, span(1, 9), 5) && !all.is_stale(Level::Meta, span(1, 9), 15));
        assert!(!all.is_stale(Level::Summary, span(3, 3), 5) && !all.is_stale(Level::Meta, span(4, 9), 5));
        all.push(20, of(Disabling::new(Timestamp::default(), false)), known);
        assert!(!all.has_summary(id) && !all.is_stale(Level::Meta, span(1, 9), 5));
    }
}
