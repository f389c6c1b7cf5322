//! Blocks of a token cache: the tokens of a run of nodes, and what they must sum up to.

use memory_core::Hash;

use crate::{
    checksum,
    wire::{In, Out},
};

const MAGIC: [u8; 4] = *b"toks";
/// Magic, first node, last node, its leaf, bytes of the index, rows, checksum over the rows, checksum over all of this
/// and the index.
pub(super) const HEADER: usize = 4 + 8 + 8 + 32 + 4 + 4 + 4 + 4;

/// What stands before the index and the rows of a block.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    /// The first and the last node that it covers.
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) leaf: Hash,
    pub(super) index_bytes: u32,
    pub(super) rows: u32,
    pub(super) rows_sum: u32,
}

impl Block {
    /// The bytes of the header of a block with this index.
    pub(super) fn header(&self, index: &[u8]) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&self.first.to_le_bytes());
        out.extend_from_slice(&self.last.to_le_bytes());
        out.extend_from_slice(self.leaf.as_bytes());
        out.extend_from_slice(&self.index_bytes.to_le_bytes());
        out.extend_from_slice(&self.rows.to_le_bytes());
        out.extend_from_slice(&self.rows_sum.to_le_bytes());
        let sum = checksum::crc32c_append(checksum::crc32c(&out), index);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }

    /// The header that stands here, if it follows node `through`; whether it and its index are whole,
    /// [`is_whole`](Self::is_whole) tells.
    pub(super) fn read(header: &[u8; HEADER], through: u64) -> Option<Self> {
        let (magic, rest) = header.split_first_chunk::<4>()?;
        let (first, rest) = rest.split_first_chunk::<8>()?;
        let (last, rest) = rest.split_first_chunk::<8>()?;
        let (leaf, rest) = rest.split_first_chunk::<32>()?;
        let (index_bytes, rest) = rest.split_first_chunk::<4>()?;
        let (rows, rest) = rest.split_first_chunk::<4>()?;
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        (*magic == MAGIC && Some(first) == through.checked_add(1) && last >= first).then_some(Self {
            first,
            last,
            leaf: Hash::from_bytes(*leaf),
            index_bytes: u32::from_le_bytes(*index_bytes),
            rows: u32::from_le_bytes(*rows),
            rows_sum: u32::from_le_bytes(*rest.first_chunk::<4>()?),
        })
    }

    /// Whether a header and the index behind it are what was written.
    pub(super) fn is_whole(header: &[u8; HEADER], index: &[u8]) -> bool {
        let (fields, sum) = header.split_at(HEADER - 4);
        checksum::crc32c_append(checksum::crc32c(fields), index).to_le_bytes() == *sum
    }
}

/// Appends what the index says of a node: how many tokens it has, and which numbers occur among them.
pub(super) fn write_entry(tokens: u32, ids: &[u32], out: &mut Out) {
    let mut distinct = ids.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    out.number(tokens.into());
    out.number(distinct.len() as u64);
    let mut before = 0;
    for id in distinct {
        out.number(u64::from(id - before));
        before = id;
    }
}

/// What the index says of the node whose entry begins here, and what is behind it; `None` if this is no entry.
pub(super) fn read_entry(bytes: &[u8]) -> Option<(u32, Vec<u32>, &[u8])> {
    let mut bytes = In(bytes);
    let tokens = bytes.u32()?;
    let count = bytes.u32()?;
    // Each number takes a byte at least: a count that lies asks for no more memory than there are bytes.
    let mut ids = Vec::with_capacity((count as usize).min(bytes.0.len()));
    let mut last = 0_u32;
    for _ in 0..count {
        last = last.checked_add(bytes.u32()?)?;
        ids.push(last);
    }
    Some((tokens, ids, bytes.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn entries_read_back(nodes in prop::collection::vec((any::<u32>(), prop::collection::vec(any::<u32>(), 0..9)), 0..9)) {
            let mut bytes = Out::default();
            nodes.iter().for_each(|(tokens, ids)| write_entry(*tokens, ids, &mut bytes));
            let mut rest = bytes.0.as_slice();
            for (tokens, mut ids) in nodes {
                ids.sort_unstable();
                ids.dedup();
                let read = read_entry(rest).unwrap();
                prop_assert_eq!((read.0, &read.1), (tokens, &ids));
                rest = read.2;
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn bytes_that_are_no_entry_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Some((_, ids, rest)) = read_entry(&bytes) {
                prop_assert!(ids.len() + rest.len() <= bytes.len());
            }
        }
    }

    #[test]
    fn a_header_reads_back_and_a_flipped_byte_is_seen() {
        let block = Block { first: 3, last: 9, leaf: Hash::from_bytes([7; 32]), index_bytes: 4, rows: 5, rows_sum: 6 };
        let header = block.header(b"abcd");
        let header: &[u8; HEADER] = header.first_chunk().unwrap();
        assert_eq!(Block::read(header, 2), Some(block));
        assert_eq!(Block::read(header, 3), None);
        assert!(Block::is_whole(header, b"abcd"));
        for at in 0..HEADER {
            let mut flipped = *header;
            flipped[at] ^= 1;
            assert!(!Block::is_whole(&flipped, b"abcd"), "{at}");
        }
        assert!(!Block::is_whole(header, b"abce"));
    }
}
