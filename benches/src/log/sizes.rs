//! Lengths of the records.

/// Bytes of a record's text: a short message, and a long one.
pub(super) const SIZES: [usize; 2] = [200, 2_000];
