//! Times and lowest source of the messages of a run, cached so that no turn reads all of them.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use memory_core::{NodeId, NodeRange, Timestamp, plan::Tree};

use crate::SourceClass;

/// Most messages of a run that is read each time.
const SHORT: u64 = 64;
/// Most runs that are kept; a view shows some dozens.
const MOST: usize = 512;

/// Facts over all outlines of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunFacts {
    /// First and last known time; the epoch if none is known.
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    /// The lowest source.
    pub(crate) source: Option<SourceClass>,
}

impl RunFacts {
    fn of(tree: &Tree, run: NodeRange) -> Self {
        run.iter().filter_map(|node| tree.node(node)).fold(Self::default(), |facts, outline| {
            facts.and(Self { from: outline.at, to: outline.at, source: Some(SourceClass::of_outline(outline)) })
        })
    }

    fn and(self, other: Self) -> Self {
        let known = |a: Timestamp, b: Timestamp, better: fn(Timestamp, Timestamp) -> Timestamp| match (
            a.is_known(),
            b.is_known(),
        ) {
            (true, true) => better(a, b),
            (true, false) => a,
            _ => b,
        };
        Self {
            from: known(self.from, other.from, Timestamp::min),
            to: known(self.to, other.to, Timestamp::max),
            source: [self.source, other.source].into_iter().flatten().min(),
        }
    }
}

/// The facts of the runs of a conversation. Times and speakers of messages never change.
#[derive(Debug, Default)]
pub(crate) struct RunFactsCache(Mutex<BTreeMap<(NodeId, NodeId), RunFacts>>);

impl RunFactsCache {
    /// The facts of a run. Only the parts of a long run outside of the cached ones are read, so a summary that grew
    /// costs only the added messages.
    pub(crate) fn of(&self, tree: &Tree, run: NodeRange) -> RunFacts {
        if run.count() <= SHORT {
            return RunFacts::of(tree, run);
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut facts, mut next, last) = (RunFacts::default(), run.first(), run.last());
        while next <= last {
            let longest = known.range((next, next)..=(next, last)).next_back();
            let (here, end) = match longest {
                Some((&(_, end), &there)) => (there, end),
                None => {
                    let behind =
                        known.range((next.next(), next.next())..).next().map(|((first, _), _)| first.get() - 1);
                    let end = behind.and_then(NodeId::new).map_or(last, |end| end.min(last));
                    (NodeRange::new(next, end).map(|part| RunFacts::of(tree, part)).unwrap_or_default(), end)
                }
            };
            facts = facts.and(here);
            next = end.next();
        }
        if known.len() >= MOST {
            known.clear();
        }
        known.insert((run.first(), last), facts);
        facts
    }
}

#[cfg(test)]
mod tests {
    use memory_core::{Message, Node, port::Changes};
    use proptest::prelude::*;

    use super::*;

    fn tree(times: &[i64]) -> Tree {
        let mut changes = Changes::default();
        for (index, at) in times.iter().enumerate() {
            let message = if at % 3 == 0 { Message::assistant("so") } else { Message::user("so") };
            let node = Node::new(NodeId::from_index(index), message, Timestamp::from_millis(*at));
            changes.nodes.push(memory_core::NodeOutline::of(&node));
        }
        Tree::of(changes)
    }

    proptest! {
        #[test]
        fn a_run_in_any_order_has_the_facts_of_its_messages(
            times in prop::collection::vec(0i64..50, 400),
            runs in prop::collection::vec((0usize..400, 0usize..400), 1..12),
        ) {
            let (tree, facts) = (tree(&times), RunFactsCache::default());
            for (a, b) in runs {
                let run = NodeRange::new(NodeId::from_index(a.min(b)), NodeId::from_index(a.max(b))).unwrap();
                prop_assert_eq!(facts.of(&tree, run), RunFacts::of(&tree, run));
                let known = times.get(a.min(b)..=a.max(b)).unwrap().iter().filter(|at| **at != 0);
                prop_assert_eq!(RunFacts::of(&tree, run).from.as_millis(), known.clone().min().copied().unwrap_or(0));
                prop_assert_eq!(RunFacts::of(&tree, run).to.as_millis(), known.max().copied().unwrap_or(0));
            }
        }
    }
}
