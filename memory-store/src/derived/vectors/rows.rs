//! Vectors of a conversation: mapped rows, and unsaved rows in memory.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use memory_core::{NodeId, NodeRange, NodeSet, port::Slot};

use super::{
    super::{cached::Data, map::RowMap},
    kernel::quantize,
};
use crate::checksum;

/// Vectors as rows, in the order of their slots. Row numbers are stable while the [`id`](Rows::id) is.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// Changes whenever rows are renumbered or cut off.
    id: u64,
    dimensions: usize,
    slots: Vec<Slot>,
    /// Scale of the codes; 0 for a removed row, which no unit vector has.
    scales: Vec<f32>,
    /// Mapped rows, which come first.
    base: Base,
    /// Codes and components of unsaved rows.
    codes: Vec<i8>,
    components: Vec<f32>,
    removed: usize,
    through: u64,
}

/// Mapped rows.
#[derive(Debug, Default)]
pub(super) struct Base {
    pub(super) rows: usize,
    pub(super) codes: Codes,
    pub(super) components: Option<RowMap>,
    /// Checksum of the components of each row.
    pub(super) sums: Vec<u32>,
    /// A bit for each row with verified components.
    pub(super) checked: Vec<AtomicU64>,
}

/// Verified codes of mapped rows.
#[derive(Debug)]
pub(super) enum Codes {
    /// Mapped from disk.
    Mapped(RowMap),
    /// Rebuilt from the components.
    Derived(Vec<i8>),
}

impl Default for Codes {
    fn default() -> Self {
        Self::Derived(Vec::new())
    }
}

/// The components of this row are damaged.
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

    /// Components of a row; verifies the checksum on the first read.
    fn components(&self, row: usize, dimensions: usize) -> Result<&[f32], DamagedRow> {
        let damaged = DamagedRow(row);
        let map = self.components.as_ref().ok_or(damaged)?;
        let (word, bit) = (self.checked.get(row / 64).ok_or(damaged)?, 1 << (row % 64));
        // Relaxed: the bit orders no other memory; at worst a row is verified twice.
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

impl Data for Rows {
    fn heap(&self) -> usize {
        let derived = if let Codes::Derived(codes) = &self.base.codes { codes.capacity() } else { 0 };
        let numbers = self.scales.capacity() + self.base.sums.capacity() + self.components.capacity();
        size_of::<Self>()
            + self.slots.capacity() * size_of::<Slot>()
            + numbers * size_of::<f32>()
            + self.base.checked.capacity() * size_of::<AtomicU64>()
            + self.codes.capacity()
            + derived
    }

    fn through(&self) -> u64 {
        self.through
    }

    fn bytes_in_memory(&self) -> u64 {
        (self.codes.len() + size_of_val(self.components.as_slice())) as u64
    }

    fn compact(&mut self) {
        if self.wants_rebuilding()
            && let Ok(rest) = self.without_removed()
        {
            *self = rest;
        }
    }
}

impl Rows {
    pub(super) fn new(dimensions: usize) -> Self {
        Self { id: new_id(), dimensions, ..Self::default() }
    }

    /// Identity of the rows. Results for rows of one id stay valid while the id does not change.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Number of mapped rows.
    pub(super) fn on_disk(&self) -> usize {
        self.base.rows
    }

    /// Number and codes of the rows in the first contiguous block: all rows if none are mapped.
    pub(super) fn first_block(&self) -> (usize, &[i8]) {
        let [(on_disk, mapped), (others, codes)] = self.blocks();
        if on_disk.is_empty() { (others.end, codes) } else { (on_disk.end, mapped) }
    }

    /// Rows that are all mapped.
    pub(super) fn of_base(dimensions: usize, slots: Vec<Slot>, scales: Vec<f32>, base: Base, through: u64) -> Self {
        let removed = scales.iter().filter(|scale| **scale == 0.0).count();
        Self { slots, scales, base, removed, through, ..Self::new(dimensions) }
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Number of rows, including removed ones.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn removed(&self) -> usize {
        self.removed
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    pub(super) fn scales(&self) -> &[f32] {
        &self.scales
    }

    /// Blocks of rows with contiguous codes: mapped rows, and the others.
    pub(super) fn blocks(&self) -> [(Range<usize>, &[i8]); 2] {
        [(0..self.base.rows, self.base.codes()), (self.base.rows..self.len(), &self.codes)]
    }

    /// Original components of a row.
    pub(super) fn components(&self, row: usize) -> Result<&[f32], DamagedRow> {
        match row.checked_sub(self.base.rows) {
            None => self.base.components(row, self.dimensions),
            Some(row) => self.components.get(row * self.dimensions..(row + 1) * self.dimensions).ok_or(DamagedRow(row)),
        }
    }

    /// Adds the next node with validated vectors.
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

    /// Adds the rows of `other` for nodes after its own last one, as far as they are undamaged.
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
                // A node with a damaged row is left out completely.
                through = slot.node.get() - 1;
                break;
            }
        }
        self.through = self.through.max(through);
        self.truncate(self.rows_of(NodeRange::first_n(self.through)).end);
    }

    /// Replaces the rows by `theirs`, which another process has written. If `take`, adds the own rows that follow them,
    /// and removes what was removed here.
    pub(super) fn follow(&mut self, mut theirs: Self, take: bool) {
        if take {
            theirs.take_after(self);
            theirs.remove(&self.removed_nodes());
        }
        // Equal slots have equal row numbers, so results for them stay valid.
        if theirs.slots.starts_with(&self.slots) {
            theirs.id = self.id;
        }
        *self = theirs;
    }

    /// Drops the rows from `rows` on.
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

    /// Drops the rows of nodes after `through`.
    pub(super) fn cut(&mut self, through: u64) {
        self.through = self.through.min(through);
        self.truncate(self.rows_of(NodeRange::first_n(through)).end);
    }

    /// Replaces the first `rows` rows by mapped ones. The last of them have the checksums `sums`; the others keep
    /// theirs.
    pub(super) fn rebase(&mut self, codes: Codes, components: RowMap, rows: usize, sums: Vec<u32>) {
        let moved = rows.saturating_sub(self.base.rows) * self.dimensions;
        self.codes.drain(..moved.min(self.codes.len()));
        self.components.drain(..moved.min(self.components.len()));
        let mut all = std::mem::take(&mut self.base.sums);
        all.truncate(rows.saturating_sub(sums.len()));
        all.extend(sums);
        self.base = Base::new(codes, components, all);
    }

    pub(super) fn codes(&self, row: usize) -> &[i8] {
        let (row, block) = match row.checked_sub(self.base.rows) {
            None => (row, self.base.codes()),
            Some(row) => (row, self.codes.as_slice()),
        };
        block.get(row * self.dimensions..(row + 1) * self.dimensions).unwrap_or_default()
    }

    pub(super) fn removed_nodes(&self) -> NodeSet {
        let slots = self.slots.iter().zip(&self.scales);
        slots.filter(|(_, scale)| **scale == 0.0).map(|(slot, _)| slot.node).collect()
    }

    /// Number of removed rows among the first `rows`.
    pub(super) fn removed_before(&self, rows: usize) -> usize {
        if self.removed == 0 {
            return 0;
        }
        self.scales.iter().take(rows).filter(|scale| **scale == 0.0).count()
    }

    pub(super) fn wants_rebuilding(&self) -> bool {
        self.removed > 0 && self.removed * 4 >= self.len()
    }

    pub(super) fn is_removed(&self, row: usize) -> bool {
        self.scales.get(row).is_none_or(|scale| *scale == 0.0)
    }

    /// Removes the rows of nodes; returns how many there were. Their numbers are not reused.
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

    /// A copy in memory without the removed rows, for rewriting the files.
    ///
    /// # Errors
    /// If a row's components are damaged.
    pub(super) fn without_removed(&self) -> Result<Self, DamagedRow> {
        let mut rest = Self::new(self.dimensions);
        for (row, slot) in self.slots.iter().enumerate().filter(|(row, _)| !self.is_removed(*row)) {
            rest.push_row(*slot, self.components(row)?);
        }
        rest.through = self.through;
        Ok(rest)
    }

    /// Rows of a run of nodes; empty for an empty run.
    pub(super) fn rows_of(&self, nodes: Option<NodeRange>) -> Range<usize> {
        let Some(nodes) = nodes else { return 0..0 };
        let begin = self.slots.partition_point(|slot| slot.node < nodes.first());
        begin..self.slots.partition_point(|slot| slot.node <= nodes.last())
    }

    pub(super) fn runs_of(&self, nodes: &NodeSet) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::with_capacity(nodes.runs().len().min(self.len()));
        // Most nodes have one row, so the position of a run is guessed from the previous one. The guess reads no
        // memory, so that the processor can search several runs at once.
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

/// Partition point of the slots: at once if `guess` is right, and faster the nearer it is.
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
