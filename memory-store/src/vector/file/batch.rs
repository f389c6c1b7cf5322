//! Rows that are written together and named by one block.

use memory_core::{Hash, NodeRange};

use super::{
    super::rows::{DamagedRow, Rows},
    block::{Block, Entry},
};
use crate::checksum;

/// A block names no more rows than this but for a node that alone has more: as many are lost when one is damaged.
const ROWS: usize = 4096;

/// A block and the bytes of its rows.
pub(super) struct Batch {
    pub(super) block: Block,
    pub(super) codes: Vec<u8>,
    pub(super) components: Vec<u8>,
}

impl Batch {
    /// The rows from `first_row` on, which are those of the nodes behind `through`, up to node `end` at most. `leaf`
    /// gives the leaf of a node that can be read, as `end` can.
    ///
    /// # Errors
    /// When the components of a row are damaged.
    pub(super) fn after(
        rows: &Rows,
        through: u64,
        first_row: usize,
        end: u64,
        leaf: impl Fn(u64) -> Option<Hash>,
    ) -> Result<Self, DamagedRow> {
        let first = through + 1;
        // The node of the first row that is too many goes to the next block.
        let full = rows.slots().get(first_row + ROWS).map_or(end, |slot| slot.node.get() - 1);
        let (last, leaf) = (full.clamp(first, end)..=end)
            .find_map(|node| Some((node, leaf(node)?)))
            .unwrap_or((end, Hash::from_bytes([0; 32])));
        let range = first_row..rows.rows_of(NodeRange::first_n(last)).end;
        let (mut codes, mut components) = (Vec::new(), Vec::new());
        let mut entries = Vec::with_capacity(range.len());
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
            entries.push(Entry { slot: *slot, scale: *scale, sum });
        }
        let codes_sum = checksum::crc32c(&codes);
        Ok(Self { block: Block { first, last, leaf, codes_sum, entries }, codes, components })
    }
}
