//! The append-only Merkle tree over a conversation.
//!
//! Shape and proofs follow [RFC 9162, section 2.1](https://www.rfc-editor.org/rfc/rfc9162#section-2.1) with BLAKE3 as
//! the hash: a leaf is `H(0x00 ‖ salt ‖ message)`, an inner node `H(0x01 ‖ left ‖ right)`. The salt makes a leaf reveal
//! nothing once salt and message are erased.

mod climb;
mod consistency;
mod error;
mod inclusion;
#[cfg(test)]
mod reference;

pub use consistency::{ConsistencyProof, size_with_root};
pub use error::ProofError;
pub use inclusion::InclusionProof;

use crate::Hash;

/// Random bytes that are hashed with a message into its leaf.
pub type Salt = [u8; 16];

pub(crate) const LEAF: u8 = 0;
const INNER: u8 = 1;

/// The leaf of a message from its [canonical bytes](crate::proof::canonical_bytes).
#[must_use]
pub fn leaf_hash(salt: &Salt, canonical: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[LEAF]).update(salt).update(canonical);
    Hash::from_bytes(*hasher.finalize().as_bytes())
}

fn inner_hash(left: &Hash, right: &Hash) -> Hash {
    let mut input = [INNER; 65];
    let (_, hashes) = input.split_at_mut(1);
    let (first, second) = hashes.split_at_mut(32);
    first.copy_from_slice(left.as_bytes());
    second.copy_from_slice(right.as_bytes());
    // One piece of input, since BLAKE3 is faster then.
    Hash::from_bytes(*blake3::hash(&input).as_bytes())
}

/// The root over some leaves: n - 1 hashes for n of them.
fn root_of(leaves: &[Hash]) -> Hash {
    leaves.iter().copied().collect::<MerkleFrontier>().root()
}

/// Splits two leaves or more as the tree does: the left part has the largest power of two smaller than their number.
fn halves(leaves: &[Hash]) -> (&[Hash], &[Hash]) {
    leaves.split_at(leaves.len().next_power_of_two() / 2)
}

/// The right edge of a growing tree: one hash for each complete subtree, at most 64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MerkleFrontier {
    leaves: u64,
    /// Roots of complete subtrees, largest first; one for each bit set in `leaves`.
    peaks: Vec<Hash>,
}

impl MerkleFrontier {
    /// The empty tree.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of pushed leaves.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.leaves
    }

    /// True if no leaf was pushed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.leaves == 0
    }

    /// Adds the next leaf.
    pub fn push(&mut self, leaf: Hash) {
        let mut subtree = leaf;
        // Each trailing one bit of the old count is a complete subtree of the size that was just completed.
        for _ in 0..self.leaves.trailing_ones() {
            if let Some(left) = self.peaks.pop() {
                subtree = inner_hash(&left, &subtree);
            }
        }
        self.peaks.push(subtree);
        self.leaves += 1;
    }

    /// The root over all leaves; the hash of nothing for the empty tree.
    #[must_use]
    pub fn root(&self) -> Hash {
        let mut peaks = self.peaks.iter().rev();
        match peaks.next() {
            Some(smallest) => peaks.fold(*smallest, |right, left| inner_hash(left, &right)),
            None => Hash::from_bytes(*blake3::hash(&[]).as_bytes()),
        }
    }
}

impl FromIterator<Hash> for MerkleFrontier {
    fn from_iter<I: IntoIterator<Item = Hash>>(leaves: I) -> Self {
        let mut frontier = Self::new();
        leaves.into_iter().for_each(|leaf| frontier.push(leaf));
        frontier
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        reference::{leaves, root},
        *,
    };

    proptest! {
        #[test]
        fn the_frontier_gives_the_root_of_the_rfc(count in 0usize..200) {
            let leaves = leaves(count);
            prop_assert_eq!(root_of(&leaves), root(&leaves));
        }
    }
}
