//! Pads sequences of different lengths to the rows of one tensor.

/// The concatenated `rows`, each padded to `width` with `pad`.
pub(super) fn padded<'a>(rows: impl IntoIterator<Item = &'a [u32]>, width: usize, pad: u32) -> Vec<i64> {
    let fill = |row: &'a [u32]| {
        let rest = std::iter::repeat_n(pad, width.saturating_sub(row.len()));
        row.iter().copied().chain(rest).map(i64::from)
    };
    rows.into_iter().flat_map(fill).collect()
}

/// The attention mask of rows of `lengths`: 1 for each token, 0 for padding up to `width`.
pub(super) fn mask(lengths: &[usize], width: usize) -> Vec<i64> {
    lengths.iter().flat_map(|length| (0..width).map(move |at| i64::from(at < *length))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_padded_and_masked() {
        assert_eq!(padded([[1, 2].as_slice(), &[3], &[]], 3, 9), [1, 2, 9, 3, 9, 9, 9, 9, 9]);
        assert_eq!(mask(&[2, 1, 0], 3), [1, 1, 0, 1, 0, 0, 0, 0, 0]);
    }
}
