//! A mutable set of nodes, held as runs.

use std::collections::BTreeMap;

use crate::{NodeId, NodeRange};

/// A set of nodes as runs that neither overlap nor touch.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    /// Each run's last node by its first.
    runs: BTreeMap<NodeId, NodeId>,
    count: u64,
}

impl Runs {
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = NodeRange> {
        self.runs.iter().filter_map(|(first, last)| NodeRange::new(*first, *last))
    }

    /// Adds a run, no node of which is in the set.
    pub(super) fn add(&mut self, run: NodeRange) {
        self.count += run.count();
        let (mut first, mut last) = (run.first(), run.last());
        if let Some((before, end)) = self.runs.range(..first).next_back().map(|(before, end)| (*before, *end))
            && end.next() == first
        {
            first = before;
        }
        if let Some(end) = self.runs.remove(&last.next()) {
            last = end;
        }
        self.runs.insert(first, last);
    }

    /// True if all nodes of a run are in the set.
    pub(super) fn covers(&self, run: NodeRange) -> bool {
        let before = self.runs.range(..=run.first()).next_back();
        before.is_some_and(|(_, end)| run.last() <= *end)
    }

    /// Removes a run, all nodes of which are in the set.
    pub(super) fn take(&mut self, run: NodeRange) {
        let Some((first, last)) = self.runs.range(..=run.first()).next_back().map(|(first, last)| (*first, *last))
        else {
            return;
        };
        self.count -= run.count();
        self.runs.remove(&first);
        if let Some(before) = run.first().previous().filter(|before| first <= *before) {
            self.runs.insert(first, before);
        }
        if run.last() < last {
            self.runs.insert(run.last().next(), last);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_are_the_set_that_was_added_and_not_taken(steps in prop::collection::vec((1u64..60, 0u64..9), 0..60)) {
            let mut plain = BTreeSet::new();
            let mut runs = Runs::default();
            for (first, more) in steps {
                let run = NodeRange::new(NodeId::new(first).unwrap(), NodeId::new(first + more).unwrap()).unwrap();
                let nodes: BTreeSet<_> = run.iter().collect();
                let there = nodes.is_subset(&plain);
                prop_assert_eq!(runs.covers(run), there);
                if there {
                    runs.take(run);
                    plain.retain(|node| !nodes.contains(node));
                } else if nodes.is_disjoint(&plain) {
                    runs.add(run);
                    plain.extend(nodes);
                }
                prop_assert_eq!(runs.count(), plain.len() as u64);
                let all: Vec<_> = plain.iter().copied().map(NodeRange::single).collect();
                prop_assert!(runs.iter().eq(NodeRange::merge(all)));
            }
        }
    }
}
