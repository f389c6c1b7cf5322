//! Compressed segments: the whole image of a sealed segment, in blocks that are read alone.
//!
//! Offsets in the image are what they were in the segment, and so are the checksums of frames and records: whoever
//! reads a segment sees nothing of the compression. `docs/format.md` has the bytes.

mod dictionary;
mod header;
mod options;
mod pack;
mod reader;
mod recent;
mod source;
mod table;
#[cfg(test)]
mod tests;
mod zstandard;

pub use options::SqueezeOptions;
pub use pack::{SqueezeError, squeeze};
pub use reader::{LostBlocks, Squeezed};
pub use source::ReadAt;
