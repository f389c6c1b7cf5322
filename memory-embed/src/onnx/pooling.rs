//! Pools the vectors of tokens into the vector of a text.

use memory_core::port::TokenVectors;
use ndarray::{ArrayView2, Axis};

use super::session::Chunk;
use crate::{Pooling, unit::unit};

/// Pools vectors of tokens, `[tokens, dimensions]`, and scales the result to unit length.
///
/// The pooling must be that of the model's training (Reimers and Gurevych, 2019, section 3).
///
/// `None` if the result has no direction or is not finite.
pub(super) fn pooled_unit_vector(pooling: Pooling, tokens: ArrayView2<'_, f32>) -> Option<Vec<f32>> {
    unit(match pooling {
        Pooling::Mean => tokens.sum_axis(Axis(0)),
        Pooling::Cls => tokens.outer_iter().next()?.to_owned(),
        Pooling::Max => tokens.fold_axis(Axis(0), f32::NEG_INFINITY, |largest, component| largest.max(*component)),
    })
}

/// The requested vectors of a chunk's tokens, `[tokens, dimensions]`, each scaled to unit length.
///
/// `None` if there are fewer than the chunk has, or a vector has no direction or is not finite.
pub(super) fn token_unit_vectors(tokens: ArrayView2<'_, f32>, chunk: &Chunk) -> Option<TokenVectors> {
    let mut ids = Vec::with_capacity(chunk.requested.len());
    let mut components = Vec::with_capacity(chunk.requested.len() * tokens.ncols());
    for &place in &chunk.requested {
        ids.push(*chunk.ids.get(place)?);
        components.extend(unit((place < tokens.nrows()).then(|| tokens.row(place).to_owned())?)?);
    }
    TokenVectors::new(ids, tokens.ncols(), components)
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, aview2};

    use super::*;

    #[test]
    fn the_mean_the_first_token_or_the_largest_components_count() {
        assert_eq!(pooled_unit_vector(Pooling::Mean, aview2(&[[3.0, 0.0], [0.0, 4.0]])).unwrap(), [0.6, 0.8]);
        let tokens = [[3.0, -4.0], [-8.0, 4.0]];
        assert_eq!(pooled_unit_vector(Pooling::Cls, aview2(&tokens)).unwrap(), [0.6, -0.8]);
        assert_eq!(pooled_unit_vector(Pooling::Max, aview2(&tokens)).unwrap(), [0.6, 0.8]);
        for pooling in [Pooling::Mean, Pooling::Cls, Pooling::Max] {
            assert_eq!(pooled_unit_vector(pooling, Array2::zeros((0, 2)).view()), None);
        }
    }

    #[test]
    fn only_requested_tokens_are_returned() {
        let tokens = [[9.0, 9.0], [3.0, 4.0], [0.0, 2.0], [9.0, 9.0], [8.0, 8.0]];
        let tokens = aview2(&tokens);
        let chunk = Chunk { ids: vec![101, 7, 8, 102], requested: vec![1, 2] };
        let found = token_unit_vectors(tokens, &chunk).unwrap();
        assert_eq!(found, TokenVectors::new(vec![7, 8], 2, vec![0.6, 0.8, 0.0, 1.0]).unwrap());
        let empty = Chunk { ids: vec![101, 102], requested: Vec::new() };
        assert!(token_unit_vectors(tokens, &empty).unwrap().is_empty());
        let fewer = aview2(&[[9.0, 9.0], [3.0, 4.0]]);
        assert_eq!(token_unit_vectors(fewer, &chunk), None, "fewer tokens than the chunk has");
        assert_eq!(token_unit_vectors(Array2::zeros((5, 2)).view(), &chunk), None, "no direction");
    }
}
