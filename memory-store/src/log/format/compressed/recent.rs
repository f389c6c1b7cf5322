//! The blocks that were decompressed last.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

/// Blocks kept of each segment: neighbours are read together, by several readers at once.
const KEPT: usize = 8;

/// The last blocks, the newest in front. The lock is held while pointers move, never while a block is decompressed.
#[derive(Debug, Default)]
pub(super) struct Recent {
    blocks: Mutex<VecDeque<(u32, Arc<[u8]>)>>,
}

impl Recent {
    pub(super) fn get(&self, index: u32) -> Option<Arc<[u8]>> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let at = blocks.iter().position(|(kept, _)| *kept == index)?;
        let block = blocks.remove(at)?;
        let bytes = block.1.clone();
        blocks.push_front(block);
        Some(bytes)
    }

    pub(super) fn put(&self, index: u32, bytes: Arc<[u8]>) {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        // Two readers may have missed the same block.
        blocks.retain(|(kept, _)| *kept != index);
        blocks.truncate(KEPT - 1);
        blocks.push_front((index, bytes));
    }
}
