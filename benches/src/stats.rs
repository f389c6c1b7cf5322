//! Medians and spreads.

/// The value below which a `share` (0..=1) of `sorted` lies, interpolated between neighbours; NaN without values.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of samples are small"
)]
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share.clamp(0.0, 1.0) * sorted.len().saturating_sub(1) as f64;
    let below = sorted.get(place as usize).copied().unwrap_or(f64::NAN);
    let above = sorted.get(place.ceil() as usize).copied().unwrap_or(f64::NAN);
    below + (above - below) * place.fract()
}

/// The median of some values, and half the interquartile range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// The median.
    pub(crate) median: f64,
    /// Half the interquartile range.
    pub(crate) half_range: f64,
}

impl Spread {
    /// Of values in any order; NaN without values.
    #[must_use]
    pub(crate) fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let [low, median, high] = [0.25, 0.5, 0.75].map(|share| quantile(&sorted, share));
        Self { median, half_range: (high - low) / 2.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), 2.5);
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 1.0), 3.0);
        assert_eq!(quantile(&[7.0], 0.95), 7.0);
        assert!(quantile(&[], 0.5).is_nan());
        assert_eq!(Spread::of(&[5.0, 1.0, 3.0, 2.0, 4.0]), Spread { median: 3.0, half_range: 1.0 });
    }
}
