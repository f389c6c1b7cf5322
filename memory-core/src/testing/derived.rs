//! The conformance suite of [`Derived`]: one set of checks that every kind of derived data passes.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a suite of tests: a breach panics")]

#[cfg(test)]
mod fake;

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    ConversationId, NodeId, NodeSet,
    port::{BoxFuture, Derived, DerivedSize, Forget, Forgotten},
};

/// The node that the suite forgets, which is derived together with others.
const GONE: u64 = 6;
/// Distance between flipped bytes.
const STRIDE: usize = 5;

/// Derived data under test. Nothing is derived at first.
pub trait DerivedUnderTest {
    /// The data as another process would open it.
    fn open(&self) -> Arc<dyn Derived>;

    /// Derives missing data up to a node, and saves it. The suite asks for `talk` and `other`, up to node 12.
    fn derive(&self, conversation: &ConversationId, through: u64);

    /// Nodes for which another process finds something.
    fn found(&self, conversation: &ConversationId) -> BTreeSet<u64>;

    /// True if derived data is attributed to conversations.
    fn is_by_conversation(&self) -> bool {
        true
    }

    /// Text that was embedded for a node, if the data is keyed by text.
    fn text(&self, _conversation: &ConversationId, _node: u64) -> Option<String> {
        None
    }

    /// All bytes at rest.
    fn at_rest(&self) -> Vec<u8>;

    /// Bytes at rest for this node alone, if any.
    fn bytes_of(&self, conversation: &ConversationId, node: u64) -> Option<Vec<u8>>;

    /// Flips a bit of byte number `nth` at rest; `false` if there are fewer bytes. A second call flips the bit back.
    fn flip(&self, nth: usize) -> bool;

    /// Runs a future to its end.
    fn block_on<'a, T>(&self, future: BoxFuture<'a, T>) -> T
    where
        Self: Sized;
}

/// Checks the contract of [`Derived`].
///
/// # Panics
/// When the data breaks the contract.
pub fn derived_conformance<D: DerivedUnderTest>(under_test: &D) {
    let suite = Suite { under_test, talk: id("talk"), other: id("other") };
    suite.nothing_is_derived_at_first();
    suite.sizes_grow_with_what_is_derived();
    suite.every_flipped_byte_is_found();
    suite.a_forgotten_node_is_gone();
    suite.a_forgotten_conversation_is_gone();
}

struct Suite<'a, D> {
    under_test: &'a D,
    talk: ConversationId,
    other: ConversationId,
}

fn id(name: &str) -> ConversationId {
    ConversationId::new(name).expect("a plain name")
}

fn nodes(first: u64, last: u64) -> BTreeSet<u64> {
    (first..=last).collect()
}

impl<D: DerivedUnderTest> Suite<'_, D> {
    fn total(&self) -> DerivedSize {
        self.under_test.block_on(self.under_test.open().holdings()).unwrap().total()
    }

    fn through(&self, conversation: &ConversationId) -> u64 {
        let holdings = self.under_test.block_on(self.under_test.open().holdings()).unwrap();
        holdings.of(conversation).map_or(0, |holding| holding.through)
    }

    fn faults(&self) -> usize {
        self.under_test.block_on(self.under_test.open().verify()).unwrap().len()
    }

    fn holds(&self, conversation: &ConversationId, node: u64) -> bool {
        let (all, sought) = (self.under_test.at_rest(), self.under_test.bytes_of(conversation, node));
        sought.is_some_and(|sought| all.windows(sought.len()).any(|bytes| bytes == sought))
    }

    /// Forgets some nodes of `talk`, or all of it; returns true if nothing remains in records of the log.
    fn forget(&self, which: Option<&BTreeSet<u64>>) -> bool {
        let (under_test, set) = (self.under_test, which.map(|nodes| nodes.iter().copied().filter_map(NodeId::new)));
        let set: Option<NodeSet> = set.map(Iterator::collect);
        let all = nodes(1, 12);
        let texts = which.unwrap_or(&all).iter().filter_map(|node| under_test.text(&self.talk, *node));
        let texts: Vec<String> = texts.collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let what = Forget { conversation: &self.talk, nodes: set.as_ref(), texts: Some(&texts) };
        match under_test.block_on(under_test.open().forget(&what)).unwrap() {
            Forgotten::All => true,
            Forgotten::InTheLog { left } => {
                assert!(left.count > 0 && left.disk > 0, "what is left is counted: {left:?}");
                false
            }
        }
    }

    fn nothing_is_derived_at_first(&self) {
        assert_eq!((self.total().count, self.total().disk), (0, 0));
        assert_eq!(self.faults(), 0);
        assert!(self.forget(None), "nothing is forgotten without a fault");
        assert_eq!((self.through(&self.talk), self.found(&self.talk)), (0, BTreeSet::new()));
    }

    fn found(&self, conversation: &ConversationId) -> BTreeSet<u64> {
        self.under_test.found(conversation)
    }

    fn sizes_grow_with_what_is_derived(&self) {
        let mut before = self.total();
        for (conversation, through) in [(&self.talk, 4), (&self.other, 4), (&self.talk, 8), (&self.talk, 12)] {
            self.under_test.derive(conversation, through);
            let after = self.total();
            assert!(after.disk > before.disk && after.count > before.count, "{after:?} after {before:?}");
            assert_eq!(self.found(conversation), nodes(1, through));
            if self.under_test.is_by_conversation() {
                assert_eq!(self.through(conversation), through);
            }
            assert_eq!(self.total(), after, "opened again");
            before = after;
        }
        assert!(
            [1, GONE, 12]
                .iter()
                .all(|node| { self.under_test.bytes_of(&self.talk, *node).is_none() || self.holds(&self.talk, *node) })
        );
    }

    fn every_flipped_byte_is_found(&self) {
        assert_eq!(self.faults(), 0);
        for nth in (0..).step_by(STRIDE) {
            if !self.under_test.flip(nth) {
                break;
            }
            assert!(self.faults() > 0, "byte {nth}");
            assert!(self.under_test.flip(nth));
        }
        assert_eq!(self.faults(), 0);
    }

    fn a_forgotten_node_is_gone(&self) {
        if !self.forget(Some(&nodes(GONE, GONE))) {
            assert_eq!(self.found(&self.talk), nodes(1, 12), "the log is as it was");
            return;
        }
        let left = self.found(&self.talk);
        assert!(!left.contains(&GONE) && left.is_subset(&nodes(1, 12)), "node {GONE} is forgotten: {left:?}");
        assert!(!self.holds(&self.talk, GONE), "no byte of it is left");
        assert_eq!(self.found(&self.other), nodes(1, 4));
        assert_eq!(self.faults(), 0, "what is left is whole");
        assert!(self.forget(Some(&nodes(GONE, GONE))), "a second time changes nothing");
        assert_eq!(self.found(&self.talk), left);
        // The log still has the node, so it may come back.
        self.under_test.derive(&self.talk, 12);
        let again = self.found(&self.talk);
        assert!(nodes(1, 12).iter().all(|node| *node == GONE || again.contains(node)), "{again:?}");
    }

    fn a_forgotten_conversation_is_gone(&self) {
        if !self.forget(None) {
            assert_eq!(self.found(&self.talk), nodes(1, 12), "the log is as it was");
            return;
        }
        assert_eq!((self.through(&self.talk), self.found(&self.talk)), (0, BTreeSet::new()));
        let holdings = self.under_test.block_on(self.under_test.open().holdings()).unwrap();
        assert!(holdings.of(&self.talk).is_none());
        assert!((1..=12).all(|node| !self.holds(&self.talk, node)), "no byte of it is left");
        assert_eq!(self.found(&self.other), nodes(1, 4));
        assert_eq!(self.faults(), 0);
    }
}
