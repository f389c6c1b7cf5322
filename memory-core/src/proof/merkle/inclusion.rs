//! Proof that a leaf is in a tree: RFC 9162, section 2.1.3.

use super::{
    ProofError,
    climb::{Climb, Side},
    halves, inner_hash, root_of,
};
use crate::Hash;

/// The hashes that lead from a leaf to the root.
///
/// Index and size are part of the proof, not of the root: if a leaf has the same path in trees of different sizes, the
/// path proves it in each. Trust a root only together with the size it was given with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InclusionProof {
    /// Position of the leaf, from 0.
    pub index: u64,
    /// Leaves in the tree.
    pub size: u64,
    /// Siblings on the path, the lowest first; at most 64.
    pub path: Vec<Hash>,
}

impl InclusionProof {
    /// The proof for the leaf at `index`, from 0, as section 2.1.3.1 defines it, from fewer hashes than there are
    /// leaves.
    ///
    /// # Errors
    /// [`ProofError::NoLeaf`].
    pub fn new(leaves: &[Hash], index: u64) -> Result<Self, ProofError> {
        let size = leaves.len() as u64;
        let no_leaf = ProofError::NoLeaf { index, size };
        let mut at = usize::try_from(index).ok().filter(|at| *at < leaves.len()).ok_or(no_leaf)?;
        let mut subtree = leaves;
        let mut path = Vec::new();
        while subtree.len() > 1 {
            let (left, right) = halves(subtree);
            if at < left.len() {
                path.push(root_of(right));
                subtree = left;
            } else {
                path.push(root_of(left));
                at -= left.len();
                subtree = right;
            }
        }
        path.reverse();
        Ok(Self { index, size, path })
    }

    /// Checks that the path leads from `leaf` to `root`, by the algorithm of section 2.1.3.2.
    ///
    /// # Errors
    /// [`ProofError`] when the proof does not hold.
    pub fn verify(&self, leaf: &Hash, root: &Hash) -> Result<(), ProofError> {
        let Self { index, size, ref path } = *self;
        if index >= size {
            return Err(ProofError::NoLeaf { index, size });
        }
        let mut climb = Climb::from_leaf(index, size - 1);
        let mut found = *leaf;
        for sibling in path {
            if climb.at_root() {
                return Err(ProofError::PathTooLong { length: path.len(), size });
            }
            found = match climb.step() {
                Side::Left => inner_hash(sibling, &found),
                Side::Right => inner_hash(&found, sibling),
            };
        }
        if !climb.at_root() {
            return Err(ProofError::PathTooShort { length: path.len(), size });
        }
        if found == *root { Ok(()) } else { Err(ProofError::OtherRoot { claimed: *root, found }) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::Index};

    use super::{
        super::reference::{self, Term, flip, leaves},
        *,
    };

    fn verify(proof: &InclusionProof, leaves: &[Hash], root: &Hash) -> Result<(), ProofError> {
        proof.verify(&leaves[usize::try_from(proof.index).unwrap()], root)
    }

    /// The root as a term over the leaf and the path, by the recursive definition.
    fn term(size: usize, index: usize, path: usize) -> Option<Term> {
        (index < size).then(|| reference::inclusion_term(size, index, path)).flatten()
    }

    /// The example of section 2.1.5.
    #[test]
    fn the_example_of_the_rfc() {
        let d = leaves(7);
        let node = |range: std::ops::Range<usize>| reference::root(&d[range]);
        let (g, h, i, j) = (node(0..2), node(2..4), node(4..6), d[6]);
        let (k, l) = (node(0..4), node(4..7));
        let check = |index, path: &[Hash]| assert_eq!(InclusionProof::new(&d, index).unwrap().path, path, "{index}");
        check(0, &[d[1], h, l]);
        check(3, &[d[2], g, l]);
        check(4, &[d[5], j, k]);
        check(6, &[i, k]);
    }

    #[test]
    fn every_leaf_of_small_trees_is_proven() {
        for size in 0..=70 {
            let leaves = leaves(size);
            let root = reference::root(&leaves);
            for index in 0..size {
                let proof = InclusionProof::new(&leaves, index as u64).unwrap();
                assert_eq!(proof.path, reference::inclusion_path(&leaves, index), "{index} of {size}");
                verify(&proof, &leaves, &root).unwrap();
            }
            let beyond = ProofError::NoLeaf { index: size as u64, size: size as u64 };
            assert_eq!(InclusionProof::new(&leaves, size as u64), Err(beyond));
        }
    }

    #[test]
    fn a_tree_of_one_leaf_has_an_empty_path() {
        let leaves = leaves(1);
        let mut proof = InclusionProof::new(&leaves, 0).unwrap();
        assert_eq!((proof.path.len(), verify(&proof, &leaves, &leaves[0])), (0, Ok(())));
        proof.path.push(leaves[0]);
        assert_eq!(verify(&proof, &leaves, &leaves[0]), Err(ProofError::PathTooLong { length: 1, size: 1 }));
    }

    #[test]
    fn absurd_sizes_are_refused_without_work() {
        let [leaf] = leaves(1)[..] else { panic!() };
        for (index, size) in [(0, 0), (1, 1), (u64::MAX, u64::MAX), (5, 0)] {
            let proof = InclusionProof { index, size, path: Vec::new() };
            assert_eq!(proof.verify(&leaf, &leaf), Err(ProofError::NoLeaf { index, size }));
        }
        for index in [0, 1, u64::MAX / 2, u64::MAX - 1] {
            for length in [0, 1, 64, 65, 1000] {
                let proof = InclusionProof { index, size: u64::MAX, path: vec![leaf; length] };
                proof.verify(&leaf, &leaf).unwrap_err();
            }
        }
    }

    proptest! {
        #[test]
        fn the_path_is_that_of_the_definition(size in 1usize..1500, at: Index) {
            let (leaves, index) = (leaves(size), at.index(size));
            let proof = InclusionProof::new(&leaves, index as u64).unwrap();
            prop_assert_eq!(&proof.path, &reference::inclusion_path(&leaves, index));
            prop_assert_eq!(verify(&proof, &leaves, &reference::root(&leaves)), Ok(()));
        }

        #[test]
        fn a_changed_proof_does_not_hold(size in 2usize..300, at: Index, which: Index, bit in 0usize..256, other: Index) {
            let (leaves, index) = (leaves(size), at.index(size));
            let root = reference::root(&leaves);
            let whole = InclusionProof::new(&leaves, index as u64).unwrap();
            let refused = |path: &[Hash]| {
                let changed = InclusionProof { path: path.to_vec(), ..whole };
                path == whole.path || verify(&changed, &leaves, &root).is_err()
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
            for added in [whole.path[which], leaves[index], root] {
                let mut path = whole.path.clone();
                path.insert(other.index(path.len() + 1), added);
                prop_assert!(refused(&path), "added");
            }
            prop_assert!(whole.verify(&flip(leaves[index], bit), &root).is_err(), "another leaf");
            prop_assert!(verify(&whole, &leaves, &flip(root, bit)).is_err(), "another root");
            let moved = other.index(size);
            let elsewhere = InclusionProof { index: moved as u64, ..whole.clone() };
            prop_assert_eq!(elsewhere.verify(&leaves[index], &root).is_ok(), moved == index, "another index");
        }

        /// A path holds for another index and size only where the tree of that size is computed from it in the same way
        /// around that leaf.
        #[test]
        fn another_size_holds_only_where_the_way_up_is_the_same(
            size in 1usize..70, at: Index, other in 0usize..140, other_at in 0usize..140,
        ) {
            let (leaves, index) = (leaves(size), at.index(size));
            let root = reference::root(&leaves);
            let whole = InclusionProof::new(&leaves, index as u64).unwrap();
            let claimed = InclusionProof { index: other_at as u64, size: other as u64, path: whole.path.clone() };
            let same = term(other, other_at, whole.path.len()) == term(size, index, whole.path.len());
            prop_assert_eq!(claimed.verify(&leaves[index], &root).is_ok(), same);
        }
    }
}
