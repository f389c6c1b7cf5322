//! Serialized postings of runs of nodes of several conversations, searched in place.
//!
//! `docs/format.md` describes the bytes. The block cache verifies their checksum; this module still treats them as
//! untrusted.

use std::sync::Arc;

use memory_core::{
    NodeRange,
    port::{Block, BlockId, BlockRun},
};

use super::{
    numbers::{read_number, write_number},
    stored_rows::StoredRows,
};

/// Version of the bytes, the analyzer and the node table. Raise it whenever one of them changes, so that older blocks
/// are rebuilt.
pub(crate) const VERSION: u32 = 8;

/// Bytes of the counts at the beginning: runs, nodes, terms.
const COUNTS: usize = 12;
/// Bytes of a run in the columns: end of its rows, readable nodes, sum of lengths.
const OF_RUN: usize = 4 + 4 + 8;
/// Bytes of a node's length, which saturates.
const OF_NODE: usize = 2;
/// Bytes of a term in the columns: ends of its text and of its list.
const OF_TERM: usize = 4 + 4;

/// Sorted terms of some runs with their occurrences. Nodes are numbered from 0 across all runs.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    block: Arc<Block>,
    /// Number of the first node of each run.
    begins: Vec<u32>,
    nodes: usize,
    terms: usize,
    /// Offsets of the columns of nodes and terms, and of the areas of rows, texts and lists.
    lengths: usize,
    columns: usize,
    rows: usize,
    texts: usize,
    lists: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct SegmentRun {
    pub(super) segment: Arc<Segment>,
    pub(super) run: usize,
}

/// Occurrences of a term in one run of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) run: usize,
    /// Number of nodes that contain the term.
    pub(crate) nodes: u32,
    /// Encoded [occurrences], relative to the node before the run.
    pub(crate) pairs: &'a [u8],
}

/// Occurrences of a term in a run of nodes: pairs of (distance from the previous node with the term, number of
/// occurrences). The first distance is relative to the node before the run.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    pub(super) pairs: Vec<u8>,
    pub(super) nodes: u32,
    /// Last node; initially the node before the run.
    pub(super) last: u32,
}

impl List {
    /// An empty list for a run after node `before`.
    pub(super) fn after(before: u32) -> Self {
        Self { last: before, ..Self::default() }
    }

    /// Appends a node; returns its encoded length.
    pub(super) fn push(&mut self, position: u32, count: u32) -> usize {
        let bytes =
            write_number(&mut self.pairs, position.wrapping_sub(self.last)) + write_number(&mut self.pairs, count);
        self.last = position;
        self.nodes += 1;
        bytes
    }
}

/// Decodes the pairs of a list after node `before`: nodes and numbers of occurrences.
pub(crate) fn occurrences(mut pairs: &[u8], before: u32) -> impl Iterator<Item = (u32, u32)> {
    let mut position = before;
    std::iter::from_fn(move || {
        position = position.checked_add(read_number(&mut pairs)?)?;
        Some((position, read_number(&mut pairs)?))
    })
}

/// The node before a run.
pub(crate) fn before(nodes: NodeRange) -> u32 {
    u32::try_from(nodes.first().get() - 1).unwrap_or(u32::MAX)
}

impl Segment {
    /// Opens a block; `None` if its layout is invalid.
    pub(crate) fn open(block: &Arc<Block>) -> Option<Self> {
        let bytes = block.bytes()?;
        let count = |at: usize| bytes.get(at..)?.first_chunk::<4>().map(|count| u32::from_le_bytes(*count) as usize);
        let (runs, nodes, terms) = (count(0)?, count(4)?, count(8)?);
        let mut begins = Vec::with_capacity(block.runs.len());
        let mut begin = 0u32;
        for run in &block.runs {
            begins.push(begin);
            begin = begin.checked_add(u32::try_from(run.nodes.count()).ok()?)?;
        }
        if runs != begins.len() || nodes != begin as usize {
            return None;
        }
        let lengths = COUNTS.checked_add(runs.checked_mul(OF_RUN)?)?;
        let columns = lengths.checked_add(nodes.checked_mul(OF_NODE)?)?;
        let rows = columns.checked_add(terms.checked_mul(OF_TERM)?)?;
        if rows > bytes.len() {
            return None;
        }
        let block = Arc::clone(block);
        let mut segment = Self { block, begins, nodes, terms, lengths, columns, rows, texts: rows, lists: rows };
        let are_sorted = (0..runs).map(|run| segment.rows_end(run)).is_sorted()
            && [0, 1].iter().all(|column| (0..terms).map(|row| segment.term_end(*column, row)).is_sorted());
        let last = |column| terms.checked_sub(1).map_or(0, |last| segment.term_end(column, last));
        let rows_length = runs.checked_sub(1).map_or(0, |last| segment.rows_end(last));
        let (texts_length, lists_length) = (last(0), last(1));
        let texts = rows.checked_add(rows_length)?;
        let lists = texts.checked_add(texts_length)?;
        (segment.texts, segment.lists) = (texts, lists);
        (are_sorted && lists.checked_add(lists_length)? == segment.bytes().len()).then_some(segment)
    }

    fn bytes(&self) -> &[u8] {
        self.block.bytes().unwrap_or_default()
    }

    pub(crate) fn id(&self) -> &BlockId {
        &self.block.id
    }

    /// Number of nodes of all runs.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes
    }

    pub(crate) fn runs(&self) -> &[BlockRun] {
        &self.block.runs
    }

    /// Number of the first node of a run.
    pub(crate) fn begin(&self, run: usize) -> usize {
        self.begins.get(run).map_or(0, |begin| *begin as usize)
    }

    /// Number of readable nodes of a run, and the sum of the lengths of all its nodes.
    pub(crate) fn counts(&self, run: usize) -> (u64, u64) {
        let column = |at: usize| COUNTS + self.begins.len() * at;
        let readable = self.number(column(4) + 4 * run) as u64;
        let total = self.bytes().get(column(8) + 8 * run..).and_then(|rest| rest.first_chunk::<8>());
        (readable, total.map_or(0, |total| u64::from_le_bytes(*total)))
    }

    /// Number of terms of a node, at most 65,535.
    pub(crate) fn length(&self, node: usize) -> u32 {
        let length = self.bytes().get(self.lengths + OF_NODE * node..).and_then(|rest| rest.first_chunk::<2>());
        length.map_or(0, |length| u32::from(u16::from_le_bytes(*length)))
    }

    /// Node table of a run; `None` if it is invalid.
    pub(super) fn rows(&self, run: usize) -> Option<StoredRows> {
        let begin = run.checked_sub(1).map_or(0, |before| self.rows_end(before));
        let bytes = self.bytes().get(self.rows + begin..self.rows + self.rows_end(run))?;
        StoredRows::read(bytes, usize::try_from(self.runs().get(run)?.nodes.count()).ok()?)
    }

    /// Occurrences of a term, in order of the runs.
    pub(crate) fn entries(&self, term: &str) -> impl Iterator<Item = Entry<'_>> {
        self.row(term).map(|row| self.entries_of(row)).into_iter().flatten()
    }

    /// All terms with their numbers, sorted. A term that is not UTF-8 is skipped.
    pub(crate) fn terms(&self) -> impl Iterator<Item = (&str, usize)> {
        (0..self.terms).filter_map(|row| Some((std::str::from_utf8(self.text(row)).ok()?, row)))
    }

    /// Occurrences of the term with a number.
    pub(super) fn entries_of(&self, row: usize) -> impl Iterator<Item = Entry<'_>> {
        let (mut rest, mut next) = (self.area(1, self.lists, row), 0u32);
        std::iter::from_fn(move || {
            let run = next.checked_add(read_number(&mut rest)?)?;
            next = run.checked_add(1)?;
            let nodes = read_number(&mut rest)?;
            let length = read_number(&mut rest)? as usize;
            let (pairs, after) = rest.split_at_checked(length)?;
            rest = after;
            Some(Entry { run: run as usize, nodes, pairs })
        })
    }

    fn row(&self, term: &str) -> Option<usize> {
        let (mut low, mut high) = (0, self.terms);
        while low < high {
            let middle = low.midpoint(high);
            match self.text(middle).cmp(term.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    fn text(&self, row: usize) -> &[u8] {
        self.area(0, self.texts, row)
    }

    fn area(&self, column: usize, begin: usize, row: usize) -> &[u8] {
        let from = row.checked_sub(1).map_or(0, |before| self.term_end(column, before));
        self.bytes().get(begin + from..begin + self.term_end(column, row)).unwrap_or_default()
    }

    fn rows_end(&self, run: usize) -> usize {
        self.number(COUNTS + 4 * run)
    }

    fn term_end(&self, column: usize, row: usize) -> usize {
        self.number(self.columns + 4 * (column * self.terms + row))
    }

    fn number(&self, at: usize) -> usize {
        let number = self.bytes().get(at..).and_then(|rest| rest.first_chunk::<4>());
        number.map_or(0, |number| u32::from_le_bytes(*number) as usize)
    }
}

impl SegmentRun {
    /// Nodes of the run; `None` for a missing run.
    pub(super) fn nodes(&self) -> Option<NodeRange> {
        self.segment.runs().get(self.run).map(|run| run.nodes)
    }

    /// Node table; `None` if it is invalid.
    pub(super) fn rows(&self) -> Option<StoredRows> {
        self.segment.rows(self.run)
    }

    /// Occurrences of a term in the run.
    pub(super) fn entry(&self, term: &str) -> Option<Entry<'_>> {
        self.segment.entries(term).take_while(|entry| entry.run <= self.run).find(|entry| entry.run == self.run)
    }
}

#[cfg(test)]
mod tests;
