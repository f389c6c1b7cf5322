//! Body of a block of vectors: nodes and checksums of its rows.

use memory_core::{NodeId, port::Slot};

use crate::derived::block::BlockHeader;

/// Node, chunk, scale, checksum of the components.
const ENTRY: usize = 8 + 4 + 4 + 4;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) slot: Slot,
    /// 0 for a removed row.
    pub(super) scale: f32,
    pub(super) sum: u32,
}

impl Entry {
    pub(super) fn write(&self, body: &mut Vec<u8>) {
        body.extend_from_slice(&self.slot.node.get().to_le_bytes());
        body.extend_from_slice(&self.slot.chunk.to_le_bytes());
        body.extend_from_slice(&self.scale.to_le_bytes());
        body.extend_from_slice(&self.sum.to_le_bytes());
    }

    fn read(bytes: &[u8; ENTRY]) -> Option<Self> {
        let (node, rest) = bytes.split_first_chunk::<8>()?;
        let (chunk, rest) = rest.split_first_chunk::<4>()?;
        let (scale, sum) = rest.split_first_chunk::<4>()?;
        Some(Self {
            slot: Slot { node: NodeId::new(u64::from_le_bytes(*node))?, chunk: u32::from_le_bytes(*chunk) },
            scale: f32::from_le_bytes(*scale),
            sum: u32::from_le_bytes(*sum.first_chunk()?),
        })
    }
}

/// Entries of a block; `None` if they are inconsistent.
pub(super) fn read(header: &BlockHeader, body: &[u8]) -> Option<Vec<Entry>> {
    let (entries, []) = body.as_chunks() else { return None };
    let entries: Vec<Entry> = entries.iter().map(Entry::read).collect::<Option<_>>()?;
    let nodes = header.first..=header.last;
    let within = |entry: &Entry| nodes.contains(&entry.slot.node.get()) && entry.scale >= 0.0;
    let ordered = entries.windows(2).all(|pair| matches!(pair, [a, b] if a.slot < b.slot));
    (ordered && entries.iter().all(within)).then_some(entries)
}

pub(super) fn rows(header: &BlockHeader) -> usize {
    usize::try_from(header.body_bytes).unwrap_or(usize::MAX) / ENTRY
}
