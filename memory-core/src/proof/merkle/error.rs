//! Reasons why a Merkle proof cannot be made or does not hold.

use crate::Hash;

/// Reasons why a Merkle proof cannot be made or does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    /// The tree has no such leaf.
    #[error("there is no leaf {index}, counted from 0, in a tree of {size} leaves")]
    NoLeaf {
        /// The leaf asked for, from 0.
        index: u64,
        /// Number of leaves.
        size: u64,
    },
    /// The number of leaves is not that of an earlier state of the tree, or is 0, for which nothing can be proven.
    #[error("{earlier} leaves are not an earlier state of a tree of {size} leaves")]
    NotEarlier {
        /// The claimed earlier size.
        earlier: u64,
        /// The size of the tree.
        size: u64,
    },
    /// No earlier state of the tree has this root.
    #[error("none of the {size} states of the tree so far has the root {root}")]
    NeverHad {
        /// The root asked for.
        root: Hash,
        /// The size of the tree.
        size: u64,
    },
    /// The path has more hashes than needed.
    #[error("the path of {length} hashes is too long for a tree of {size} leaves")]
    PathTooLong {
        /// Number of hashes in the path.
        length: usize,
        /// The size of the tree.
        size: u64,
    },
    /// The path has fewer hashes than needed.
    #[error("the path of {length} hashes is too short for a tree of {size} leaves")]
    PathTooShort {
        /// Number of hashes in the path.
        length: usize,
        /// The size of the tree.
        size: u64,
    },
    /// The path leads to another root.
    #[error("the path leads to the root {found}, not to {claimed}")]
    OtherRoot {
        /// The expected root.
        claimed: Hash,
        /// The computed root.
        found: Hash,
    },
    /// The path of a consistency proof leads to another earlier root.
    #[error("the path leads to the earlier root {found}, not to {claimed}")]
    OtherEarlierRoot {
        /// The expected earlier root.
        claimed: Hash,
        /// The computed earlier root.
        found: Hash,
    },
}
