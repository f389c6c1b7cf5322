//! Runs of nodes.

use std::fmt;

use crate::NodeId;

/// A run of nodes, both ends included; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeRange {
    first: NodeId,
    last: NodeId,
}

impl NodeRange {
    /// The nodes from `first` to `last`; `None` when `last` comes before `first`.
    #[must_use]
    pub fn new(first: NodeId, last: NodeId) -> Option<Self> {
        (first <= last).then_some(Self { first, last })
    }

    /// The run of one node.
    #[must_use]
    pub const fn single(node: NodeId) -> Self {
        Self { first: node, last: node }
    }

    /// The first `count` nodes of a conversation; `None` for 0.
    #[must_use]
    pub fn first_n(count: u64) -> Option<Self> {
        NodeId::new(count).map(|last| Self { first: NodeId::FIRST, last })
    }

    /// The first node.
    #[must_use]
    pub const fn first(self) -> NodeId {
        self.first
    }

    /// The last node.
    #[must_use]
    pub const fn last(self) -> NodeId {
        self.last
    }

    /// Number of nodes, at least 1.
    #[must_use]
    pub fn count(self) -> u64 {
        self.last.get() - self.first.get() + 1
    }

    /// True if `node` lies in the run.
    #[must_use]
    pub fn contains(self, node: NodeId) -> bool {
        self.first <= node && node <= self.last
    }

    /// True if `other` lies wholly in the run.
    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }

    /// True if `other` begins right after this run.
    #[must_use]
    pub fn is_followed_by(self, other: Self) -> bool {
        self.last.next() == other.first
    }

    /// The smallest run that contains both.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self { first: self.first.min(other.first), last: self.last.max(other.last) }
    }

    /// The run with `radius` more nodes on both sides, limited to a conversation of `total` nodes.
    #[must_use]
    pub fn widen(self, radius: u64, total: u64) -> Self {
        let first = NodeId::new(self.first.get().saturating_sub(radius)).unwrap_or(NodeId::FIRST);
        let wide = self.last.get().saturating_add(radius).min(total);
        let last = NodeId::new(wide).unwrap_or(self.last).max(self.last);
        Self { first, last }
    }

    /// The nodes in order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = NodeId> {
        (self.first.get()..=self.last.get()).filter_map(NodeId::new)
    }

    /// The nodes that are in this run and in `other`, if any.
    #[must_use]
    pub fn common(self, other: Self) -> Option<Self> {
        Self::new(self.first.max(other.first), self.last.min(other.last))
    }

    /// Sorts runs and joins those that overlap or touch.
    #[must_use]
    pub fn merge(mut runs: Vec<Self>) -> Vec<Self> {
        runs.sort_unstable();
        let mut merged: Vec<Self> = Vec::with_capacity(runs.len());
        for run in runs {
            match merged.last_mut() {
                Some(open) if run.first <= open.last.next() => open.last = open.last.max(run.last),
                _ => merged.push(run),
            }
        }
        merged
    }
}

impl fmt::Display for NodeRange {
    /// `7` for one node, `7-12` for several.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last { self.first.fmt(f) } else { write!(f, "{}-{}", self.first, self.last) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn run(first: u64, last: u64) -> NodeRange {
        NodeRange::new(NodeId::new(first).unwrap(), NodeId::new(last).unwrap()).unwrap()
    }

    #[test]
    fn widening_stops_at_the_ends() {
        assert_eq!(run(2, 3).widen(2, 10), run(1, 5));
        assert_eq!(run(9, 9).widen(2, 10), run(7, 10));
    }

    proptest! {
        #[test]
        fn merging_keeps_the_set_and_leaves_gaps(pairs in prop::collection::vec((1u64..60, 0u64..8), 0..20)) {
            let runs: Vec<_> = pairs.iter().map(|&(first, more)| run(first, first + more)).collect();
            let before: BTreeSet<_> = runs.iter().flat_map(|r| r.iter()).collect();
            let merged = NodeRange::merge(runs);
            let after: Vec<_> = merged.iter().flat_map(|r| r.iter()).collect();
            prop_assert!(merged.windows(2).all(|w| w[0].last().next() < w[1].first()));
            prop_assert_eq!(before.into_iter().collect::<Vec<_>>(), after);
        }
    }
}
