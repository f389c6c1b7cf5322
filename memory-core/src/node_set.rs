//! Sets of nodes.

use crate::{NodeId, NodeRange};

/// Nodes of one conversation, held as runs: small where nodes are adjacent, and quick to iterate and to query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSet {
    /// Runs in order; no two overlap or touch.
    runs: Vec<NodeRange>,
    len: u64,
}

impl NodeSet {
    /// The set of the nodes of these runs, which may overlap and come in any order.
    #[must_use]
    pub fn of_runs(runs: Vec<NodeRange>) -> Self {
        let runs = NodeRange::merge(runs);
        Self { len: runs.iter().map(|run| run.count()).sum(), runs }
    }

    /// The runs, in order; no two overlap or touch.
    #[must_use]
    pub fn runs(&self) -> &[NodeRange] {
        &self.runs
    }

    /// Number of nodes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True if the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// True if `node` is in the set.
    #[must_use]
    pub fn contains(&self, node: NodeId) -> bool {
        let behind = self.runs.partition_point(|run| run.last() < node);
        self.runs.get(behind).is_some_and(|run| run.contains(node))
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<T: IntoIterator<Item = NodeId>>(nodes: T) -> Self {
        let mut runs: Vec<NodeRange> = Vec::new();
        for node in nodes {
            match runs.last_mut() {
                Some(run) if run.last().next() == node => *run = run.hull(NodeRange::single(node)),
                _ => runs.push(NodeRange::single(node)),
            }
        }
        Self::of_runs(runs)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_set_holds_what_was_put_in(nodes in prop::collection::vec(1u64..60, 0..80)) {
            let plain: BTreeSet<u64> = nodes.iter().copied().collect();
            let set: NodeSet = nodes.iter().copied().filter_map(NodeId::new).collect();
            prop_assert_eq!(set.len(), plain.len() as u64);
            prop_assert_eq!(set.is_empty(), plain.is_empty());
            for node in 1..70 {
                prop_assert_eq!(set.contains(NodeId::new(node).unwrap()), plain.contains(&node));
            }
            let walked: Vec<u64> = set.runs().iter().flat_map(|run| run.iter()).map(NodeId::get).collect();
            prop_assert_eq!(walked, plain.into_iter().collect::<Vec<_>>());
            prop_assert!(set.runs().windows(2).all(|pair| pair[0].last().next() < pair[1].first()));
        }
    }
}
