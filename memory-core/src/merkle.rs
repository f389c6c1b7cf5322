//! The append-only Merkle tree that proves a conversation whole.
//!
//! Shape as in [RFC 9162, section 2.1](https://www.rfc-editor.org/rfc/rfc9162#section-2.1) with
//! BLAKE3 as the hash: a leaf is `H(0x00 ‖ salt ‖ message)`, an inner node `H(0x01 ‖ left ‖ right)`.
//! The salt makes a leaf say nothing once salt and message are erased.

use crate::Hash;

/// Random bytes hashed with a message, in a leaf.
pub type Salt = [u8; 16];

const LEAF: u8 = 0;
const INNER: u8 = 1;

/// The leaf of a message from its [canonical bytes](crate::canonical_bytes).
#[must_use]
pub fn leaf_hash(salt: &Salt, canonical: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[LEAF]).update(salt).update(canonical);
    Hash::from_bytes(*hasher.finalize().as_bytes())
}

fn inner_hash(left: &Hash, right: &Hash) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[INNER]).update(left.as_bytes()).update(right.as_bytes());
    Hash::from_bytes(*hasher.finalize().as_bytes())
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

    /// How many leaves were pushed.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.leaves
    }

    /// Whether no leaf was pushed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.leaves == 0
    }

    /// Adds the next leaf.
    pub fn push(&mut self, leaf: Hash) {
        let mut subtree = leaf;
        // Each trailing one bit of the old count is a complete subtree of the size just completed.
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

    use super::*;

    /// MTH of RFC 9162 as it is written there.
    fn reference(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => Hash::from_bytes(*blake3::hash(&[]).as_bytes()),
            [leaf] => *leaf,
            _ => {
                let split = leaves.len().next_power_of_two() / 2;
                inner_hash(&reference(&leaves[..split]), &reference(&leaves[split..]))
            }
        }
    }

    proptest! {
        #[test]
        fn the_frontier_gives_the_root_of_the_rfc(count in 0usize..200) {
            let leaves: Vec<_> = (0..count).map(|i| leaf_hash(&[7; 16], &i.to_le_bytes())).collect();
            prop_assert_eq!(leaves.iter().copied().collect::<MerkleFrontier>().root(), reference(&leaves));
        }
    }
}
