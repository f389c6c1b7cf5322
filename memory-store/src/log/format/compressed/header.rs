//! The header of a compressed segment.

use std::ops::Range;

use crate::{
    checksum,
    log::format::{
        frame::{FRAME_HEADER, Fields, MAX_PAYLOAD, StoreId},
        segment::SEGMENT_HEADER,
    },
};

/// Bytes of the header.
pub(super) const HEADER: u32 = 64;
/// Bytes of one block in the table.
pub(super) const ENTRY: u32 = 8;
/// Longest image: a segment of 1 GiB and a frame.
#[expect(clippy::cast_possible_truncation, reason = "both are far below 4 GiB")]
pub(super) const MAX_IMAGE: u32 = (1 << 30) + SEGMENT_HEADER + FRAME_HEADER as u32 + MAX_PAYLOAD as u32;
pub(super) const MIN_BLOCK: u32 = 1 << 10;
pub(super) const MAX_BLOCK: u32 = 1 << 20;
pub(super) const MAX_DICTIONARY: u32 = 1 << 20;

const MAGIC: [u8; 8] = *b"MEMSEGZ\n";
const FORMAT: u32 = 1;
/// The only compression so far; a separate field, so that others can follow.
const ZSTD: [u8; 4] = [1, 0, 0, 0];

/// The header, at the beginning and again at the end.
///
/// All lengths are within their bounds and fit each other, so that sums of them fit a `u32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The segment's number.
    pub(super) number: u32,
    pub(super) store: StoreId,
    /// Bytes of the image.
    pub(super) image: u32,
    /// Bytes of the image in each block but the last.
    pub(super) block: u32,
    /// Bytes of the dictionary; 0 when there is none.
    pub(super) dictionary: u32,
    pub(super) dictionary_crc: u32,
    pub(super) table_crc: u32,
    /// Bytes of the whole file.
    pub(super) file: u32,
}

impl Header {
    /// True if a file that begins with these bytes is a compressed segment.
    pub(super) fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER as usize);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&FORMAT.to_le_bytes());
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.store);
        let lengths = [self.image, self.block, self.dictionary, self.dictionary_crc, self.table_crc, self.file];
        out.extend(lengths.into_iter().flat_map(u32::to_le_bytes));
        out.extend_from_slice(&ZSTD);
        let crc = checksum::crc32c(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        const SHORT: &str = "the header of the compressed segment is cut short";
        let header = bytes.first_chunk::<{ HEADER as usize }>().ok_or(SHORT)?;
        let (fields, crc) = header.split_last_chunk::<4>().ok_or(SHORT)?;
        if checksum::crc32c(fields) != u32::from_le_bytes(*crc) {
            return Err("the checksum of the compressed segment's header does not match");
        }
        let mut fields = Fields(fields);
        if fields.take() != Some(MAGIC) || fields.u32() != Some(FORMAT) {
            return Err("the compressed segment has an unknown format");
        }
        let parsed = (|| {
            let (number, store) = (fields.u32()?, fields.take()?);
            let (image, block) = (fields.u32()?, fields.u32()?);
            let (dictionary, dictionary_crc) = (fields.u32()?, fields.u32()?);
            let (table_crc, file) = (fields.u32()?, fields.u32()?);
            let header = Self { number, store, image, block, dictionary, dictionary_crc, table_crc, file };
            Some((header, fields.take()?))
        })();
        let (header, compression) = parsed.ok_or(SHORT)?;
        if compression != ZSTD {
            return Err("the segment is compressed in a way that this version does not know");
        }
        if !header.is_possible() {
            return Err("the header of the compressed segment has impossible lengths");
        }
        Ok(header)
    }

    fn is_possible(&self) -> bool {
        let bounded = (SEGMENT_HEADER..=MAX_IMAGE).contains(&self.image)
            && (MIN_BLOCK..=MAX_BLOCK).contains(&self.block)
            && self.block.is_power_of_two()
            && self.dictionary <= MAX_DICTIONARY;
        // A block takes at least one byte, and at most as many as it stands for.
        bounded && (self.blocks()..=self.image).contains(&self.file.saturating_sub(2 * self.first_block()))
    }

    /// Number of blocks.
    pub(super) fn blocks(&self) -> u32 {
        self.image.div_ceil(self.block)
    }

    pub(super) fn table(&self) -> u32 {
        self.blocks() * ENTRY
    }

    /// Offset of the first block, after header, dictionary and table. Their copies take as many bytes after the last
    /// block.
    pub(super) fn first_block(&self) -> u32 {
        HEADER + self.dictionary + self.table()
    }

    /// End of the last block.
    pub(super) fn blocks_end(&self) -> u32 {
        self.file - self.first_block()
    }

    /// Both places of the dictionary.
    pub(super) fn dictionary_places(&self) -> [u32; 2] {
        [HEADER, self.blocks_end()]
    }

    /// Both places of the table.
    pub(super) fn table_places(&self) -> [u32; 2] {
        self.dictionary_places().map(|place| place + self.dictionary)
    }

    /// The bytes of the image that block `index` stands for.
    pub(super) fn range(&self, index: u32) -> Range<u32> {
        let at = |index: u32| index.saturating_mul(self.block).min(self.image);
        at(index)..at(index.saturating_add(1))
    }
}
