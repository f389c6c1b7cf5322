//! Why a Merkle proof cannot be made or does not hold.

use crate::Hash;

/// Why a Merkle proof cannot be made or does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    /// The tree has no such leaf.
    #[error("there is no leaf {index}, counted from 0, in a tree of {size} leaves")]
    NoLeaf {
        /// The leaf asked for, from 0.
        index: u64,
        /// How many there are.
        size: u64,
    },
    /// That many leaves are no earlier state of the tree, or are none at all, about which there is nothing to prove.
    #[error("{earlier} leaves are no earlier state of a tree of {size} leaves")]
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
    /// The path has more hashes than lead to the root.
    #[error("the path of {length} hashes is too long for a tree of {size} leaves")]
    PathTooLong {
        /// How many hashes it has.
        length: usize,
        /// The size of the tree.
        size: u64,
    },
    /// The path has fewer hashes than lead to the root.
    #[error("the path of {length} hashes is too short for a tree of {size} leaves")]
    PathTooShort {
        /// How many hashes it has.
        length: usize,
        /// The size of the tree.
        size: u64,
    },
    /// The path leads to another root.
    #[error("the path leads to the root {found}, not to {claimed}")]
    OtherRoot {
        /// The root that was to be reached.
        claimed: Hash,
        /// The root that was reached.
        found: Hash,
    },
    /// The path of a consistency proof leads to another earlier root.
    #[error("the path leads to the earlier root {found}, not to {claimed}")]
    OtherEarlierRoot {
        /// The earlier root that was to be reached.
        claimed: Hash,
        /// The one that was reached.
        found: Hash,
    },
}
