//! The bytes of the log: the layout of a segment, and how it is written and read.

pub(super) mod codec;
pub(super) mod compressed;
pub(super) mod frame;
pub(super) mod location;
pub(super) mod pieces;
pub(super) mod scan;
#[cfg(any(test, feature = "fuzzing"))]
pub(super) mod scanned;
pub(super) mod segment;
