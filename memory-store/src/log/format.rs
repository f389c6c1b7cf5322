//! The bytes of the log: the layout of a segment, and how it is written and read.

pub(super) mod codec;
pub(super) mod compressed;
pub(super) mod frame;
pub(super) mod pieces;
pub(super) mod scan;
pub(super) mod segment;

/// A place of the log: where a record stands, or where the log ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Location {
    pub(crate) segment: u32,
    pub(crate) offset: u32,
}
