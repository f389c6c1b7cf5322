//! Nodes with a recent change of importance or pin, for readers that follow a conversation.

use std::collections::{BTreeSet, VecDeque};

use memory_core::NodeId;

/// Most changes that are kept; a reader further back reads everything.
const MOST: usize = 4096;

/// The latest changes of importances and pins of one conversation.
#[derive(Debug, Default)]
pub(crate) struct Revised {
    latest: VecDeque<NodeId>,
    total: u64,
}

impl Revised {
    /// Number of changes.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn push(&mut self, node: NodeId) {
        if self.latest.len() == MOST {
            self.latest.pop_front();
        }
        self.latest.push_back(node);
        self.total += 1;
    }

    /// The nodes that were changed after the first `known` changes, each once; `None` when those are no longer kept.
    pub(crate) fn since(&self, known: u64) -> Option<BTreeSet<NodeId>> {
        let new = usize::try_from(self.total.checked_sub(known)?).ok()?;
        let skip = self.latest.len().checked_sub(new)?;
        Some(self.latest.iter().skip(skip).copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_long_ago_is_not_known_any_more() {
        let mut revised = Revised::default();
        let node = |index: usize| NodeId::from_index(index % 7);
        for index in 0..MOST + 3 {
            revised.push(node(index));
        }
        let total = revised.total();
        assert_eq!(revised.since(total), Some(BTreeSet::new()));
        assert_eq!(revised.since(total - 2), Some([node(MOST + 1), node(MOST + 2)].into()));
        assert_eq!(revised.since(3).map(|nodes| nodes.len()), Some(7));
        assert_eq!((revised.since(2), revised.since(total + 1)), (None, None));
    }
}
