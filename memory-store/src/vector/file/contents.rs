//! What the blocks of a file of vectors say.

use std::thread;

use memory_core::Slot;

use super::block::Block;
use crate::{
    checksum,
    vector::{map::RowMap, scan::threads_for},
};

/// What the blocks of a file say, all in a row.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) slots: Vec<Slot>,
    pub(super) scales: Vec<f32>,
    pub(super) sums: Vec<u32>,
    /// Where a block's rows end, and what their codes sum up to.
    codes: Vec<(usize, u32)>,
}

impl Contents {
    pub(super) fn add(&mut self, block: &Block) {
        for entry in &block.entries {
            self.slots.push(entry.slot);
            self.scales.push(entry.scale);
            self.sums.push(entry.sum);
        }
        self.codes.push((self.slots.len(), block.codes_sum));
    }

    pub(super) fn truncate(&mut self, rows: usize) {
        self.slots.truncate(rows);
        self.scales.truncate(rows);
        self.sums.truncate(rows);
        self.codes.retain(|(end, _)| *end <= rows);
    }

    /// Whether all codes are those that were written. All cores look: an index is opened for an answer.
    pub(super) fn are_whole(&self, codes: &RowMap, dimensions: usize) -> bool {
        let is_whole = |(begin, end, sum): &(usize, usize, u32)| {
            let bytes = codes.bytes().get(begin * dimensions..end * dimensions);
            bytes.is_some_and(|bytes| checksum::crc32c(bytes) == *sum)
        };
        let begins = std::iter::once(0).chain(self.codes.iter().map(|(end, _)| *end));
        let blocks: Vec<_> = begins.zip(&self.codes).map(|(begin, (end, sum))| (begin, *end, *sum)).collect();
        let share = blocks.len().div_ceil(threads_for(codes.bytes().len())).max(1);
        if share >= blocks.len() {
            return blocks.iter().all(is_whole);
        }
        thread::scope(|scope| {
            let shares = blocks.chunks(share).map(|share| scope.spawn(move || share.iter().all(is_whole)));
            // All begin before the first is waited for.
            let shares: Vec<_> = shares.collect();
            shares.into_iter().all(|share| share.join().unwrap_or(false))
        })
    }
}
