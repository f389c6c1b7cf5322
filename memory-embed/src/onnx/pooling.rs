//! From the vectors of tokens to the vector of a text.

use crate::unit::unit_sum;

/// Averages the first `lengths[row]` token vectors of each row and scales the averages to unit length.
///
/// `hidden` is `[lengths.len(), width, dimensions]`, row-major. The mean over all tokens, the enclosing two included,
/// is how sentence-transformers models are trained to be read (Reimers and Gurevych, 2019, section 3).
///
/// `None` if the shape does not fit, or an average has no direction or is not finite.
pub(super) fn mean_unit_vectors(
    hidden: &[f32],
    lengths: &[usize],
    width: usize,
    dimensions: usize,
) -> Option<Vec<Vec<f32>>> {
    let row = width.checked_mul(dimensions).filter(|row| *row > 0)?;
    if row.checked_mul(lengths.len()) != Some(hidden.len()) || lengths.iter().any(|length| *length > width) {
        return None;
    }
    hidden
        .chunks_exact(row)
        .zip(lengths)
        .map(|(tokens, length)| unit_sum(tokens.chunks_exact(dimensions).take(*length), dimensions))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_does_not_count() {
        let hidden = [3.0, 0.0, 0.0, 4.0, 99.0, 99.0, 0.0, 2.0, 99.0, 99.0, 99.0, 99.0];
        let vectors = mean_unit_vectors(&hidden, &[2, 1], 3, 2).unwrap();
        assert_eq!(vectors, [[0.6, 0.8], [0.0, 1.0]]);
    }

    #[test]
    fn a_shape_that_does_not_fit_is_refused() {
        assert_eq!(mean_unit_vectors(&[1.0; 5], &[1], 3, 2), None);
        assert_eq!(mean_unit_vectors(&[1.0; 6], &[4], 3, 2), None);
        assert_eq!(mean_unit_vectors(&[], &[0], 0, 2), None);
    }
}
