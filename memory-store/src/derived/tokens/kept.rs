//! Tokens of a conversation: mapped rows, and unsaved rows in memory.

use std::{
    collections::HashMap,
    ops::Range,
    sync::atomic::{AtomicBool, Ordering},
};

use memory_core::{NodeId, NodeSet, port::TokenVectors};

use super::{
    super::{cached::Data, map::RowMap},
    codec::Codec,
};
use crate::{
    checksum,
    wire::{In, Out},
};

/// Tokens of the first nodes of a conversation; a row for each token.
#[derive(Debug, Default)]
pub(super) struct Kept {
    nodes: Vec<Span>,
    /// Entries of all nodes, in the format of a block's index.
    index: Vec<u8>,
    /// Number of nodes that contain each token id.
    nodes_with: HashMap<u32, u32>,
    nodes_with_tokens: u64,
    /// Mapped rows, which come first.
    on_disk: OnDisk,
    /// Unsaved rows.
    rows: Vec<u8>,
}

/// Rows of a node.
#[derive(Clone, Copy, Debug)]
struct Span {
    first_row: u64,
    rows: u32,
    entry: usize,
}

/// Mapped rows.
#[derive(Debug, Default)]
pub(super) struct OnDisk {
    map: Option<RowMap>,
    blocks: Vec<MappedRows>,
}

/// Mapped rows of a block.
#[derive(Debug)]
pub(super) struct MappedRows {
    pub(super) first_node: u64,
    pub(super) rows: Range<u64>,
    /// Offset of the rows in the map.
    pub(super) at: usize,
    pub(super) sum: u32,
    /// True if the checksum was verified.
    pub(super) checked: AtomicBool,
}

/// The rows of the block that begins with this node are damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DamagedBlock(pub(super) u64);

impl OnDisk {
    pub(super) fn new(map: Option<RowMap>, blocks: Vec<MappedRows>) -> Self {
        Self { map, blocks }
    }

    fn rows(&self) -> u64 {
        self.blocks.last().map_or(0, |block| block.rows.end)
    }

    /// Bytes of rows of one block; verifies the block's checksum on the first read.
    fn bytes(&self, rows: Range<u64>, row_bytes: usize) -> Result<&[u8], DamagedBlock> {
        let block = self.blocks.partition_point(|block| block.rows.end <= rows.start);
        let Some(block) = self.blocks.get(block) else { return Ok(&[]) };
        let damaged = DamagedBlock(block.first_node);
        let place = |rows: Range<u64>| -> Option<Range<usize>> {
            let from = |row: u64| usize::try_from(row.checked_sub(block.rows.start)?).ok()?.checked_mul(row_bytes);
            Some(block.at.checked_add(from(rows.start)?)?..block.at.checked_add(from(rows.end)?)?)
        };
        let map = self.map.as_ref().ok_or(damaged)?.bytes();
        let within = |rows| place(rows).and_then(|place| map.get(place)).ok_or(damaged);
        // Relaxed: the flag orders no other memory; at worst a block is verified twice.
        if !block.checked.load(Ordering::Relaxed) {
            if checksum::crc32c(within(block.rows.clone())?) != block.sum {
                return Err(damaged);
            }
            block.checked.store(true, Ordering::Relaxed);
        }
        within(rows)
    }
}

impl Data for Kept {
    fn heap(&self) -> usize {
        // A hash map has a control byte per slot in addition to key and value.
        size_of::<Self>()
            + self.nodes.capacity() * size_of::<Span>()
            + self.index.capacity()
            + self.nodes_with.capacity() * (2 * size_of::<u32>() + 1)
            + self.on_disk.blocks.capacity() * size_of::<MappedRows>()
            + self.rows.capacity()
    }

    fn through(&self) -> u64 {
        self.nodes.len() as u64
    }

    fn bytes_in_memory(&self) -> u64 {
        self.rows.len() as u64
    }
}

impl Kept {
    /// Number of rows.
    pub(super) fn tokens(&self) -> u64 {
        self.nodes.last().map_or(0, |last| last.first_row + u64::from(last.rows))
    }

    pub(super) fn nodes_with_tokens(&self) -> u64 {
        self.nodes_with_tokens
    }

    /// Number of nodes that contain a token id.
    pub(super) fn nodes_with(&self, id: u32) -> u64 {
        u64::from(self.nodes_with.get(&id).copied().unwrap_or(0))
    }

    /// Distinct token ids of a node; `None` for one without tokens.
    pub(super) fn ids_of(&self, node: NodeId) -> Option<Vec<u32>> {
        let (rows, ids, _) = read_entry(self.entries(node.index() as u64, node.get()))?;
        (rows > 0).then_some(ids)
    }

    /// Bytes of rows and index.
    pub(super) fn bytes(&self, codec: &Codec) -> u64 {
        self.tokens() * codec.row_bytes() as u64 + self.index.len() as u64
    }

    pub(super) fn push(&mut self, tokens: &TokenVectors, codec: &Codec) {
        self.rows.reserve(tokens.len() * codec.row_bytes());
        tokens.iter().for_each(|(_, vector)| codec.encode(vector, &mut self.rows));
        self.push_written(u32::try_from(tokens.len()).unwrap_or(u32::MAX), tokens.ids());
    }

    /// Adds the entry of the next node.
    fn push_written(&mut self, tokens: u32, ids: &[u32]) {
        let mut entry = Out::default();
        write_entry(tokens, ids, &mut entry);
        self.push_entry(&entry.0);
    }

    /// Parses and adds the entry of the next node, whose rows follow those of earlier nodes. Returns the bytes after
    /// it; `None`, without adding anything, if it is invalid.
    pub(super) fn push_entry<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (rows, ids, rest) = read_entry(bytes)?;
        self.nodes.push(Span { first_row: self.tokens(), rows, entry: self.index.len() });
        self.index.extend_from_slice(bytes.get(..bytes.len() - rest.len()).unwrap_or_default());
        self.nodes_with_tokens += u64::from(rows > 0);
        ids.into_iter().for_each(|id| *self.nodes_with.entry(id).or_default() += 1);
        Some(rest)
    }

    /// Rows of a node; empty for an unknown node.
    pub(super) fn rows_of(&self, node: NodeId, row_bytes: usize) -> Result<&[u8], DamagedBlock> {
        self.nodes.get(node.index()).map_or(Ok(&[]), |span| self.rows_at(*span, row_bytes))
    }

    fn rows_at(&self, span: Span, row_bytes: usize) -> Result<&[u8], DamagedBlock> {
        let rows = span.first_row..span.first_row + u64::from(span.rows);
        match rows.start.checked_sub(self.on_disk.rows()) {
            _ if rows.is_empty() => Ok(&[]),
            None => self.on_disk.bytes(rows, row_bytes),
            Some(first) => {
                let begin = usize::try_from(first).unwrap_or(usize::MAX).saturating_mul(row_bytes);
                Ok(self.rows.get(begin..begin + span.rows as usize * row_bytes).unwrap_or_default())
            }
        }
    }

    /// Entries of the nodes after `after` up to `last`.
    pub(super) fn entries(&self, after: u64, last: u64) -> &[u8] {
        let at = |node: u64| {
            let span = usize::try_from(node).ok().and_then(|node| self.nodes.get(node));
            span.map_or(self.index.len(), |span| span.entry)
        };
        self.index.get(at(after)..at(last)).unwrap_or_default()
    }

    /// Number of rows of the nodes up to `node`.
    pub(super) fn rows_through(&self, node: u64) -> u64 {
        let span = usize::try_from(node).ok().and_then(|node| self.nodes.get(node));
        span.map_or(self.tokens(), |span| span.first_row)
    }

    /// Bytes of unsaved rows.
    pub(super) fn unsaved(&self, rows: Range<u64>, row_bytes: usize) -> &[u8] {
        let at = |row: u64| usize::try_from(row.saturating_sub(self.on_disk.rows())).unwrap_or(usize::MAX) * row_bytes;
        self.rows.get(at(rows.start)..at(rows.end)).unwrap_or_default()
    }

    /// Replaces the first rows by mapped ones.
    pub(super) fn rebase(&mut self, on_disk: OnDisk, row_bytes: usize) {
        let moved = on_disk.rows().saturating_sub(self.on_disk.rows());
        let moved = usize::try_from(moved).unwrap_or(usize::MAX).saturating_mul(row_bytes);
        self.rows.drain(..moved.min(self.rows.len()));
        self.on_disk = on_disk;
    }

    /// Adds the nodes of `other` after its own last one, as far as they are undamaged.
    pub(super) fn take_after(&mut self, other: &Self, row_bytes: usize) {
        self.take(other, row_bytes, |_| false);
    }

    fn take(&mut self, other: &Self, row_bytes: usize, is_removed: impl Fn(NodeId) -> bool) {
        for index in self.nodes.len()..other.nodes.len() {
            let node = NodeId::from_index(index);
            if is_removed(node) {
                self.push_written(0, &[]);
                continue;
            }
            let Ok(rows) = other.rows_of(node, row_bytes) else { break };
            self.rows.extend_from_slice(rows);
            self.push_entry(other.entries(index as u64, index as u64 + 1));
        }
    }

    /// A copy in memory without the tokens of some nodes, for rewriting the file. Ends before the first damaged row.
    pub(super) fn without(&self, removed: &NodeSet, row_bytes: usize) -> Self {
        let mut rest = Self::default();
        rest.take(self, row_bytes, |node| removed.contains(node));
        rest
    }

    /// Nodes without tokens.
    pub(super) fn nodes_without_tokens(&self) -> NodeSet {
        let spans = (0..).map(NodeId::from_index).zip(&self.nodes);
        spans.filter(|(_, span)| span.rows == 0).map(|(node, _)| node).collect()
    }

    /// Number of the given nodes that have tokens.
    pub(super) fn count(&self, nodes: &NodeSet) -> u64 {
        let spans = (0..).map(NodeId::from_index).zip(&self.nodes);
        spans.filter(|(node, span)| span.rows > 0 && nodes.contains(*node)).count() as u64
    }
}

/// Appends the entry of a node: its number of tokens and its distinct token ids.
fn write_entry(tokens: u32, ids: &[u32], out: &mut Out) {
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

/// Parses an entry; also returns the bytes after it. `None` if it is invalid.
pub(super) fn read_entry(bytes: &[u8]) -> Option<(u32, Vec<u32>, &[u8])> {
    let mut bytes = In(bytes);
    let tokens = bytes.u32()?;
    let count = bytes.u32()?;
    // An id takes at least one byte, which bounds the allocation for an invalid count.
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
}
