//! The bytes of the log: layout, encoding and decoding of segments.

pub(super) mod codec;
pub(super) mod compressed;
pub(super) mod frame;
pub(super) mod pieces;
pub(super) mod scan;
pub(super) mod segment;

/// A location in the log: that of a record, or the end of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Location {
    pub(crate) segment: u32,
    pub(crate) offset: u32,
}
