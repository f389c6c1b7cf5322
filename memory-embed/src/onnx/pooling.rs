//! Pools the vectors of tokens into the vector of a text.

use memory_core::port::TokenVectors;

use super::session::Chunk;
use crate::{Pooling, unit::unit_sum};

/// Pools the first `lengths[row]` token vectors of each row and scales the result to unit length.
///
/// `hidden` is `[lengths.len(), width, dimensions]`, row-major. The pooling must be that of the model's training
/// (Reimers and Gurevych, 2019, section 3).
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

/// The requested token vectors of a chunk, each scaled to unit length.
///
/// `row` is the model's output for the chunk, `[width, dimensions]`, row-major. `None` if it is shorter than the chunk,
/// or a vector has no direction or is not finite.
pub(super) fn token_unit_vectors(row: &[f32], chunk: &Chunk, dimensions: usize) -> Option<TokenVectors> {
    let mut ids = Vec::with_capacity(chunk.requested.len());
    let mut components = Vec::with_capacity(chunk.requested.len() * dimensions);
    for &place in &chunk.requested {
        let begin = place.checked_mul(dimensions)?;
        ids.push(*chunk.ids.get(place)?);
        components.extend(unit_sum([row.get(begin..begin.checked_add(dimensions)?)?], dimensions)?);
    }
    TokenVectors::new(ids, dimensions, components)
}

/// The maximum of each component.
fn largest<'a>(mut vectors: impl Iterator<Item = &'a [f32]>) -> Option<Vec<f32>> {
    let mut largest = vectors.next()?.to_vec();
    for vector in vectors {
        largest.iter_mut().zip(vector).for_each(|(largest, component)| *largest = largest.max(*component));
    }
    Some(largest)
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
    fn only_requested_tokens_are_returned() {
        let row = [9.0, 9.0, 3.0, 4.0, 0.0, 2.0, 9.0, 9.0, 8.0, 8.0];
        let chunk = Chunk { ids: vec![101, 7, 8, 102], requested: vec![1, 2] };
        let tokens = token_unit_vectors(&row, &chunk, 2).unwrap();
        assert_eq!(tokens, TokenVectors::new(vec![7, 8], 2, vec![0.6, 0.8, 0.0, 1.0]).unwrap());
        let empty = Chunk { ids: vec![101, 102], requested: Vec::new() };
        assert!(token_unit_vectors(&row, &empty, 2).unwrap().is_empty());
        assert_eq!(token_unit_vectors(&row[..4], &chunk, 2), None, "fewer tokens than the chunk has");
        assert_eq!(token_unit_vectors(&[0.0; 10], &chunk, 2), None, "no direction");
    }

    #[test]
    fn a_shape_that_does_not_fit_is_refused() {
        assert_eq!(pooled_unit_vectors(Pooling::Mean, &[1.0; 5], &[1], 3, 2), None);
        assert_eq!(pooled_unit_vectors(Pooling::Mean, &[1.0; 6], &[4], 3, 2), None);
        assert_eq!(pooled_unit_vectors(Pooling::Mean, &[], &[0], 0, 2), None);
    }
}
