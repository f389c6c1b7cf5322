//! Places of the blocks of a compressed segment.

use std::ops::Range;

use super::header::{ENTRY, Header};
use crate::log::format::frame::Fields;

/// Place and checksum of a stored block, which ends where the next one begins.
#[derive(Clone, Copy, Debug)]
struct Entry {
    offset: u32,
    crc: u32,
}

/// The places of the blocks: each begins where the one before ends, and is not longer than the bytes that it stands
/// for.
#[derive(Debug)]
pub(super) struct Table {
    entries: Vec<Entry>,
    end: u32,
}

impl Table {
    /// Reads a table whose checksum matches.
    pub(super) fn parse(bytes: &[u8], header: &Header) -> Result<Self, &'static str> {
        let mut entries = Vec::with_capacity(bytes.len() / ENTRY as usize);
        let mut fields = Fields(bytes);
        while let Some((offset, crc)) = fields.u32().zip(fields.u32()) {
            entries.push(Entry { offset, crc });
        }
        let table = Self { entries, end: header.blocks_end() };
        let begins = table.entries.first().is_some_and(|first| first.offset == header.first_block());
        let fits = |index| {
            let (stored, range) = (table.stored(index).map(|(stored, _)| stored), header.range(index));
            stored.is_some_and(|stored| !stored.is_empty() && stored.len() <= range.len())
        };
        if begins && (0..header.blocks()).all(fits) {
            Ok(table)
        } else {
            Err("the block table of the compressed segment makes no sense")
        }
    }

    /// Place of block `index` in the file, and its checksum.
    pub(super) fn stored(&self, index: u32) -> Option<(Range<u32>, u32)> {
        let index = index as usize;
        let Entry { offset, crc } = *self.entries.get(index)?;
        let end = self.entries.get(index + 1).map_or(self.end, |next| next.offset);
        Some((offset..end, crc))
    }
}
