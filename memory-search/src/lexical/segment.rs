//! Serialized postings of a run of nodes, searched without unpacking.
//!
//! `docs/format.md` describes the bytes. The block cache verifies their checksum; this module treats them as untrusted
//! all the same.

use std::{collections::BTreeMap, sync::Arc};

use memory_core::{Block, NodeRange};

use super::{
    numbers::{read_number, write_number},
    stored_rows::StoredRows,
};

/// The version of the bytes, of the analyzer and of the node table. It is raised whenever one of them changes, so that
/// older blocks are rebuilt.
pub(crate) const VERSION: u32 = 3;

/// The terms of a run of nodes, sorted, and where they occur.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    bytes: Arc<[u8]>,
    nodes: NodeRange,
    terms: usize,
    /// Offsets of the three columns of numbers, the texts and the lists.
    columns: usize,
    texts: usize,
    lists: usize,
}

/// The postings of a term in a run of nodes: pairs of (distance from the previous node that has it, occurrences). The
/// first distance is from the node before the run.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    pub(super) pairs: Vec<u8>,
    pub(super) nodes: u32,
    /// Position of the last node; initially that of the node before the run.
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

/// Decodes the pairs of a list after node `before`: positions and counts.
pub(super) fn occurrences(mut pairs: &[u8], before: u32) -> impl Iterator<Item = (u32, u32)> {
    let mut position = before;
    std::iter::from_fn(move || {
        position = position.checked_add(read_number(&mut pairs)?)?;
        Some((position, read_number(&mut pairs)?))
    })
}

impl Segment {
    /// Decodes a block into its postings and its node table; `None` if it is invalid.
    pub(super) fn open(block: &Block) -> Option<(Self, StoredRows)> {
        let bytes = &block.bytes;
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (rows, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let (terms, rest) = rest.split_first_chunk::<4>()?;
        let terms = u32::from_le_bytes(*terms) as usize;
        let columns = bytes.len() - rest.len();
        // Three columns of four bytes.
        let (_, areas) = rest.split_at_checked(terms.checked_mul(12)?)?;
        let texts = bytes.len() - areas.len();
        let mut segment = Self { bytes: Arc::clone(bytes), nodes: block.nodes, terms, columns, texts, lists: texts };
        let is_sorted = |column: usize| {
            let ends = (0..terms).map(|row| segment.number(column, row));
            ends.is_sorted()
        };
        if !is_sorted(0) || !is_sorted(1) {
            return None;
        }
        let ends = |column: usize| terms.checked_sub(1).map_or(0, |last| segment.number(column, last));
        let (texts_length, lists_length) = (ends(0), ends(1));
        if areas.len() != texts_length.checked_add(lists_length)? {
            return None;
        }
        segment.lists = texts + texts_length;
        let rows = StoredRows::read(rows, usize::try_from(block.nodes.count()).ok()?)?;
        Some((segment, rows))
    }

    /// Serializes these terms and rows; `None` if they are too many for a block.
    pub(super) fn block(nodes: NodeRange, rows: &[u8], terms: &BTreeMap<Box<str>, List>) -> Option<Block> {
        let mut out = Vec::new();
        out.extend_from_slice(&u32::try_from(rows.len()).ok()?.to_le_bytes());
        out.extend_from_slice(rows);
        out.extend_from_slice(&u32::try_from(terms.len()).ok()?.to_le_bytes());
        write_ends(&mut out, terms.keys().map(|text| text.len()))?;
        write_ends(&mut out, terms.values().map(|list| list.pairs.len()))?;
        terms.values().for_each(|list| out.extend_from_slice(&list.nodes.to_le_bytes()));
        terms.keys().for_each(|text| out.extend_from_slice(text.as_bytes()));
        terms.values().for_each(|list| out.extend_from_slice(&list.pairs));
        Some(Block::new(nodes, out))
    }

    /// The run of nodes.
    pub(super) fn nodes(&self) -> NodeRange {
        self.nodes
    }

    /// Its size in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The position of the node before the run.
    pub(super) fn before(&self) -> u32 {
        u32::try_from(self.nodes.first().get() - 1).unwrap_or(u32::MAX)
    }

    /// How many nodes contain a term.
    pub(super) fn nodes_with(&self, term: &str) -> u32 {
        self.row(term).map_or(0, |row| u32::try_from(self.number(2, row)).unwrap_or_default())
    }

    /// The pairs of a term; empty if no node contains it.
    pub(super) fn pairs(&self, term: &str) -> &[u8] {
        self.row(term).map_or(&[], |row| self.list(row))
    }

    /// All terms with their lists, sorted; a term that is not UTF-8 is skipped.
    pub(super) fn terms(&self) -> impl Iterator<Item = (&str, &[u8])> {
        (0..self.terms).filter_map(|row| Some((std::str::from_utf8(self.text(row)).ok()?, self.list(row))))
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

    fn list(&self, row: usize) -> &[u8] {
        self.area(1, self.lists, row)
    }

    fn area(&self, column: usize, begin: usize, row: usize) -> &[u8] {
        let from = row.checked_sub(1).map_or(0, |before| self.number(column, before));
        self.bytes.get(begin + from..begin + self.number(column, row)).unwrap_or_default()
    }

    /// One number in a column of the dictionary.
    fn number(&self, column: usize, row: usize) -> usize {
        let at = self.columns + 4 * (column * self.terms + row);
        let number = self.bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
        number.map_or(0, |number| u32::from_le_bytes(*number) as usize)
    }
}

/// Appends the end offsets of consecutive pieces; `None` if one exceeds 32 bits.
fn write_ends(out: &mut Vec<u8>, lengths: impl Iterator<Item = usize>) -> Option<()> {
    let mut end = 0usize;
    for length in lengths {
        end = end.checked_add(length)?;
        out.extend_from_slice(&u32::try_from(end).ok()?.to_le_bytes());
    }
    Some(())
}

#[cfg(test)]
mod tests;
