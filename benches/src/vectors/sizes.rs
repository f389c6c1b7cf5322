//! Numbers of vectors and of results.

/// Vectors of the large set, and of the set that figures call 1m.
pub(super) const ROWS: usize = 100_000;
pub(super) const MILLION: usize = 1_000_000;
/// The results that recall is counted over.
pub(super) const TOP: usize = 10;
