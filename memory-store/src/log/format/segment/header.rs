//! The header of a segment.

use crate::{
    checksum,
    log::format::frame::{Fields, StoreId},
};

/// Bytes of a segment's header.
pub(crate) const SEGMENT_HEADER: u32 = 64;
/// Beginning of every segment that is not compressed.
pub(crate) const MAGIC: [u8; 8] = *b"MEMSEG\r\n";
const SEGMENT_FORMAT: u32 = 1;

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) store: StoreId,
    /// The segment's number, from 1.
    pub(crate) number: u32,
    /// End of the segment before; 0 for the first.
    pub(crate) previous_end: u32,
    /// The log sequence number of the first frame.
    pub(crate) first_lsn: u64,
    /// End of a segment that was rewritten after it was sealed. The end that the next segment records is then outdated.
    pub(crate) end: Option<u32>,
    /// Number of rewrites.
    pub(crate) rewritten: u32,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(SEGMENT_HEADER as usize);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&SEGMENT_FORMAT.to_le_bytes());
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.store);
        out.extend_from_slice(&self.first_lsn.to_le_bytes());
        out.extend_from_slice(&self.previous_end.to_le_bytes());
        out.extend_from_slice(&self.end.unwrap_or_default().to_le_bytes());
        out.extend_from_slice(&self.rewritten.to_le_bytes());
        out.resize(SEGMENT_HEADER as usize - 4, 0);
        let crc = checksum::crc32c(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        let header = bytes.first_chunk::<{ SEGMENT_HEADER as usize }>().ok_or("the segment header is cut short")?;
        let (fields, crc) = header.split_last_chunk::<4>().ok_or("the segment header is cut short")?;
        if checksum::crc32c(fields) != u32::from_le_bytes(*crc) {
            return Err("the checksum of the segment header does not match");
        }
        let mut fields = Fields(fields);
        if fields.take() != Some(MAGIC) || fields.u32() != Some(SEGMENT_FORMAT) {
            return Err("the segment header has an unknown format");
        }
        let parsed = (|| {
            let (number, store) = (fields.u32()?, fields.take()?);
            let (first_lsn, previous_end) = (fields.u64()?, fields.u32()?);
            let (end, rewritten) = (fields.u32()?, fields.u32()?);
            Some(Self { store, number, previous_end, first_lsn, end: (end > 0).then_some(end), rewritten })
        })();
        parsed.ok_or("the segment header is cut short")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: SegmentHeader =
        SegmentHeader { store: [5; 16], number: 2, previous_end: 4_000, first_lsn: 31, end: Some(7_000), rewritten: 3 };

    #[test]
    fn every_flipped_bit_of_a_header_is_found() {
        let bytes = HEADER.encode();
        assert_eq!(SegmentHeader::parse(&bytes), Ok(HEADER));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(SegmentHeader::parse(&flipped).is_err(), "bit {bit}");
        }
    }
}
