//! The arithmetic of a scan.

/// Components summed up apart, so that the compiler keeps them in vector registers.
const LANES: usize = 16;

/// The inner product of two vectors of one length. The order of additions depends on the length alone, so
/// equal inputs give equal sums.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0f32; LANES];
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_sum_is_that_of_the_plain_loop(pairs in prop::collection::vec((-1.0f32..1.0, -1.0f32..1.0), 0..100)) {
            let (a, b): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
            let plain: f64 = pairs.iter().map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            prop_assert!((f64::from(dot(&a, &b)) - plain).abs() < 1e-4);
        }
    }
}
