//! From the vectors of tokens to the vector of a text.

use crate::Pooling;

/// Pools the first `lengths[row]` token vectors of each row and scales the result to unit length.
///
/// `hidden` is `[lengths.len(), width, dimensions]`, row-major. How to pool is what a sentence-transformers model was
/// trained with (Reimers and Gurevych, 2019, section 3).
///
/// `None` if the shape does not fit, or a vector has no direction or is not finite.
pub(super) fn pooled_unit_vectors(
    pooling: Pooling,
    hidden: &[f32],
    lengths: &[usize],
    width: usize,
    dimensions: usize,
) -> Option<Vec<Vec<f32>>> {
    let row = width.checked_mul(dimensions).filter(|row| *row > 0)?;
    if row.checked_mul(lengths.len()) != Some(hidden.len()) || lengths.iter().any(|length| *length > width) {
        return None;
    }
    let pool = |(tokens, length): (&[f32], &usize)| {
        let tokens = tokens.chunks_exact(dimensions).take(*length);
        match pooling {
            Pooling::Mean => unit_sum(tokens, dimensions),
            Pooling::Cls => unit_sum(tokens.take(1), dimensions),
            Pooling::Max => unit_sum([largest(tokens)?.as_slice()], dimensions),
        }
    };
    hidden.chunks_exact(row).zip(lengths).map(pool).collect()
}

/// The largest value of each component.
fn largest<'a>(mut vectors: impl Iterator<Item = &'a [f32]>) -> Option<Vec<f32>> {
    let mut largest = vectors.next()?.to_vec();
    for vector in vectors {
        largest.iter_mut().zip(vector).for_each(|(largest, component)| *largest = largest.max(*component));
    }
    Some(largest)
}

/// The direction of the sum of `vectors`, which is that of their mean.
///
/// `None` if there is no direction, or it is not finite.
pub(crate) fn unit_sum<'a>(vectors: impl IntoIterator<Item = &'a [f32]>, dimensions: usize) -> Option<Vec<f32>> {
    let mut sum = vec![0.0; dimensions];
    for vector in vectors {
        sum.iter_mut().zip(vector).for_each(|(sum, component)| *sum += component);
    }
    let norm = sum.iter().map(|component| f64::from(*component).powi(2)).sum::<f64>().sqrt();
    if !norm.is_normal() {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "a component of a unit vector")]
    let unit = sum.iter().map(|component| (f64::from(*component) / norm) as f32).collect();
    Some(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_does_not_count() {
        let hidden = [3.0, 0.0, 0.0, 4.0, 99.0, 99.0, 0.0, 2.0, 99.0, 99.0, 99.0, 99.0];
        let vectors = pooled_unit_vectors(Pooling::Mean, &hidden, &[2, 1], 3, 2).unwrap();
        assert_eq!(vectors, [[0.6, 0.8], [0.0, 1.0]]);
    }

    #[test]
    fn the_first_token_or_the_largest_components_may_count() {
        let hidden = [3.0, -4.0, -8.0, 6.0, 99.0, 99.0];
        assert_eq!(pooled_unit_vectors(Pooling::Cls, &hidden, &[2], 3, 2).unwrap(), [[0.6, -0.8]]);
        let largest = pooled_unit_vectors(Pooling::Max, &[3.0, -4.0, -8.0, 4.0, 99.0, 99.0], &[2], 3, 2).unwrap();
        assert_eq!(largest, [[0.6, 0.8]]);
        assert_eq!(pooled_unit_vectors(Pooling::Max, &hidden, &[0], 3, 2), None);
    }

    #[test]
    fn a_shape_that_does_not_fit_is_refused() {
        assert_eq!(pooled_unit_vectors(Pooling::Mean, &[1.0; 5], &[1], 3, 2), None);
        assert_eq!(pooled_unit_vectors(Pooling::Mean, &[1.0; 6], &[4], 3, 2), None);
        assert_eq!(pooled_unit_vectors(Pooling::Mean, &[], &[0], 0, 2), None);
    }

    #[test]
    fn no_direction_is_refused() {
        assert_eq!(unit_sum([[0.0, 0.0].as_slice()], 2), None);
        assert_eq!(unit_sum([[1.0, 0.0].as_slice(), &[-1.0, 0.0]], 2), None);
        assert_eq!(unit_sum([[f32::NAN, 0.0].as_slice()], 2), None);
        assert_eq!(unit_sum([[f32::INFINITY, 0.0].as_slice()], 2), None);
    }
}
