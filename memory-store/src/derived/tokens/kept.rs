//! The tokens of a conversation in memory: rows mapped from disk, and rows that are not on disk yet.

use std::{
    collections::HashMap,
    ops::Range,
    sync::atomic::{AtomicBool, Ordering},
};

use memory_core::{NodeId, NodeSet, TokenVectors};

use super::{
    super::map::RowMap,
    codec::Codec,
    entries::{read_entry, write_entry},
};
use crate::{checksum, wire::Out};

/// The tokens of the first nodes of a conversation, a row for each token.
#[derive(Debug, Default)]
pub(super) struct Kept {
    nodes: Vec<Span>,
    /// The entries of all nodes, as in the index of a block.
    index: Vec<u8>,
    /// In how many nodes each token id occurs.
    nodes_with: HashMap<u32, u32>,
    nodes_with_tokens: u64,
    /// Rows on disk come first.
    on_disk: OnDisk,
    /// The other rows.
    rows: Vec<u8>,
}

/// The place of a node's tokens.
#[derive(Clone, Copy, Debug)]
struct Span {
    first_row: u64,
    rows: u32,
    entry: usize,
}

/// Rows that are mapped.
#[derive(Debug, Default)]
pub(super) struct OnDisk {
    map: Option<RowMap>,
    blocks: Vec<MappedRows>,
}

/// The rows of a block.
#[derive(Debug)]
pub(super) struct MappedRows {
    pub(super) first_node: u64,
    pub(super) rows: Range<u64>,
    /// Where they begin, relative to the start of the map.
    pub(super) at: usize,
    pub(super) sum: u32,
    /// True if their checksum was compared.
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

    /// The bytes of rows, all of one block, whose checksum is compared on the first read.
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
        // Relaxed: the flag orders no other memory, and at worst a block is checked twice.
        if !block.checked.load(Ordering::Relaxed) {
            if checksum::crc32c(within(block.rows.clone())?) != block.sum {
                return Err(damaged);
            }
            block.checked.store(true, Ordering::Relaxed);
        }
        within(rows)
    }
}

impl Kept {
    /// The last node that is in.
    pub(super) fn through(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// Rows in all.
    pub(super) fn tokens(&self) -> u64 {
        self.nodes.last().map_or(0, |last| last.first_row + u64::from(last.rows))
    }

    pub(super) fn nodes_with_tokens(&self) -> u64 {
        self.nodes_with_tokens
    }

    /// In how many nodes a token id occurs.
    pub(super) fn nodes_with(&self, id: u32) -> u64 {
        u64::from(self.nodes_with.get(&id).copied().unwrap_or(0))
    }

    /// Bytes of rows and index.
    pub(super) fn bytes(&self, codec: &Codec) -> u64 {
        self.tokens() * codec.row_bytes() as u64 + self.index.len() as u64
    }

    /// Bytes of the rows that are not on disk.
    pub(super) fn bytes_in_memory(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Bytes on the heap; mapped rows are not there.
    pub(super) fn heap(&self) -> usize {
        // A map has a byte for each place in addition to its key and value.
        size_of::<Self>()
            + self.nodes.capacity() * size_of::<Span>()
            + self.index.capacity()
            + self.nodes_with.capacity() * (2 * size_of::<u32>() + 1)
            + self.on_disk.blocks.capacity() * size_of::<MappedRows>()
            + self.rows.capacity()
    }

    /// Adds the node that follows.
    pub(super) fn push(&mut self, tokens: &TokenVectors, codec: &Codec) {
        self.rows.reserve(tokens.len() * codec.row_bytes());
        tokens.iter().for_each(|(_, vector)| codec.encode(vector, &mut self.rows));
        self.push_written(u32::try_from(tokens.len()).unwrap_or(u32::MAX), tokens.ids());
    }

    /// Adds the entry of the node that follows.
    fn push_written(&mut self, tokens: u32, ids: &[u32]) {
        let mut entry = Out::default();
        write_entry(tokens, ids, &mut entry);
        self.push_entry(&entry.0);
    }

    /// Adds the entry of the node that follows, whose rows come after those of the others; `None`, with nothing added,
    /// where this is not an entry.
    pub(super) fn push_entry<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (rows, ids, rest) = read_entry(bytes)?;
        self.nodes.push(Span { first_row: self.tokens(), rows, entry: self.index.len() });
        self.index.extend_from_slice(bytes.get(..bytes.len() - rest.len()).unwrap_or_default());
        self.nodes_with_tokens += u64::from(rows > 0);
        ids.into_iter().for_each(|id| *self.nodes_with.entry(id).or_default() += 1);
        Some(rest)
    }

    /// The rows of a node; empty for an unknown node.
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

    /// The entries of the nodes after `after`, up to `last`.
    pub(super) fn entries(&self, after: u64, last: u64) -> &[u8] {
        let at = |node: u64| {
            let span = usize::try_from(node).ok().and_then(|node| self.nodes.get(node));
            span.map_or(self.index.len(), |span| span.entry)
        };
        self.index.get(at(after)..at(last)).unwrap_or_default()
    }

    /// Rows of the first nodes up to this one.
    pub(super) fn rows_through(&self, node: u64) -> u64 {
        let span = usize::try_from(node).ok().and_then(|node| self.nodes.get(node));
        span.map_or(self.tokens(), |span| span.first_row)
    }

    /// The bytes of rows, none of which is on disk yet.
    pub(super) fn unsaved(&self, rows: Range<u64>, row_bytes: usize) -> &[u8] {
        let at = |row: u64| usize::try_from(row.saturating_sub(self.on_disk.rows())).unwrap_or(usize::MAX) * row_bytes;
        self.rows.get(at(rows.start)..at(rows.end)).unwrap_or_default()
    }

    /// Maps the first rows as they are on disk now.
    pub(super) fn rebase(&mut self, on_disk: OnDisk, row_bytes: usize) {
        let moved = on_disk.rows().saturating_sub(self.on_disk.rows());
        let moved = usize::try_from(moved).unwrap_or(usize::MAX).saturating_mul(row_bytes);
        self.rows.drain(..moved.min(self.rows.len()));
        self.on_disk = on_disk;
    }

    /// Adds the nodes of `other` that follow its own, as far as they are whole.
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

    /// The same tokens without those of some nodes, all in memory, for a file that is rewritten. Damaged rows, and
    /// all after them, are left out.
    pub(super) fn without(&self, removed: &NodeSet, row_bytes: usize) -> Self {
        let mut rest = Self::default();
        rest.take(self, row_bytes, |node| removed.contains(node));
        rest
    }

    /// The nodes that have no tokens, or none any more.
    pub(super) fn nodes_without_tokens(&self) -> NodeSet {
        let spans = (0..).map(NodeId::from_index).zip(&self.nodes);
        spans.filter(|(_, span)| span.rows == 0).map(|(node, _)| node).collect()
    }

    /// How many of some nodes have tokens.
    pub(super) fn count(&self, nodes: &NodeSet) -> u64 {
        let spans = (0..).map(NodeId::from_index).zip(&self.nodes);
        spans.filter(|(node, span)| span.rows > 0 && nodes.contains(*node)).count() as u64
    }
}
