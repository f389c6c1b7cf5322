//! Compresses the image of a segment.

use zstd::zstd_safe::CDict;

use super::{
    dictionary,
    header::{ENTRY, Header, MAX_IMAGE},
    options::CompressionOptions,
    reader::CompressedSegment,
    zstandard::Compressor,
};
use crate::{checksum, log::format::segment::SegmentHeader};

/// Blocks that are compressed without the dictionary as well, to see what it saves.
const TRIED: usize = 256;

/// Reason why a segment was not compressed. The segment stays unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompressionError {
    /// The bytes are not a segment, or its header is damaged.
    #[error("no segment to compress: {0}")]
    NoSegment(&'static str),
    /// The bytes are longer than any segment.
    #[error("a segment of {bytes} bytes is too long to be compressed")]
    TooLong {
        /// The length.
        bytes: usize,
    },
    /// The compression library failed.
    #[error("compressing the segment failed: {0}")]
    Failed(&'static str),
    /// The output does not decompress to the segment.
    #[error("the compressed segment does not give back the bytes from {offset} on")]
    Unfaithful {
        /// Offset in the segment.
        offset: usize,
    },
}

/// Compresses the image of a sealed segment: its header and its frames, without zeros after them. The result is a file
/// that [`CompressedSegment`] reads, checked by reading the image back from it.
///
/// # Errors
/// When the image has no segment's header or is too long, or compression fails.
pub fn compress_segment(image: &[u8], options: &CompressionOptions) -> Result<Vec<u8>, CompressionError> {
    let SegmentHeader { store, number, .. } = SegmentHeader::parse(image).map_err(CompressionError::NoSegment)?;
    let too_long = CompressionError::TooLong { bytes: image.len() };
    let length = u32::try_from(image.len()).ok().filter(|length| *length <= MAX_IMAGE).ok_or(too_long)?;
    let trained = dictionary::train(image, store, number, options.dictionary_bytes as usize);
    let dictionary = match trained {
        Some(bytes) if pays(image, options, &bytes).map_err(CompressionError::Failed)? => bytes,
        _ => Vec::new(),
    };
    let prepared = prepare(&dictionary, options.level).map_err(CompressionError::Failed)?;
    let blocks = Blocks::of(image, options, prepared.as_ref()).map_err(CompressionError::Failed)?;
    let mut header = Header {
        number,
        store,
        image: length,
        block: options.block_bytes,
        dictionary: u32::try_from(dictionary.len())
            .map_err(|_| CompressionError::Failed("the dictionary is too long"))?,
        dictionary_crc: checksum::crc32c(&dictionary),
        table_crc: 0,
        file: 0,
    };
    let table = blocks.table(header.first_block());
    header.table_crc = checksum::crc32c(&table);
    let bytes = 2 * header.first_block() as usize + blocks.bytes.len();
    header.file = u32::try_from(bytes).map_err(|_| CompressionError::TooLong { bytes: image.len() })?;
    let encoded = header.encode();
    let file =
        [&encoded, &dictionary, &table, &blocks.bytes, &dictionary, &table, &encoded].map(Vec::as_slice).concat();
    prove(&file, image)?;
    Ok(file)
}

/// The stored blocks of an image.
struct Blocks {
    bytes: Vec<u8>,
    /// End of each block in `bytes`, and its checksum.
    ends: Vec<(u32, u32)>,
}

impl Blocks {
    fn of(image: &[u8], options: &CompressionOptions, dictionary: Option<&CDict<'_>>) -> Result<Self, &'static str> {
        let mut compressor = Compressor::new(options.level, options.block_bytes, dictionary)?;
        let (mut bytes, mut ends) = (Vec::with_capacity(image.len() / 2), Vec::new());
        for block in image.chunks(options.block_bytes as usize) {
            let stored = compressor.store(block)?;
            bytes.extend_from_slice(stored);
            let end = u32::try_from(bytes.len()).map_err(|_| "the blocks are too long")?;
            ends.push((end, checksum::crc32c(stored)));
        }
        Ok(Self { bytes, ends })
    }

    /// The table of the blocks when the first stands at `first`.
    fn table(&self, first: u32) -> Vec<u8> {
        let mut table = Vec::with_capacity(self.ends.len() * ENTRY as usize);
        let mut offset = first;
        for (end, crc) in &self.ends {
            table.extend_from_slice(&offset.to_le_bytes());
            table.extend_from_slice(&crc.to_le_bytes());
            offset = first.saturating_add(*end);
        }
        table
    }
}

fn prepare(dictionary: &[u8], level: i32) -> Result<Option<CDict<'static>>, &'static str> {
    if dictionary.is_empty() {
        return Ok(None);
    }
    CDict::try_create(dictionary, level).map(Some).ok_or("zstd cannot load the dictionary that it made")
}

/// True if the dictionary saves more than its two copies take, judged by some of the blocks.
fn pays(image: &[u8], options: &CompressionOptions, dictionary: &[u8]) -> Result<bool, &'static str> {
    let block_bytes = options.block_bytes as usize;
    let blocks = image.len().div_ceil(block_bytes);
    let every = blocks.div_ceil(TRIED).max(1);
    let prepared = prepare(dictionary, options.level)?;
    let mut with = Compressor::new(options.level, options.block_bytes, prepared.as_ref())?;
    let mut without = Compressor::new(options.level, options.block_bytes, None)?;
    let (mut plain, mut helped) = (0, 0);
    for block in image.chunks(block_bytes).step_by(every) {
        plain += without.store(block)?.len();
        helped += with.store(block)?.len();
    }
    Ok(plain.saturating_sub(helped).saturating_mul(every) > 2 * dictionary.len())
}

/// Reads the file back, block by block, and compares it with the image.
fn prove(file: &[u8], image: &[u8]) -> Result<(), CompressionError> {
    let compressed = CompressedSegment::open(file).map_err(|_| CompressionError::Unfaithful { offset: 0 })?;
    let mut buffer = vec![0; compressed.block_bytes() as usize];
    let mut offset = 0;
    for block in image.chunks(buffer.len()) {
        let read = u32::try_from(offset).ok().and_then(|offset| compressed.read_at(file, offset, &mut buffer).ok());
        if read.and_then(|read| buffer.get(..read)) != Some(block) {
            return Err(CompressionError::Unfaithful { offset });
        }
        offset += block.len();
    }
    if compressed.len() as usize != image.len() {
        return Err(CompressionError::Unfaithful { offset });
    }
    Ok(())
}
