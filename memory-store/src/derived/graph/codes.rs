//! Rows of codes, borrowed from the owner of the vectors.

use crate::derived::vectors::Kernels;

/// Unit vectors as consecutive int8 codes. A code times the scale of its row approximates the component.
///
/// A row must not change after a graph has linked it.
#[derive(Clone, Copy, Debug)]
pub struct Codes<'a> {
    dimensions: usize,
    codes: &'a [i8],
    scales: &'a [f32],
    kernels: Kernels,
}

impl<'a> Codes<'a> {
    /// Rows of `dimensions` codes each, and the scale of each row. Surplus codes or scales are ignored.
    #[must_use]
    pub fn new(dimensions: usize, codes: &'a [i8], scales: &'a [f32]) -> Self {
        let rows = codes.len().checked_div(dimensions).unwrap_or(0).min(scales.len());
        let (codes, scales) = (codes.get(..rows * dimensions), scales.get(..rows));
        let kernels = Kernels::detected();
        Self { dimensions, codes: codes.unwrap_or_default(), scales: scales.unwrap_or_default(), kernels }
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
        let start = (row as usize).saturating_mul(self.dimensions);
        self.codes.get(start..start.saturating_add(self.dimensions)).unwrap_or_default()
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
        self.kernels.dots_i8_of(query, self.codes, rows, products);
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
    fn each_row_has_its_codes_and_its_scale() {
        let codes: Vec<i8> = (0..60).collect();
        let scales: Vec<f32> = (0u8..20).map(f32::from).collect();
        let all = Codes::new(3, &codes, &scales);
        let rows: Vec<u32> = (0..20).rev().collect();
        assert!(rows.iter().all(|row| all.row(*row) == &codes[*row as usize * 3..][..3] && all.has(*row)));
        let expected = rows.iter().map(|row| all.row(*row)).zip(scales.iter().rev());
        let expected = expected
            .map(|(row, scale)| f32::from(i16::from(row[0]) - 2 * i16::from(row[1]) + 3 * i16::from(row[2])) * scale);
        assert!(all.likenesses(&[1, -2, 3], &rows, &mut Vec::new()).eq(expected));
        assert!(!all.has(20) && all.row(20).is_empty());
    }

    #[test]
    fn what_has_no_counterpart_does_not_count() {
        assert_eq!(Codes::new(2, &[1; 7], &[1.0; 9]).len(), 3);
        assert_eq!(Codes::new(2, &[1; 12], &[1.0; 5]).len(), 5);
        assert!(Codes::new(0, &[1; 7], &[1.0; 9]).is_empty());
    }
}
