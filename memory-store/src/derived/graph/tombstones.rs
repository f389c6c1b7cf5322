//! Removed nodes, which are walked through but never results.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A bit for each node; bits can be set during searches.
#[derive(Debug, Default)]
pub(super) struct Tombstones {
    words: Vec<AtomicU64>,
    count: AtomicUsize,
}

impl Tombstones {
    /// Bytes for the bits of this many nodes.
    pub(super) const fn bytes_of(nodes: usize) -> usize {
        nodes.div_ceil(64) * size_of::<u64>()
    }

    pub(super) fn decode(bytes: &[u8]) -> Self {
        let words: Vec<_> = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let count = words.iter().map(|word| word.count_ones() as usize).sum();
        Self { words: words.into_iter().map(AtomicU64::new).collect(), count: AtomicUsize::new(count) }
    }

    pub(super) fn encode(&self, nodes: usize, out: &mut Vec<u8>) {
        for word in self.words.iter().take(nodes.div_ceil(64)) {
            out.extend_from_slice(&word.load(Ordering::Acquire).to_le_bytes());
        }
    }

    pub(super) fn grow(&mut self, nodes: usize) {
        let words = nodes.div_ceil(64);
        if words > self.words.len() {
            self.words.resize_with(words, AtomicU64::default);
        }
    }

    /// Sets the bit of a node; returns true if it was clear.
    pub(super) fn add(&self, node: u32) -> bool {
        let bit = 1u64 << (node % 64);
        let Some(word) = self.words.get(node as usize / 64) else { return false };
        // Release ordering: a search that begins after the removal has returned must not find the node.
        let is_new = word.fetch_or(bit, Ordering::Release) & bit == 0;
        self.count.fetch_add(usize::from(is_new), Ordering::Release);
        is_new
    }

    pub(super) fn has(&self, node: u32) -> bool {
        let word = self.words.get(node as usize / 64);
        word.is_some_and(|word| word.load(Ordering::Acquire) & (1 << (node % 64)) != 0)
    }

    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>()
    }
}
