//! Unit vectors.

/// The normalized sum of `vectors`, which is also their normalized mean.
///
/// `None` if the sum is zero or not finite.
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
    fn no_direction_is_refused() {
        assert_eq!(unit_sum([[0.0, 0.0].as_slice()], 2), None);
        assert_eq!(unit_sum([[1.0, 0.0].as_slice(), &[-1.0, 0.0]], 2), None);
        assert_eq!(unit_sum([[f32::NAN, 0.0].as_slice()], 2), None);
        assert_eq!(unit_sum([[f32::INFINITY, 0.0].as_slice()], 2), None);
    }
}
