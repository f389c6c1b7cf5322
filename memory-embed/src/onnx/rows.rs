//! Sequences of different lengths as the rows of one tensor.

/// `rows`, each filled up to `width` with `pad`, one after another.
pub(super) fn padded<'a>(rows: impl IntoIterator<Item = &'a [u32]>, width: usize, pad: u32) -> Vec<i64> {
    let fill = |row: &'a [u32]| {
        let rest = std::iter::repeat_n(pad, width.saturating_sub(row.len()));
        row.iter().copied().chain(rest).map(i64::from)
    };
    rows.into_iter().flat_map(fill).collect()
}

/// For rows of `lengths`, 1 for each token and 0 for what fills them up to `width`.
pub(super) fn mask(lengths: &[usize], width: usize) -> Vec<i64> {
    lengths.iter().flat_map(|length| (0..width).map(move |at| i64::from(at < *length))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_filled_up_and_the_mask_says_with_what() {
        assert_eq!(padded([[1, 2].as_slice(), &[3], &[]], 3, 9), [1, 2, 9, 3, 9, 9, 9, 9, 9]);
        assert_eq!(mask(&[2, 1, 0], 3), [1, 1, 0, 1, 0, 0, 0, 0, 0]);
    }
}
