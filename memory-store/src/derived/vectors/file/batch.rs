//! Rows that one block refers to.

use memory_core::{Hash, NodeRange};

use super::{
    super::{
        super::{anchor::Anchor, file::NewBlock},
        rows::{DamagedRow, Rows},
    },
    entries::Entry,
};
use crate::checksum;

/// Maximum rows of a block, except for the rows of a single node, since damage to a block loses all of them.
const ROWS: usize = 4096;

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
        let full = rows.slots().get(first_row + ROWS).map_or(end, |slot| slot.node.get() - 1);
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
