//! Rows of codes, borrowed from the owner of the vectors.

use crate::derived::vectors::Kernels;

/// Unit vectors as consecutive int8 codes. A code times the scale of its row approximates the component.
///
/// A row must not change after a graph has linked it.
#[derive(Clone, Copy, Debug)]
pub struct Codes<'a> {
    dimensions: usize,
    /// The first rows, and all others.
    blocks: [&'a [i8]; 2],
    /// Number of rows in the first block.
    split: usize,
    scales: &'a [f32],
    kernels: Kernels,
}

impl<'a> Codes<'a> {
    /// Rows of `dimensions` codes each, and the scale of each row. Surplus codes or scales are ignored.
    #[must_use]
    pub fn new(dimensions: usize, codes: &'a [i8], scales: &'a [f32]) -> Self {
        Self::in_blocks(dimensions, [codes, &[]], scales)
    }

    /// Rows in two blocks, such as those of a file and newer ones.
    #[must_use]
    pub fn in_blocks(dimensions: usize, [first, others]: [&'a [i8]; 2], scales: &'a [f32]) -> Self {
        let rows = |codes: &[i8]| codes.len().checked_div(dimensions).unwrap_or(0);
        let split = rows(first).min(scales.len());
        let rows = (split + rows(others)).min(scales.len());
        let blocks = [
            first.get(..split * dimensions).unwrap_or_default(),
            others.get(..(rows - split) * dimensions).unwrap_or_default(),
        ];
        let scales = scales.get(..rows).unwrap_or_default();
        Self { dimensions, blocks, split, scales, kernels: Kernels::detected() }
    }

    /// Codes per row.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.scales.len()
    }

    /// True if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    pub(super) fn has(&self, row: u32) -> bool {
        (row as usize) < self.scales.len()
    }

    /// Codes of a row; empty for a missing row.
    pub(super) fn row(&self, row: u32) -> &'a [i8] {
        let [first, others] = self.blocks;
        let (block, row) = match (row as usize).checked_sub(self.split) {
            None => (first, row as usize),
            Some(row) => (others, row),
        };
        let start = row.saturating_mul(self.dimensions);
        block.get(start..start.saturating_add(self.dimensions)).unwrap_or_default()
    }

    pub(super) fn scale(&self, row: u32) -> f32 {
        self.scales.get(row as usize).copied().unwrap_or_default()
    }

    /// True if two rows hold the same vector.
    pub(super) fn are_twins(&self, a: u32, b: u32) -> bool {
        self.scale(a).to_bits() == self.scale(b).to_bits() && self.row(a) == self.row(b)
    }

    /// Likeness of two rows, up to the scale of the first.
    pub(super) fn likeness(&self, a: u32, b: u32) -> f32 {
        as_f32(self.kernels.dot_i8(self.row(a), self.row(b))) * self.scale(b)
    }

    /// Likeness of each of `rows` to the codes of a query, up to the query's scale.
    pub(super) fn likenesses(&self, query: &[i8], rows: &[u32], products: &mut Vec<i32>) -> impl Iterator<Item = f32> {
        products.clear();
        products.resize(rows.len(), 0);
        let [first, others] = self.blocks;
        self.kernels.dots_i8_of(query, first, rows, products);
        if !others.is_empty() {
            for (product, row) in products.iter_mut().zip(rows).filter(|(_, row)| **row as usize >= self.split) {
                *product = self.kernels.dot_i8(query, self.row(*row));
            }
        }
        products.iter().zip(rows).map(|(product, row)| as_f32(*product) * self.scale(*row))
    }
}

/// Exact up to 1,040 dimensions; beyond that, the rounding error is smaller than that of the codes.
#[expect(clippy::cast_precision_loss, reason = "a likeness, of which 24 bits are plenty")]
fn as_f32(product: i32) -> f32 {
    product as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_same_in_one_block_and_in_two() {
        const DIMENSIONS: usize = 3;
        let codes: Vec<i8> = (0..60).collect();
        let scales: Vec<f32> = (0u8..20).map(f32::from).collect();
        let one = Codes::new(DIMENSIONS, &codes, &scales);
        let rows: Vec<u32> = (0..20).rev().collect();
        let expected: Vec<f32> = one.likenesses(&[1, -2, 3], &rows, &mut Vec::new()).collect();
        for split in 0..=20 {
            let (first, others) = codes.split_at(split * DIMENSIONS);
            let two = Codes::in_blocks(DIMENSIONS, [first, others], &scales);
            assert!(rows.iter().all(|row| two.row(*row) == one.row(*row) && two.has(*row)));
            assert_eq!(two.likenesses(&[1, -2, 3], &rows, &mut Vec::new()).collect::<Vec<_>>(), expected);
            assert!(!two.has(20) && two.row(20).is_empty());
        }
    }

    #[test]
    fn what_has_no_counterpart_does_not_count() {
        assert_eq!(Codes::new(2, &[1; 7], &[1.0; 9]).len(), 3);
        assert_eq!(Codes::in_blocks(2, [&[1; 4], &[1; 8]], &[1.0; 5]).len(), 5);
        assert_eq!(Codes::in_blocks(2, [&[1; 8], &[1; 8]], &[1.0; 3]).len(), 3);
        assert!(Codes::new(0, &[1; 7], &[1.0; 9]).is_empty());
    }
}
