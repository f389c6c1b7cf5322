//! The tree over a conversation's leaves while the log is read, and its state where forks begin.

use std::collections::{BTreeMap, BTreeSet};

use memory_core::{Hash, proof::MerkleFrontier};

/// A tree, and the number of its verified leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    pub(crate) tree: MerkleFrontier,
    pub(crate) verified: u64,
    /// Number of leaves whose message was erased.
    pub(crate) erased: u64,
}

/// A growing tree that remembers its state at chosen numbers of leaves.
#[derive(Debug, Default)]
pub(crate) struct MerkleBuilder {
    now: Standing,
    then: BTreeMap<u64, Option<Standing>>,
}

impl MerkleBuilder {
    /// A tree that remembers its state at each of these numbers of leaves.
    pub(crate) fn remembering(leaves: impl IntoIterator<Item = u64>) -> Self {
        Self { then: leaves.into_iter().map(|leaves| (leaves, None)).collect(), ..Self::default() }
    }

    /// Adds a number of leaves at which to remember the state.
    pub(crate) fn remember(&mut self, leaves: u64) {
        self.then.entry(leaves).or_default();
    }

    pub(crate) fn len(&self) -> u64 {
        self.now.tree.len()
    }

    /// Adds the leaf of a message that was read.
    pub(crate) fn push(&mut self, leaf: Hash, is_verified: bool) {
        self.now.tree.push(leaf);
        self.now.verified += u64::from(is_verified);
        self.note();
    }

    /// Adds the leaf of a message that was erased.
    pub(crate) fn push_erased(&mut self, leaf: Hash) {
        self.now.erased += 1;
        self.push(leaf, false);
    }

    /// Adds a placeholder for the leaf of a lost message.
    pub(crate) fn lose(&mut self) {
        self.push(Hash::from_bytes([0; 32]), false);
    }

    /// Begins a fork with its shared prefix.
    pub(crate) fn begin(&mut self, shared: Standing) {
        self.now = shared;
        self.note();
    }

    fn note(&mut self) {
        if let Some(then) = self.then.get_mut(&self.now.tree.len()) {
            *then = Some(self.now.clone());
        }
    }

    /// The state with `leaves` leaves, or the present one if that has no more; `None` if not remembered.
    pub(crate) fn with(&self, leaves: u64) -> Option<Standing> {
        if self.len() <= leaves {
            return Some(self.now.clone());
        }
        self.then.get(&leaves).cloned().flatten()
    }

    pub(crate) fn finish(self) -> Standing {
        self.now
    }
}

/// Numbers of leaves at which to remember the state, by conversation.
pub(crate) type Remembered = BTreeMap<u64, BTreeSet<u64>>;
