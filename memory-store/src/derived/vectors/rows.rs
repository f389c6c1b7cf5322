//! The vectors of a conversation in memory: rows mapped from disk, and rows that are not on disk yet.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use memory_core::{NodeId, NodeRange, NodeSet, Slot};

use super::{super::map::RowMap, kernel::quantize};
use crate::checksum;

/// Vectors by row, in the order of their slots. Rows keep their numbers as long as the [`id`](Rows::id) stays.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// Changes whenever rows change their numbers or are cut off.
    id: u64,
    dimensions: usize,
    slots: Vec<Slot>,
    /// The factor of the codes; 0 for a removed row, which no unit vector has.
    scales: Vec<f32>,
    /// The first rows, as they are on disk.
    base: Base,
    /// Codes and components of the others.
    codes: Vec<i8>,
    components: Vec<f32>,
    removed: usize,
    through: u64,
}

/// Rows that are mapped from disk.
#[derive(Debug, Default)]
pub(super) struct Base {
    pub(super) rows: usize,
    pub(super) codes: Codes,
    pub(super) components: Option<RowMap>,
    /// Checksum over each row's components.
    pub(super) sums: Vec<u32>,
    /// A bit for each row whose components were verified.
    pub(super) checked: Vec<AtomicU64>,
}

/// The verified codes of mapped rows.
#[derive(Debug)]
pub(super) enum Codes {
    /// As they are on disk.
    Mapped(RowMap),
    /// Rebuilt from the components.
    Derived(Vec<i8>),
}

impl Default for Codes {
    fn default() -> Self {
        Self::Derived(Vec::new())
    }
}

/// The components of a row are damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DamagedRow(pub(super) usize);

impl Base {
    pub(super) fn new(codes: Codes, components: RowMap, sums: Vec<u32>) -> Self {
        let rows = sums.len();
        let checked = std::iter::repeat_with(AtomicU64::default).take(rows.div_ceil(64)).collect();
        Self { rows, codes, components: Some(components), sums, checked }
    }

    fn codes(&self) -> &[i8] {
        match &self.codes {
            Codes::Mapped(map) => map.codes(),
            Codes::Derived(codes) => codes,
        }
    }

    /// The components of a row, whose checksum is compared on the first read.
    fn components(&self, row: usize, dimensions: usize) -> Result<&[f32], DamagedRow> {
        let damaged = DamagedRow(row);
        let map = self.components.as_ref().ok_or(damaged)?;
        let (word, bit) = (self.checked.get(row / 64).ok_or(damaged)?, 1 << (row % 64));
        // Relaxed: the bit orders no other memory, and at worst a row is checked twice.
        if word.load(Ordering::Relaxed) & bit == 0 {
            let bytes = map.bytes().get(row * dimensions * 4..(row + 1) * dimensions * 4).ok_or(damaged)?;
            if self.sums.get(row) != Some(&checksum::crc32c(bytes)) {
                return Err(damaged);
            }
            word.fetch_or(bit, Ordering::Relaxed);
        }
        map.components().get(row * dimensions..(row + 1) * dimensions).ok_or(damaged)
    }
}

impl Rows {
    pub(super) fn new(dimensions: usize) -> Self {
        Self { id: new_id(), dimensions, ..Self::default() }
    }

    /// Identifies the rows: what is known of the rows of an id stays valid while they have it.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Rows that are mapped from disk.
    pub(super) fn on_disk(&self) -> usize {
        self.base.rows
    }

    /// The first rows that are stored in one block, and their codes: all where none are on disk.
    pub(super) fn first_block(&self) -> (usize, &[i8]) {
        let [(on_disk, mapped), (others, codes)] = self.blocks();
        if on_disk.is_empty() { (others.end, codes) } else { (on_disk.end, mapped) }
    }

    /// Bytes of the rows that are not on disk.
    pub(super) fn bytes_in_memory(&self) -> u64 {
        (self.codes.len() + size_of_val(self.components.as_slice())) as u64
    }

    /// Bytes on the heap; mapped rows are not there.
    pub(super) fn heap(&self) -> usize {
        let derived = if let Codes::Derived(codes) = &self.base.codes { codes.capacity() } else { 0 };
        let numbers = self.scales.capacity() + self.base.sums.capacity() + self.components.capacity();
        size_of::<Self>()
            + self.slots.capacity() * size_of::<Slot>()
            + numbers * size_of::<f32>()
            + self.base.checked.capacity() * size_of::<AtomicU64>()
            + self.codes.capacity()
            + derived
    }

    /// Rows that are all on disk.
    pub(super) fn of_base(dimensions: usize, slots: Vec<Slot>, scales: Vec<f32>, base: Base, through: u64) -> Self {
        let removed = scales.iter().filter(|scale| **scale == 0.0).count();
        Self { slots, scales, base, removed, through, ..Self::new(dimensions) }
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Rows, removed ones included.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn removed(&self) -> usize {
        self.removed
    }

    /// The last node that is in.
    pub(super) fn through(&self) -> u64 {
        self.through
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    pub(super) fn scales(&self) -> &[f32] {
        &self.scales
    }

    /// Runs of rows whose codes are contiguous: those on disk, and the others.
    pub(super) fn blocks(&self) -> [(Range<usize>, &[i8]); 2] {
        [(0..self.base.rows, self.base.codes()), (self.base.rows..self.len(), &self.codes)]
    }

    /// The components of a row as they were inserted.
    pub(super) fn components(&self, row: usize) -> Result<&[f32], DamagedRow> {
        match row.checked_sub(self.base.rows) {
            None => self.base.components(row, self.dimensions),
            Some(row) => self.components.get(row * self.dimensions..(row + 1) * self.dimensions).ok_or(DamagedRow(row)),
        }
    }

    /// Adds a node that follows the last, with verified vectors.
    pub(super) fn push(&mut self, node: NodeId, vectors: &[Vec<f32>]) {
        for (chunk, vector) in (0..).zip(vectors) {
            self.push_row(Slot { node, chunk }, vector);
        }
        self.through = node.get();
    }

    fn push_row(&mut self, slot: Slot, vector: &[f32]) {
        self.slots.push(slot);
        self.scales.push(quantize(vector, &mut self.codes));
        self.components.extend_from_slice(vector);
    }

    /// Adds the rows of `other` for nodes after its own, as far as they are whole.
    pub(super) fn take_after(&mut self, other: &Self) {
        let first = other.rows_of(NodeRange::first_n(self.through)).end;
        let mut through = other.through;
        for row in first..other.len() {
            let Some(slot) = other.slots.get(row) else { break };
            if other.is_removed(row) {
                self.slots.push(*slot);
                self.scales.push(0.0);
                self.codes.resize(self.codes.len() + self.dimensions, 0);
                self.components.resize(self.components.len() + self.dimensions, 0.0);
                self.removed += 1;
            } else if let Ok(vector) = other.components(row) {
                self.push_row(*slot, vector);
            } else {
                // The node is incomplete, and so are its rows here.
                through = slot.node.get() - 1;
                break;
            }
        }
        self.through = self.through.max(through);
        self.truncate(self.rows_of(NodeRange::first_n(self.through)).end);
    }

    /// Takes the place of these by those that another process has written, `take`s those of its own that follow them,
    /// and removes what was removed here.
    pub(super) fn follow(&mut self, mut theirs: Self, take: bool) {
        if take {
            theirs.take_after(self);
            theirs.remove(&self.removed_nodes());
        }
        // The same rows have the same numbers: what is known of them stays valid.
        if theirs.slots.starts_with(&self.slots) {
            theirs.id = self.id;
        }
        *self = theirs;
    }

    /// Forgets the rows from `rows` on.
    fn truncate(&mut self, rows: usize) {
        if rows >= self.len() {
            return;
        }
        self.id = new_id();
        let rest = rows.saturating_sub(self.base.rows);
        self.codes.truncate(rest * self.dimensions);
        self.components.truncate(rest * self.dimensions);
        self.slots.truncate(rows);
        self.scales.truncate(rows);
        self.base.rows = self.base.rows.min(rows);
        self.removed = self.scales.iter().filter(|scale| **scale == 0.0).count();
    }

    /// Forgets the rows of nodes after `through`.
    pub(super) fn cut(&mut self, through: u64) {
        self.through = self.through.min(through);
        self.truncate(self.rows_of(NodeRange::first_n(through)).end);
    }

    /// Maps the first rows as they are on disk now: those of `sums`, after as many of the old ones as are whole and not
    /// among them.
    pub(super) fn rebase(&mut self, codes: Codes, components: RowMap, rows: usize, sums: Vec<u32>) {
        let moved = rows.saturating_sub(self.base.rows) * self.dimensions;
        self.codes.drain(..moved.min(self.codes.len()));
        self.components.drain(..moved.min(self.components.len()));
        let mut all = std::mem::take(&mut self.base.sums);
        all.truncate(rows.saturating_sub(sums.len()));
        all.extend(sums);
        self.base = Base::new(codes, components, all);
    }

    /// The codes of a row.
    pub(super) fn codes(&self, row: usize) -> &[i8] {
        let (row, block) = match row.checked_sub(self.base.rows) {
            None => (row, self.base.codes()),
            Some(row) => (row, self.codes.as_slice()),
        };
        block.get(row * self.dimensions..(row + 1) * self.dimensions).unwrap_or_default()
    }

    /// The nodes whose rows were removed.
    pub(super) fn removed_nodes(&self) -> NodeSet {
        let slots = self.slots.iter().zip(&self.scales);
        slots.filter(|(_, scale)| **scale == 0.0).map(|(slot, _)| slot.node).collect()
    }

    /// How many of the first rows were removed.
    pub(super) fn removed_before(&self, rows: usize) -> usize {
        if self.removed == 0 {
            return 0;
        }
        self.scales.iter().take(rows).filter(|scale| **scale == 0.0).count()
    }

    /// True if at least a quarter of the rows were removed.
    pub(super) fn wants_rebuilding(&self) -> bool {
        self.removed > 0 && self.removed * 4 >= self.len()
    }

    pub(super) fn is_removed(&self, row: usize) -> bool {
        self.scales.get(row).is_none_or(|scale| *scale == 0.0)
    }

    /// Removes the rows of nodes; gives how many there were. Their numbers stay taken.
    pub(super) fn remove(&mut self, nodes: &NodeSet) -> usize {
        let mut removed = 0;
        for rows in self.runs_of(nodes) {
            for scale in self.scales.get_mut(rows).unwrap_or_default() {
                removed += usize::from(*scale != 0.0);
                *scale = 0.0;
            }
        }
        self.removed += removed;
        removed
    }

    /// The same rows without removed ones, all in memory, for files that are rewritten.
    ///
    /// # Errors
    /// When a row's components are damaged.
    pub(super) fn without_removed(&self) -> Result<Self, DamagedRow> {
        let mut rest = Self::new(self.dimensions);
        for (row, slot) in self.slots.iter().enumerate().filter(|(row, _)| !self.is_removed(*row)) {
            rest.push_row(*slot, self.components(row)?);
        }
        rest.through = self.through;
        Ok(rest)
    }

    /// The rows of a run of nodes; empty for an empty run.
    pub(super) fn rows_of(&self, nodes: Option<NodeRange>) -> Range<usize> {
        let Some(nodes) = nodes else { return 0..0 };
        let begin = self.slots.partition_point(|slot| slot.node < nodes.first());
        begin..self.slots.partition_point(|slot| slot.node <= nodes.last())
    }

    /// The rows of some nodes, in runs.
    pub(super) fn runs_of(&self, nodes: &NodeSet) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::with_capacity(nodes.runs().len().min(self.len()));
        // Most nodes have one row: each run is first looked for where it would be if that held since the one before.
        // The guess needs no memory read, so the processor need not finish one run before it looks at the next.
        let (mut from, mut ahead) = (0, 0);
        for run in nodes.runs() {
            let rest = self.slots.get(from..).unwrap_or_default();
            let first = run.first().index();
            let begin = from
                + partition_near(rest, first.saturating_add_signed(ahead).saturating_sub(from), |slot| {
                    slot.node < run.first()
                });
            ahead = begin.wrapping_sub(first).cast_signed();
            let rest = self.slots.get(begin..).unwrap_or_default();
            let count = usize::try_from(run.count()).unwrap_or(usize::MAX);
            let end = begin + partition_near(rest, count, |slot| slot.node <= run.last());
            match runs.last_mut() {
                _ if begin == end => {}
                Some(last) if last.end == begin => last.end = end,
                _ => runs.push(begin..end),
            }
            from = end;
            if from == self.len() {
                break;
            }
        }
        runs
    }
}

fn new_id() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// How many of the first slots fulfil a condition that the later ones do not: at once where `guess` is right, and
/// faster the nearer it is.
#[inline]
fn partition_near(slots: &[Slot], guess: usize, fulfil: impl Fn(&Slot) -> bool) -> usize {
    let guess = guess.min(slots.len());
    let fulfils = |at: usize| slots.get(at).is_some_and(&fulfil);
    let (mut low, mut high, mut step) = (guess, guess, 1);
    if guess > 0 && !fulfils(guess - 1) {
        while low > 0 && !fulfils(low - 1) {
            high = low - 1;
            low = low.saturating_sub(step);
            step *= 2;
        }
    } else {
        while fulfils(high) {
            low = high + 1;
            high = high.saturating_add(step).min(slots.len());
            step *= 2;
        }
    }
    low + slots.get(low..high).unwrap_or_default().partition_point(fulfil)
}

#[cfg(test)]
mod tests;
