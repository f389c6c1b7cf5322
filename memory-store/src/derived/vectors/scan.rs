//! Compares a query with rows: all by codes, then the best of these by components.

use std::{cmp::Ordering, num::NonZero, ops::Range};

use super::{
    super::parallel::{cores, parallel},
    kernel::{Kernels, quantize},
    rows::{DamagedRow, Rows},
};

/// Rows whose products are computed at once: few enough to stay in the first-level cache, and enough that the prefetch,
/// which works only within a batch, covers most of them.
const BATCH: usize = 1024;
/// Shorter runs of rows are gathered by number, because a call for each run would cost more than it saves.
const SHORT_RUN: usize = 8;
/// Bytes per thread: starting and ending a thread takes some 40 µs, in which 1 MB is scanned.
const BYTES_A_THREAD: usize = 4 << 20;
/// Relative cost of a row far from the previous one: it is in no cache, and may have to be verified.
const SCATTERED: usize = 4;
/// Minimum candidates to rescore. Codes are off by some 0.003 in cosine; if few results are wanted, as many others may
/// be that close to each other.
const FEWEST_CANDIDATES: usize = 32;

/// A query as codes and as components.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) codes: Vec<i8>,
    /// Components at unit length.
    pub(super) components: Vec<f32>,
    kernels: Kernels,
}

impl Question {
    /// `None` for a vector that is zero or not finite.
    pub(super) fn of(vector: &[f32]) -> Option<Self> {
        let kernels = Kernels::detected();
        let length = kernels.dot_f32(vector, vector).sqrt();
        if !length.is_normal() {
            return None;
        }
        let components: Vec<f32> = vector.iter().map(|component| component / length).collect();
        let mut codes = Vec::with_capacity(components.len());
        // The scale of the query does not change the order of rows.
        let _scale = quantize(&components, &mut codes);
        Some(Self { codes, components, kernels })
    }
}

/// A row that may be a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) part: usize,
    pub(super) row: usize,
    pub(super) score: f32,
}

impl Candidate {
    /// Order of results: highest score first, ties by position.
    pub(super) fn order(a: &Self, b: &Self) -> Ordering {
        b.score.total_cmp(&a.score).then_with(|| (a.part, a.row).cmp(&(b.part, b.row)))
    }
}

/// A conversation, or some of its rows, to search.
#[derive(Clone, Debug)]
pub(super) struct RowSelection<'a> {
    pub(super) rows: &'a Rows,
    /// Rows that may be results, as runs in order.
    pub(super) runs: Vec<Range<usize>>,
}

impl RowSelection<'_> {
    pub(super) fn selected(&self) -> usize {
        self.runs.iter().map(Range::len).sum()
    }

    /// A bit for each row, set for rows that may be results.
    pub(super) fn bitmap(&self) -> Vec<u64> {
        let mut bits = vec![0u64; self.rows.len().div_ceil(64)];
        for row in self.runs.iter().cloned().flatten() {
            if let Some(word) = bits.get_mut(row / 64) {
                *word |= 1 << (row % 64);
            }
        }
        bits
    }
}

/// Number of candidates to rescore for `limit` results.
pub(super) fn candidates_for(limit: usize) -> usize {
    limit.saturating_mul(2).max(FEWEST_CANDIDATES)
}

/// The `limit` best rows by codes, unordered. Large parts are scanned on all cores.
pub(super) fn nearest_by_codes(parts: &[RowSelection<'_>], question: &Question, limit: usize) -> Vec<Candidate> {
    let rows: usize = parts.iter().map(RowSelection::selected).sum();
    if limit >= rows {
        return all(parts);
    }
    let threads = threads_for(rows * question.codes.len());
    let shares = shares(parts, rows.div_ceil(threads.get()).max(1));
    let scan = |(): &mut (), share: Vec<RowRun>, found: &mut Vec<_>| found.extend(scan(parts, &share, question, limit));
    let mut found = parallel(threads, shares, 1, || (), scan);
    keep_best(&mut found, limit);
    found
}

/// Number of threads that are worthwhile for a pass over this many bytes.
pub(super) fn threads_for(bytes: usize) -> NonZero<usize> {
    NonZero::new(bytes / BYTES_A_THREAD).map_or(NonZero::<usize>::MIN, |threads| threads.min(cores()))
}

fn all(parts: &[RowSelection<'_>]) -> Vec<Candidate> {
    let mut all = Vec::with_capacity(parts.iter().map(RowSelection::selected).sum());
    for (number, part) in parts.iter().enumerate() {
        let rows = part.runs.iter().cloned().flatten().filter(|row| !part.rows.is_removed(*row));
        all.extend(rows.map(|row| Candidate { part: number, row, score: 0.0 }));
    }
    all
}

/// Sorts candidates by components and keeps the `limit` best. Without a limit all are kept, in the order of their
/// positions.
///
/// # Errors
/// The first damaged row, with its part.
pub(super) fn rescore(
    parts: &[RowSelection<'_>],
    question: &Question,
    mut candidates: Vec<Candidate>,
    limit: usize,
) -> Result<Vec<Candidate>, (usize, DamagedRow)> {
    let score = |candidates: &mut [Candidate]| -> Result<(), (usize, DamagedRow)> {
        for candidate in candidates {
            let Some(part) = parts.get(candidate.part) else { continue };
            let row = part.rows.components(candidate.row).map_err(|damaged| (candidate.part, damaged))?;
            candidate.score = question.kernels.dot_f32(&question.components, row).clamp(-1.0, 1.0);
        }
        Ok(())
    };
    let threads = threads_for(candidates.len() * question.components.len() * size_of::<f32>() * SCATTERED);
    // In the order of positions, because adjacent rows share pages.
    candidates.sort_unstable_by_key(|candidate| (candidate.part, candidate.row));
    let share = candidates.len().div_ceil(threads.get()).max(1);
    let shares = candidates.chunks_mut(share);
    let damaged = parallel(threads, shares, 1, || (), |(), share, damaged| damaged.extend(score(share).err()));
    if let Some(damaged) = damaged.into_iter().next() {
        return Err(damaged);
    }
    if limit != usize::MAX {
        keep_best(&mut candidates, limit);
        candidates.sort_unstable_by(Candidate::order);
    }
    Ok(candidates)
}

fn keep_best(candidates: &mut Vec<Candidate>, limit: usize) {
    if limit < candidates.len() {
        if limit > 0 {
            candidates.select_nth_unstable_by(limit - 1, Candidate::order);
        }
        candidates.truncate(limit);
    }
}

/// The best candidates so far; one comparison rejects a worse row.
struct Best {
    limit: usize,
    /// At most twice the limit; reduced to the best when full.
    kept: Vec<Candidate>,
    floor: f32,
}

impl Best {
    fn new(limit: usize) -> Self {
        Self { limit, kept: Vec::with_capacity(limit.saturating_mul(2).min(BATCH)), floor: f32::NEG_INFINITY }
    }

    /// Adds a row. Rows come in order, so that of equal ones the first are kept.
    fn offer(&mut self, candidate: Candidate) {
        self.kept.push(candidate);
        if self.kept.len() >= self.limit.saturating_mul(2) {
            self.settle();
        }
    }

    fn settle(&mut self) {
        keep_best(&mut self.kept, self.limit);
        if self.kept.len() == self.limit {
            self.floor = self.kept.last().map_or(f32::INFINITY, |worst| worst.score);
        }
    }

    fn into_candidates(mut self) -> Vec<Candidate> {
        self.settle();
        self.kept
    }
}

/// A run of rows of a part.
type RowRun = (usize, Range<usize>);

/// Divides the rows of all parts into shares of `share` rows; the last may be smaller. There is at least one.
fn shares(parts: &[RowSelection<'_>], share: usize) -> Vec<Vec<RowRun>> {
    let (mut shares, mut filling, mut room) = (Vec::new(), Vec::new(), share);
    for (number, part) in parts.iter().enumerate() {
        for run in &part.runs {
            let mut begin = run.start;
            while begin < run.end {
                if room == 0 {
                    shares.push(std::mem::take(&mut filling));
                    room = share;
                }
                let end = run.end.min(begin + room);
                filling.push((number, begin..end));
                room -= end - begin;
                begin = end;
            }
        }
    }
    shares.push(filling);
    shares
}

/// The best rows of some pieces.
fn scan(parts: &[RowSelection<'_>], pieces: &[RowRun], question: &Question, limit: usize) -> Vec<Candidate> {
    let mut best = Best::new(limit);
    let mut room = ScanBuffers { products: [0; BATCH], scattered: Vec::new() };
    let mut pieces = pieces;
    while let Some((number, _)) = pieces.first() {
        let (of_part, rest) = pieces.split_at(pieces.partition_point(|(part, _)| part <= number));
        if let Some(part) = parts.get(*number) {
            for (block, codes) in part.rows.blocks() {
                if block.is_empty() {
                    continue;
                }
                let block = Block { part: *number, rows: part.rows, begin: block.start, end: block.end, codes };
                block.scan(of_part, question, &mut room, &mut best);
            }
        }
        pieces = rest;
    }
    best.into_candidates()
}

/// Buffers that are reused for each block, because there may be thousands of small blocks.
struct ScanBuffers {
    products: [i32; BATCH],
    /// Rows of short runs, relative to the block.
    scattered: Vec<u32>,
}

/// Rows whose codes are contiguous.
struct Block<'a> {
    part: usize,
    rows: &'a Rows,
    begin: usize,
    end: usize,
    codes: &'a [i8],
}

impl Block<'_> {
    /// Scans the pieces within the block.
    fn scan(&self, pieces: &[RowRun], question: &Question, room: &mut ScanBuffers, best: &mut Best) {
        let ScanBuffers { products, scattered } = room;
        scattered.clear();
        let before = pieces.partition_point(|(_, run)| run.end <= self.begin);
        for (_, run) in pieces.get(before..).unwrap_or_default() {
            let run = run.start.max(self.begin)..run.end.min(self.end);
            if run.start >= self.end {
                break;
            }
            if run.len() < SHORT_RUN {
                // A block has fewer than 2³² rows, whose codes would take terabytes.
                scattered.extend(run.filter_map(|row| u32::try_from(row - self.begin).ok()));
                if scattered.len() + SHORT_RUN > BATCH {
                    self.scan_scattered(scattered, question, products, best);
                    scattered.clear();
                }
            } else {
                self.scan_run(run, question, products, best);
            }
        }
        self.scan_scattered(scattered, question, products, best);
    }

    fn scan_run(&self, run: Range<usize>, question: &Question, products: &mut [i32; BATCH], best: &mut Best) {
        let dimensions = question.codes.len();
        for begin in run.clone().step_by(BATCH) {
            let end = run.end.min(begin + BATCH);
            let codes = self.codes.get((begin - self.begin) * dimensions..(end - self.begin) * dimensions);
            let (Some(codes), Some(scales)) = (codes, self.rows.scales().get(begin..end)) else { return };
            question.kernels.dots_i8(&question.codes, codes, products);
            for ((row, product), scale) in (begin..).zip(products.iter()).zip(scales) {
                self.offer(row, *product, *scale, best);
            }
        }
    }

    fn scan_scattered(&self, rows: &[u32], question: &Question, products: &mut [i32; BATCH], best: &mut Best) {
        question.kernels.dots_i8_of(&question.codes, self.codes, rows, products);
        for (row, product) in rows.iter().zip(products.iter()) {
            let row = self.begin + *row as usize;
            self.offer(row, *product, self.rows.scales().get(row).copied().unwrap_or(0.0), best);
        }
    }

    #[inline]
    fn offer(&self, row: usize, product: i32, scale: f32, best: &mut Best) {
        #[expect(clippy::cast_precision_loss, reason = "24 bits of a likeness are plenty")]
        let score = product as f32 * scale;
        if score > best.floor && scale != 0.0 {
            best.offer(Candidate { part: self.part, row, score });
        }
    }
}
