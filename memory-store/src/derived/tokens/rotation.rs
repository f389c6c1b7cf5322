//! A fixed rotation that distributes a vector evenly over its components.

use crate::derived::graph::{MIX_STEP, mix};

/// Rounds of sign changes and transforms. After two, each output component depends on every input component, for any
/// number of dimensions.
const ROUNDS: usize = 2;
/// Seed of the signs, part of the file format: another seed gives other codes.
const SEED: u64 = 0x6D65_6D74_6F6B_656E;

/// A rotation of vectors, the same in every process.
///
/// Alternates pseudorandom signs and Walsh–Hadamard transforms (Ailon and Chazelle, "The fast Johnson–Lindenstrauss
/// transform", 2009). A transform requires a power of two of components; for other numbers of dimensions it is applied
/// to the first and then to the last components, which overlap. Lengths and inner products are preserved. A component
/// of a rotated unit vector is approximately normally distributed with variance 1 / dimensions.
#[derive(Debug)]
pub(super) struct Rotation {
    signs: Vec<f32>,
    dimensions: usize,
}

impl Rotation {
    pub(super) fn new(dimensions: usize) -> Self {
        let state = |step: usize| SEED.wrapping_add(MIX_STEP.wrapping_mul(step as u64));
        let sign = |step| if mix(state(step)) >> 63 == 0 { 1.0 } else { -1.0 };
        Self { signs: (0..2 * ROUNDS * dimensions).map(sign).collect(), dimensions }
    }

    pub(super) fn rotate(&self, vector: &mut [f32]) {
        let Some(width) = vector.len().checked_ilog2().map(|log| 1_usize << log) else { return };
        let last = vector.len() - width;
        for (half, signs) in self.signs.chunks_exact(self.dimensions.max(1)).enumerate() {
            vector.iter_mut().zip(signs).for_each(|(component, sign)| *component *= sign);
            let begin = if half % 2 == 0 { 0 } else { last };
            transform(vector.get_mut(begin..begin + width).unwrap_or_default());
        }
    }
}

/// Walsh–Hadamard transform of a power of two of components, scaled to preserve lengths.
fn transform(values: &mut [f32]) {
    let mut half = 1;
    while half < values.len() {
        for pair in values.chunks_exact_mut(2 * half) {
            let (first, second) = pair.split_at_mut(half);
            for (a, b) in first.iter_mut().zip(second) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    #[expect(clippy::cast_precision_loss, reason = "a number of dimensions")]
    let scale = 1.0 / (values.len().max(1) as f32).sqrt();
    values.iter_mut().for_each(|value| *value *= scale);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    proptest! {
        #[test]
        fn inner_products_stay(pairs in prop::collection::vec((-1.0_f32..1.0, -1.0_f32..1.0), 1..500)) {
            let (mut a, mut b): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            let before = [dot(&a, &a), dot(&a, &b), dot(&b, &b)];
            let rotation = Rotation::new(a.len());
            rotation.rotate(&mut a);
            rotation.rotate(&mut b);
            let after = [dot(&a, &a), dot(&a, &b), dot(&b, &b)];
            for (before, after) in before.into_iter().zip(after) {
                prop_assert!((before - after).abs() < 1e-3 * pairs_scale(a.len()), "{before} {after}");
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
    fn pairs_scale(length: usize) -> f32 {
        (length as f32).sqrt().max(1.0)
    }

    #[test]
    fn one_component_is_spread_over_all() {
        for dimensions in [384, 768, 300, 1024] {
            for at in [0, dimensions / 2, dimensions - 1] {
                let mut vector = vec![0.0; dimensions];
                vector[at] = 1.0;
                Rotation::new(dimensions).rotate(&mut vector);
                let largest = vector.iter().fold(0.0_f32, |largest, component| largest.max(component.abs()));
                assert!(largest < 0.3, "{dimensions} {at} {largest}");
            }
        }
    }
}
