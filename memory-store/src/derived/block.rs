//! Block header: covered nodes, binding to the log, and checksums.

use memory_core::Hash;

use crate::{checksum, wire::In};

const MAGIC: [u8; 4] = *b"blok";
/// Key epoch, nonce and authentication tag: zeros, because the block is not encrypted.
pub(super) const PLAIN: [u8; 4 + 12 + 16] = [0; 32];
/// Magic, first node, last node, its leaf, bytes and checksum of the body, bytes and checksum of the rows, encryption
/// fields, checksum over all of this.
pub(super) const HEADER: usize = 4 + 8 + 8 + 32 + 8 + 4 + 8 + 4 + PLAIN.len() + 4;

/// Header of a block. The body is verified when the header is read, the rows when they are used.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BlockHeader {
    /// First and last covered node.
    pub(super) first: u64,
    pub(super) last: u64,
    /// Leaf of the last covered node.
    pub(super) leaf: Hash,
    pub(super) body_bytes: u64,
    pub(super) body_sum: u32,
    pub(super) row_bytes: u64,
    /// Checksum of the rows, in this file or another one.
    pub(super) rows_sum: u32,
}

impl BlockHeader {
    /// Header of a block of nodes `first` to `last`, the last of which has this leaf. `rows_sum` is the checksum of
    /// `rows`, or of rows in another file.
    pub(super) fn of((first, last): (u64, u64), leaf: Hash, body: &[u8], rows: &[u8], rows_sum: u32) -> Self {
        let (body_bytes, row_bytes) = (body.len() as u64, rows.len() as u64);
        Self { first, last, leaf, body_bytes, body_sum: checksum::crc32c(body), row_bytes, rows_sum }
    }

    pub(super) fn bytes(&self) -> [u8; HEADER] {
        let mut out = Vec::with_capacity(HEADER);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&self.first.to_le_bytes());
        out.extend_from_slice(&self.last.to_le_bytes());
        out.extend_from_slice(self.leaf.as_bytes());
        out.extend_from_slice(&self.body_bytes.to_le_bytes());
        out.extend_from_slice(&self.body_sum.to_le_bytes());
        out.extend_from_slice(&self.row_bytes.to_le_bytes());
        out.extend_from_slice(&self.rows_sum.to_le_bytes());
        out.extend_from_slice(&PLAIN);
        out.extend_from_slice(&checksum::crc32c(&out).to_le_bytes());
        out.try_into().unwrap_or([0; HEADER])
    }

    /// Parses a header; `None` if it is invalid.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (fields, sum) = bytes.split_last_chunk::<4>()?;
        let is_whole = checksum::crc32c(fields) == u32::from_le_bytes(*sum);
        let mut fields = In(fields);
        let magic = fields.array::<4>()?;
        let header = Self {
            first: u64::from_le_bytes(fields.array()?),
            last: u64::from_le_bytes(fields.array()?),
            leaf: Hash::from_bytes(fields.array()?),
            body_bytes: u64::from_le_bytes(fields.array()?),
            body_sum: u32::from_le_bytes(fields.array()?),
            row_bytes: u64::from_le_bytes(fields.array()?),
            rows_sum: u32::from_le_bytes(fields.array()?),
        };
        (magic == MAGIC && fields.array()? == PLAIN && is_whole).then_some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> BlockHeader {
        BlockHeader {
            first: 3,
            last: 9,
            leaf: Hash::from_bytes([7; 32]),
            body_bytes: 4,
            body_sum: 0x0A0B_0C0D,
            row_bytes: 5,
            rows_sum: 6,
        }
    }

    /// Golden bytes: if they change, these must stay readable, under another version of the files.
    #[test]
    fn the_bytes_of_a_header_never_change() {
        let golden = concat!(
            "626c6f6b",
            "0300000000000000",
            "0900000000000000",
            "0707070707070707070707070707070707070707070707070707070707070707",
            "0400000000000000",
            "0d0c0b0a",
            "0500000000000000",
            "06000000",
            "0000000000000000000000000000000000000000000000000000000000000000",
        );
        let bytes = sample().bytes();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, format!("{golden}{}", crc_of(golden)));
        assert_eq!(BlockHeader::read(&bytes), Some(sample()));
    }

    fn crc_of(hex: &str) -> String {
        let bytes: Vec<u8> =
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        ::crc32c::crc32c(&bytes).to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn a_flipped_byte_and_a_cut_are_seen() {
        let bytes = sample().bytes();
        for at in 0..HEADER {
            let mut flipped = bytes;
            flipped[at] ^= 1;
            assert_eq!(BlockHeader::read(&flipped), None, "{at}");
            assert_eq!(BlockHeader::read(&bytes[..at]), None, "{at}");
        }
    }

    #[test]
    fn a_block_of_a_key_epoch_is_not_read_as_a_plain_one() {
        let mut bytes = sample().bytes();
        bytes[HEADER - 4 - PLAIN.len()] = 1;
        let crc = ::crc32c::crc32c(&bytes[..HEADER - 4]).to_le_bytes();
        bytes[HEADER - 4..].copy_from_slice(&crc);
        assert_eq!(BlockHeader::read(&bytes), None);
    }
}
