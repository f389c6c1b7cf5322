//! Unit vectors.

use ndarray::Array1;

/// The normalized sum of `vectors`, which is also their normalized mean.
///
/// `None` if the sum is zero or not finite.
pub(crate) fn unit_sum<'a>(vectors: impl IntoIterator<Item = &'a [f32]>, dimensions: usize) -> Option<Vec<f32>> {
    let mut sum = Array1::zeros(dimensions);
    for vector in vectors {
        sum.iter_mut().zip(vector).for_each(|(sum, component)| *sum += component);
    }
    unit(sum)
}

/// The vector, scaled to unit length; `None` if it is zero or not finite.
pub(crate) fn unit(vector: Array1<f32>) -> Option<Vec<f32>> {
    let norm = vector.iter().map(|component| f64::from(*component).powi(2)).sum::<f64>().sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "a component of a unit vector")]
    let scaled = |component| (f64::from(component) / norm) as f32;
    norm.is_normal().then(|| vector.mapv_into(scaled).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_direction_is_refused() {
        assert_eq!(unit_sum([[0.0, 0.0].as_slice()], 2), None);
        assert_eq!(unit_sum([[1.0, 0.0].as_slice(), &[-1.0, 0.0]], 2), None);
        assert_eq!(unit_sum([[f32::NAN, 0.0].as_slice()], 2), None);
        assert_eq!(unit_sum([[f32::INFINITY, 0.0].as_slice()], 2), None);
    }
}
