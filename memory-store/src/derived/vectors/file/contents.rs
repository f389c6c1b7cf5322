//! Contents of the blocks of a vector file, and blocks to be written.

use memory_core::{Hash, NodeId, NodeRange, port::Slot};

use super::super::{
    super::{anchor::Anchor, block::BlockHeader, file::NewBlock, map::RowMap, parallel::parallel},
    rows::{DamagedRow, Rows},
    scan::threads_for,
};
use crate::{checksum, wire::In};

/// Concatenated contents of all blocks of a file.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) slots: Vec<Slot>,
    pub(super) scales: Vec<f32>,
    pub(super) sums: Vec<u32>,
    /// For each block, the end of its rows and the checksum of their codes.
    codes: Vec<(usize, u32)>,
}

impl Contents {
    /// Adds the contents of a block; `false`, without adding any, if they are inconsistent.
    pub(super) fn add(&mut self, header: &BlockHeader, body: &[u8]) -> bool {
        let Some(entries) = read_entries(header, body) else { return false };
        for entry in entries {
            self.slots.push(entry.slot);
            self.scales.push(entry.scale);
            self.sums.push(entry.sum);
        }
        self.codes.push((self.slots.len(), header.rows_sum));
        true
    }

    pub(super) fn truncate(&mut self, rows: usize) {
        self.slots.truncate(rows);
        self.scales.truncate(rows);
        self.sums.truncate(rows);
        self.codes.retain(|(end, _)| *end <= rows);
    }

    /// True if all codes match their checksums. Uses all cores, because opening an index usually precedes an answer.
    pub(super) fn are_whole(&self, codes: &RowMap, dimensions: usize) -> bool {
        let is_whole = |(): &mut (), (begin, end, sum): (usize, usize, u32), whole: &mut Vec<bool>| {
            let bytes = codes.bytes().get(begin * dimensions..end * dimensions);
            whole.push(bytes.is_some_and(|bytes| checksum::crc32c(bytes) == sum));
        };
        let threads = threads_for(codes.bytes().len());
        let begins = std::iter::once(0).chain(self.codes.iter().map(|(end, _)| *end));
        let blocks: Vec<_> = begins.zip(&self.codes).map(|(begin, (end, sum))| (begin, *end, *sum)).collect();
        let share = blocks.len().div_ceil(threads.get());
        parallel(threads, blocks, share, || (), is_whole).into_iter().all(|is_whole| is_whole)
    }
}

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
        let mut fields = In(bytes);
        let node = NodeId::new(u64::from_le_bytes(fields.array()?))?;
        Some(Self {
            slot: Slot { node, chunk: u32::from_le_bytes(fields.array()?) },
            scale: f32::from_le_bytes(fields.array()?),
            sum: u32::from_le_bytes(fields.array()?),
        })
    }
}

/// Entries of a block; `None` if they are inconsistent.
pub(super) fn read_entries(header: &BlockHeader, body: &[u8]) -> Option<Vec<Entry>> {
    let (entries, []) = body.as_chunks() else { return None };
    let entries: Vec<Entry> = entries.iter().map(Entry::read).collect::<Option<_>>()?;
    let nodes = header.first..=header.last;
    let within = |entry: &Entry| nodes.contains(&entry.slot.node.get()) && entry.scale >= 0.0;
    let ordered = entries.windows(2).all(|pair| matches!(pair, [a, b] if a.slot < b.slot));
    (ordered && entries.iter().all(within)).then_some(entries)
}

/// Number of rows of a block.
pub(super) fn rows_of(header: &BlockHeader) -> usize {
    usize::try_from(header.body_bytes).unwrap_or(usize::MAX) / ENTRY
}

/// Maximum rows of a block, except for the rows of a single node, since damage to a block loses all of them.
const BLOCK_ROWS: usize = 4096;

/// A block with the bytes of its rows.
pub(super) struct Batch {
    pub(super) block: NewBlock,
    /// Last covered node.
    pub(super) last: u64,
    /// Checksum of the components of each row.
    pub(super) sums: Vec<u32>,
    pub(super) codes: Vec<u8>,
    pub(super) components: Vec<u8>,
}

impl Batch {
    /// A batch from row `first_row` on, for the nodes after `through`. Ends at a readable node, at the latest at `end`,
    /// which must be readable.
    ///
    /// # Errors
    /// If the components of a row are damaged.
    pub(super) fn after(
        rows: &Rows,
        through: u64,
        first_row: usize,
        end: u64,
        anchor: &Anchor,
    ) -> Result<Self, DamagedRow> {
        let first = through + 1;
        // The node of the first surplus row goes to the next block.
        let full = rows.slots().get(first_row + BLOCK_ROWS).map_or(end, |slot| slot.node.get() - 1);
        let (last, leaf) =
            anchor.first_readable(full.clamp(first, end)..=end).unwrap_or((end, Hash::from_bytes([0; 32])));
        let range = first_row..rows.rows_of(NodeRange::first_n(last)).end;
        let (mut codes, mut components) = (Vec::new(), Vec::new());
        let (mut body, mut sums) = (Vec::new(), Vec::with_capacity(range.len()));
        for row in range {
            let (Some(slot), Some(scale)) = (rows.slots().get(row), rows.scales().get(row)) else { break };
            let begin = components.len();
            if rows.is_removed(row) {
                codes.resize(codes.len() + rows.dimensions(), 0);
                components.resize(begin + rows.dimensions() * 4, 0);
            } else {
                codes.extend(rows.codes(row).iter().map(|code| code.cast_unsigned()));
                components.extend(rows.components(row)?.iter().flat_map(|component| component.to_le_bytes()));
            }
            let sum = checksum::crc32c(components.get(begin..).unwrap_or_default());
            Entry { slot: *slot, scale: *scale, sum }.write(&mut body);
            sums.push(sum);
        }
        let block = NewBlock::new((first, last), leaf, &body, &[], checksum::crc32c(&codes));
        Ok(Self { block, last, sums, codes, components })
    }
}
