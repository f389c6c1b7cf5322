//! Blocks of a vector cache: which rows there are, of which nodes, and what they must sum up to.

use crate::checksum;
use memory_core::{Hash, NodeId, Slot};

const MAGIC: [u8; 4] = *b"blok";
/// Magic, first node, last node, its leaf, number of rows, checksum over their codes, checksum over all of this.
pub(super) const HEADER: usize = 4 + 8 + 8 + 32 + 4 + 4 + 4;
/// Node, chunk, scale, checksum over the components.
const ENTRY: usize = 8 + 4 + 4 + 4;

/// What a block says of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) slot: Slot,
    /// 0 for a row that was removed.
    pub(super) scale: f32,
    pub(super) sum: u32,
}

/// A block, apart from the rows themselves.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    /// The first and the last node that it covers.
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) leaf: Hash,
    pub(super) codes_sum: u32,
    pub(super) entries: Vec<Entry>,
}

impl Block {
    /// Appends the bytes of the block.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let at = out.len();
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&self.first.to_le_bytes());
        out.extend_from_slice(&self.last.to_le_bytes());
        out.extend_from_slice(self.leaf.as_bytes());
        out.extend_from_slice(&u32::try_from(self.entries.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend_from_slice(&self.codes_sum.to_le_bytes());
        let mut body = Vec::with_capacity(self.entries.len() * ENTRY);
        for Entry { slot, scale, sum } in &self.entries {
            body.extend_from_slice(&slot.node.get().to_le_bytes());
            body.extend_from_slice(&slot.chunk.to_le_bytes());
            body.extend_from_slice(&scale.to_le_bytes());
            body.extend_from_slice(&sum.to_le_bytes());
        }
        let sum = checksum::crc32c_append(checksum::crc32c(out.get(at..).unwrap_or_default()), &body);
        out.extend_from_slice(&sum.to_le_bytes());
        out.append(&mut body);
    }

    /// The block that begins here, if it is whole and follows node `through`, and what is behind it.
    pub(super) fn read(bytes: &[u8], through: u64) -> Option<(Self, &[u8])> {
        let (header, behind) = bytes.split_first_chunk::<HEADER>()?;
        let (fields, sum) = header.split_last_chunk::<4>()?;
        let (magic, rest) = fields.split_first_chunk::<4>()?;
        let (first, rest) = rest.split_first_chunk::<8>()?;
        let (last, rest) = rest.split_first_chunk::<8>()?;
        let (leaf, rest) = rest.split_first_chunk::<32>()?;
        let (count, codes_sum) = rest.split_first_chunk::<4>()?;
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        if *magic != MAGIC || Some(first) != through.checked_add(1) || last < first {
            return None;
        }
        let (body, behind) = behind.split_at_checked((u32::from_le_bytes(*count) as usize).checked_mul(ENTRY)?)?;
        if checksum::crc32c_append(checksum::crc32c(fields), body) != u32::from_le_bytes(*sum) {
            return None;
        }
        let entries: Vec<Entry> = body.as_chunks().0.iter().map(read_entry).collect::<Option<_>>()?;
        let within = |entry: &Entry| (first..=last).contains(&entry.slot.node.get()) && entry.scale >= 0.0;
        let ordered = entries.windows(2).all(|pair| matches!(pair, [a, b] if a.slot < b.slot));
        if !ordered || !entries.iter().all(within) {
            return None;
        }
        let codes_sum = u32::from_le_bytes(*codes_sum.first_chunk()?);
        Some((Self { first, last, leaf: Hash::from_bytes(*leaf), codes_sum, entries }, behind))
    }
}

fn read_entry(bytes: &[u8; ENTRY]) -> Option<Entry> {
    let (node, rest) = bytes.split_first_chunk::<8>()?;
    let (chunk, rest) = rest.split_first_chunk::<4>()?;
    let (scale, sum) = rest.split_first_chunk::<4>()?;
    Some(Entry {
        slot: Slot { node: NodeId::new(u64::from_le_bytes(*node))?, chunk: u32::from_le_bytes(*chunk) },
        scale: f32::from_le_bytes(*scale),
        sum: u32::from_le_bytes(*sum.first_chunk()?),
    })
}
