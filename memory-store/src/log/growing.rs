//! The tree over a conversation's leaves while the log is read, and how it stood where forks begin.

use std::collections::{BTreeMap, BTreeSet};

use memory_core::{Hash, MerkleFrontier};

/// So many leaves, and how many of them were verified.
#[derive(Clone, Debug, Default)]
pub(super) struct Standing {
    pub(super) tree: MerkleFrontier,
    pub(super) verified: u64,
}

/// A tree that grows, and is remembered as it was with certain numbers of leaves.
#[derive(Debug, Default)]
pub(super) struct Growing {
    now: Standing,
    then: BTreeMap<u64, Option<Standing>>,
}

impl Growing {
    /// One that is to be remembered with each of these numbers of leaves.
    pub(super) fn remembering(leaves: impl IntoIterator<Item = u64>) -> Self {
        Self { then: leaves.into_iter().map(|leaves| (leaves, None)).collect(), ..Self::default() }
    }

    /// One more number of leaves to be remembered with.
    pub(super) fn remember(&mut self, leaves: u64) {
        self.then.entry(leaves).or_default();
    }

    pub(super) fn len(&self) -> u64 {
        self.now.tree.len()
    }

    /// Adds the leaf of a message that was read.
    pub(super) fn push(&mut self, leaf: Hash, is_verified: bool) {
        self.now.tree.push(leaf);
        self.now.verified += u64::from(is_verified);
        self.note();
    }

    /// Adds what stands for the leaf of a lost message.
    pub(super) fn lose(&mut self) {
        self.push(Hash::from_bytes([0; 32]), false);
    }

    /// Begins a fork with what it shares.
    pub(super) fn begin(&mut self, shared: Standing) {
        self.now = shared;
        self.note();
    }

    fn note(&mut self) {
        if let Some(then) = self.then.get_mut(&self.now.tree.len()) {
            *then = Some(self.now.clone());
        }
    }

    /// As it stood with so many leaves, or stands while it has no more; `None` when that was not remembered.
    pub(super) fn with(&self, leaves: u64) -> Option<Standing> {
        if self.len() <= leaves {
            return Some(self.now.clone());
        }
        self.then.get(&leaves).cloned().flatten()
    }

    pub(super) fn finish(self) -> Standing {
        self.now
    }
}

/// Numbers of leaves to be remembered, by conversation.
pub(super) type Remembered = BTreeMap<u64, BTreeSet<u64>>;
