//! Proof that a tree only grew: RFC 9162, section 2.1.4.

use super::{
    MerkleFrontier, ProofError,
    climb::{Climb, Side},
    halves, inner_hash, root_of,
};
use crate::Hash;

/// The hashes that lead from an earlier tree to the later one.
///
/// The sizes are part of the proof, not of the roots: trust a root only together with the size it was given with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsistencyProof {
    /// Leaves in the earlier tree, at least 1.
    pub earlier: u64,
    /// Leaves in the later tree, no fewer.
    pub size: u64,
    /// Roots of subtrees, the lowest first, at most 65; empty when nothing was added.
    pub path: Vec<Hash>,
}

impl ConsistencyProof {
    /// The proof that the first `earlier` of `leaves` are the tree of that size, as section 2.1.4.1 defines it, from
    /// fewer hashes than there are leaves. If the tree has not grown, the path is empty.
    ///
    /// # Errors
    /// [`ProofError::NotEarlier`].
    pub fn new(leaves: &[Hash], earlier: u64) -> Result<Self, ProofError> {
        let size = leaves.len() as u64;
        let not_earlier = ProofError::NotEarlier { earlier, size };
        let mut first =
            usize::try_from(earlier).ok().filter(|first| (1..=leaves.len()).contains(first)).ok_or(not_earlier)?;
        let mut subtree = leaves;
        let mut path = Vec::new();
        while first < subtree.len() {
            let (left, right) = halves(subtree);
            if first <= left.len() {
                path.push(root_of(right));
                subtree = left;
            } else {
                path.push(root_of(left));
                first -= left.len();
                subtree = right;
            }
        }
        // The verifier has the earlier root, so a complete earlier tree is left out.
        if subtree.len() as u64 != earlier {
            path.push(root_of(subtree));
        }
        path.reverse();
        Ok(Self { earlier, size, path })
    }

    /// Checks that the path leads to both roots, by the algorithm of section 2.1.4.2. That algorithm requires a tree
    /// that has grown. Trees of one size are consistent when their roots are equal and the path is empty.
    ///
    /// # Errors
    /// [`ProofError`] when the proof does not hold.
    pub fn verify(&self, earlier_root: &Hash, root: &Hash) -> Result<(), ProofError> {
        let Self { earlier, size, ref path } = *self;
        let too_long = ProofError::PathTooLong { length: path.len(), size };
        if !(1..=size).contains(&earlier) {
            return Err(ProofError::NotEarlier { earlier, size });
        }
        if earlier == size {
            return match path.as_slice() {
                [] if earlier_root == root => Ok(()),
                [] => Err(ProofError::OtherRoot { claimed: *root, found: *earlier_root }),
                [..] => Err(too_long),
            };
        }
        let too_short = ProofError::PathTooShort { length: path.len(), size };
        let (lowest, rest) = match path.split_first() {
            None => return Err(too_short),
            Some(_) if earlier.is_power_of_two() => (earlier_root, path.as_slice()),
            Some(split) => split,
        };
        let mut climb = Climb::from_leaf(earlier - 1, size - 1);
        climb.skip_right_children();
        let (mut found_earlier, mut found) = (*lowest, *lowest);
        for subtree in rest {
            if climb.at_root() {
                return Err(too_long);
            }
            match climb.step() {
                Side::Left => {
                    found_earlier = inner_hash(subtree, &found_earlier);
                    found = inner_hash(subtree, &found);
                }
                Side::Right => found = inner_hash(&found, subtree),
            }
        }
        if !climb.at_root() {
            return Err(too_short);
        }
        if found_earlier != *earlier_root {
            return Err(ProofError::OtherEarlierRoot { claimed: *earlier_root, found: found_earlier });
        }
        if found == *root { Ok(()) } else { Err(ProofError::OtherRoot { claimed: *root, found }) }
    }
}

/// Number of first `leaves` whose tree has this root; at least one. Computes O(n log n) hashes for n leaves.
#[must_use]
pub fn size_with_root(leaves: &[Hash], root: &Hash) -> Option<u64> {
    let mut frontier = MerkleFrontier::new();
    leaves.iter().find_map(|leaf| {
        frontier.push(*leaf);
        (frontier.root() == *root).then_some(frontier.len())
    })
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::Index};

    use super::{
        super::reference::{self, flip, leaves},
        *,
    };

    fn roots(leaves: &[Hash], earlier: usize) -> (Hash, Hash) {
        (reference::root(&leaves[..earlier]), reference::root(leaves))
    }

    /// The example of section 2.1.5.
    #[test]
    fn the_example_of_the_rfc() {
        let d = leaves(7);
        let node = |range: std::ops::Range<usize>| reference::root(&d[range]);
        let (g, i, j) = (node(0..2), node(4..6), d[6]);
        let (k, l) = (node(0..4), node(4..7));
        let check =
            |earlier, path: &[Hash]| assert_eq!(ConsistencyProof::new(&d, earlier).unwrap().path, path, "{earlier}");
        check(3, &[d[2], d[3], g, l]);
        check(4, &[l]);
        check(6, &[i, j, k]);
    }

    #[test]
    fn every_earlier_state_of_small_trees_is_proven() {
        for size in 0..=70 {
            let leaves = leaves(size);
            for earlier in 1..=size {
                let proof = ConsistencyProof::new(&leaves, earlier as u64).unwrap();
                assert_eq!(proof.path, reference::consistency_path(&leaves, earlier), "{earlier} of {size}");
                let (first, second) = roots(&leaves, earlier);
                proof.verify(&first, &second).unwrap();
                assert_eq!(size_with_root(&leaves, &first), Some(earlier as u64));
            }
            for earlier in [0, size as u64 + 1, u64::MAX] {
                let error = ProofError::NotEarlier { earlier, size: size as u64 };
                assert_eq!(ConsistencyProof::new(&leaves, earlier), Err(error));
            }
        }
    }

    #[test]
    fn a_root_that_never_was_has_no_size() {
        let leaves = leaves(9);
        let never = [reference::root(&[]), flip(reference::root(&leaves), 3), reference::root(&leaves[1..])];
        assert_eq!(never.map(|root| size_with_root(&leaves, &root)), [None; 3]);
    }

    #[test]
    fn a_tree_that_has_not_grown_is_itself_and_nothing_else() {
        let leaves = leaves(6);
        let root = reference::root(&leaves);
        let mut proof = ConsistencyProof::new(&leaves, 6).unwrap();
        assert_eq!((proof.path.len(), proof.verify(&root, &root)), (0, Ok(())));
        assert_eq!(
            proof.verify(&root, &flip(root, 0)),
            Err(ProofError::OtherRoot { claimed: flip(root, 0), found: root })
        );
        proof.path.push(root);
        assert_eq!(proof.verify(&root, &root), Err(ProofError::PathTooLong { length: 1, size: 6 }));
    }

    #[test]
    fn absurd_sizes_are_refused_without_work() {
        let [hash] = leaves(1)[..] else { panic!() };
        for (earlier, size) in [(0, 0), (0, 7), (8, 7), (u64::MAX, 1)] {
            let proof = ConsistencyProof { earlier, size, path: vec![hash] };
            assert_eq!(proof.verify(&hash, &hash), Err(ProofError::NotEarlier { earlier, size }));
        }
        for earlier in [1, 2, 1 << 63, (1 << 63) + 1, u64::MAX - 1] {
            for length in [0, 1, 64, 65, 66, 1000] {
                let proof = ConsistencyProof { earlier, size: u64::MAX, path: vec![hash; length] };
                proof.verify(&hash, &hash).unwrap_err();
            }
        }
    }

    proptest! {
        #[test]
        fn the_path_is_that_of_the_definition(size in 1usize..1500, at: Index) {
            let (leaves, earlier) = (leaves(size), at.index(size) + 1);
            let proof = ConsistencyProof::new(&leaves, earlier as u64).unwrap();
            prop_assert_eq!(&proof.path, &reference::consistency_path(&leaves, earlier));
            let (first, second) = roots(&leaves, earlier);
            prop_assert_eq!(proof.verify(&first, &second), Ok(()));
        }

        #[test]
        fn a_changed_proof_does_not_hold(size in 2usize..300, at: Index, which: Index, bit in 0usize..256, other: Index) {
            let (leaves, earlier) = (leaves(size), at.index(size - 1) + 1);
            let (first, second) = roots(&leaves, earlier);
            let whole = ConsistencyProof::new(&leaves, earlier as u64).unwrap();
            let refused = |path: &[Hash]| {
                let changed = ConsistencyProof { path: path.to_vec(), ..whole };
                path == whole.path || changed.verify(&first, &second).is_err()
            };
            let which = which.index(whole.path.len());

            let mut path = whole.path.clone();
            path[which] = flip(path[which], bit);
            prop_assert!(refused(&path), "flipped");
            let mut path = whole.path.clone();
            path.swap(which, other.index(whole.path.len()));
            prop_assert!(refused(&path), "swapped");
            let mut path = whole.path.clone();
            path.remove(which);
            prop_assert!(refused(&path), "dropped");
            for added in [whole.path[which], first, second] {
                let mut path = whole.path.clone();
                path.insert(other.index(path.len() + 1), added);
                prop_assert!(refused(&path), "added");
            }
            prop_assert!(whole.verify(&flip(first, bit), &second).is_err(), "another earlier root");
            prop_assert!(whole.verify(&first, &flip(second, bit)).is_err(), "another root");
        }

        /// A change of an earlier message cannot be hidden.
        #[test]
        fn a_changed_history_has_no_proof(size in 2usize..200, at: Index, changed: Index, bit in 0usize..256) {
            let (mut leaves, earlier) = (leaves(size), at.index(size - 1) + 1);
            let first = reference::root(&leaves[..earlier]);
            let changed = changed.index(earlier);
            leaves[changed] = flip(leaves[changed], bit);
            prop_assert_eq!(size_with_root(&leaves, &first), None);
            let forged = ConsistencyProof::new(&leaves, earlier as u64).unwrap();
            prop_assert!(forged.verify(&first, &reference::root(&leaves)).is_err());
        }

        /// A path holds for other sizes only where both trees are computed from it in the same way.
        #[test]
        fn other_sizes_hold_only_where_both_trees_are_spelled_the_same(
            size in 2usize..70, at: Index, other in 0usize..140, other_earlier in 0usize..140,
        ) {
            let (leaves, earlier) = (leaves(size), at.index(size - 1) + 1);
            let (first, second) = roots(&leaves, earlier);
            let whole = ConsistencyProof::new(&leaves, earlier as u64).unwrap();
            let claimed = ConsistencyProof { earlier: other_earlier as u64, size: other as u64, path: whole.path.clone() };
            let length = whole.path.len();
            let terms = |earlier, size| reference::consistency_terms(size, earlier, length);
            let same = terms(other_earlier, other) == terms(earlier, size);
            prop_assert_eq!(claimed.verify(&first, &second).is_ok(), same);
        }
    }
}
