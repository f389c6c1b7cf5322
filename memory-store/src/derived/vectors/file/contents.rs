//! Contents of the blocks of a vector file.

use std::thread;

use memory_core::port::Slot;

use super::{
    super::{
        super::{block::BlockHeader, map::RowMap},
        scan::threads_for,
    },
    entries,
};
use crate::checksum;

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
        let Some(entries) = entries::read(header, body) else { return false };
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
            let mut shares = Vec::new();
            for share in blocks.chunks(share) {
                let check = move || share.iter().all(is_whole);
                shares.push((thread::Builder::new().spawn_scoped(scope, check).ok(), share));
            }
            // All threads run before the first is joined. If the system refuses one, this thread does its share.
            shares.into_iter().all(|(thread, share)| match thread {
                Some(thread) => thread.join().unwrap_or(false),
                None => share.iter().all(is_whole),
            })
        })
    }
}
