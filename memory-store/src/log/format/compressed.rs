//! Compressed segments: the whole image of a sealed segment, in blocks that can be read one by one.
//!
//! Offsets in the image are those in the segment, and so are the checksums of frames and records: the compression is
//! invisible to a reader of the segment. `docs/format.md` has the bytes.

mod dictionary;
mod header;
mod options;
mod pack;
mod reader;
mod source;
mod table;
#[cfg(test)]
mod tests;
mod zstandard;

pub use options::CompressionOptions;
pub use pack::{CompressionError, compress_segment};
pub use reader::CompressedSegment;
pub(crate) use reader::LostBlocks;
pub use source::ReadAt;
