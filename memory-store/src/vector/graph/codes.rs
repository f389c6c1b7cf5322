//! The rows that a graph walks by, held by whoever holds the vectors.

use crate::vector::kernel::Kernels;

/// Unit vectors as int8 codes, one behind the other: codes times the row's scale are the components, nearly.
///
/// A row stays what it is once a graph has linked it.
#[derive(Clone, Copy, Debug)]
pub struct Codes<'a> {
    dimensions: usize,
    codes: &'a [i8],
    scales: &'a [f32],
    kernels: Kernels,
}

impl<'a> Codes<'a> {
    /// Rows of `dimensions` codes each, and the scale of each row. What one has more of than the other does not count.
    #[must_use]
    pub fn new(dimensions: usize, codes: &'a [i8], scales: &'a [f32]) -> Self {
        let rows = codes.len().checked_div(dimensions).unwrap_or(0).min(scales.len());
        let codes = codes.get(..rows * dimensions).unwrap_or_default();
        let scales = scales.get(..rows).unwrap_or_default();
        Self { dimensions, codes, scales, kernels: Kernels::detected() }
    }

    /// Codes of a row.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.scales.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    pub(super) fn has(&self, row: u32) -> bool {
        (row as usize) < self.scales.len()
    }

    /// Nothing, for a row that is not there.
    pub(super) fn row(&self, row: u32) -> &'a [i8] {
        let start = row as usize * self.dimensions;
        self.codes.get(start..start.saturating_add(self.dimensions)).unwrap_or_default()
    }

    pub(super) fn scale(&self, row: u32) -> f32 {
        self.scales.get(row as usize).copied().unwrap_or_default()
    }

    /// Whether two rows are the same vector.
    pub(super) fn are_twins(&self, a: u32, b: u32) -> bool {
        self.scale(a).to_bits() == self.scale(b).to_bits() && self.row(a) == self.row(b)
    }

    /// The likeness of two rows, but for the scale of the first.
    pub(super) fn likeness(&self, a: u32, b: u32) -> f32 {
        as_f32(self.kernels.dot_i8(self.row(a), self.row(b))) * self.scale(b)
    }

    /// The likeness of each of `rows` to the codes of a query, but for the query's scale.
    pub(super) fn likenesses(&self, query: &[i8], rows: &[u32], products: &mut Vec<i32>) -> impl Iterator<Item = f32> {
        products.clear();
        products.resize(rows.len(), 0);
        self.kernels.dots_i8_of(query, self.codes, rows, products);
        products.iter().zip(rows).map(|(product, row)| as_f32(*product) * self.scale(*row))
    }
}

/// Exact up to 1,040 dimensions; beyond that off by less than the codes are.
#[expect(clippy::cast_precision_loss, reason = "a likeness, of which 24 bits are plenty")]
fn as_f32(product: i32) -> f32 {
    product as f32
}
