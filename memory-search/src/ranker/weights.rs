//! The weights of the ranker: written by `cargo xtask eval --fit`, and read before they are committed.

use super::Weights;

/// For nodes with vectors.
pub(super) const WITH_VECTORS: Weights = [
    0.15, -0.3, 0.83, 0.25, -0.35, 2.4, 0.32, 1.53, 0.2, 2.26, 0.58, 0.71, 0.77, 1.52, -1.52, 0.3, 0.3, 0.3, -1.13,
    3.07, 1.94, 4.79,
];

/// For words alone.
pub(super) const BY_WORDS: Weights = [
    1.0, 0.5, 2.0, 0.25, -0.35, 2.4, 0.32, 1.53, 0.0, 0.0, 0.0, 0.0, 0.0, 1.52, -1.52, 0.3, 0.3, 0.3, -1.13, 3.07,
    1.94, 4.79,
];
