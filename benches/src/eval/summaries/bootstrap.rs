//! Intervals of paired differences, by resampling whole conversations.

use std::collections::BTreeMap;

use fastrand::Rng;

use crate::stats::quantile;

/// Resamplings.
const SAMPLES: usize = 10_000;

/// A mean difference and the interval that holds 95 % of the resampled ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) mean: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// A difference of what was kept, over a number of terms, in one conversation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Difference {
    pub(super) conversation: usize,
    pub(super) kept: f64,
    pub(super) wanted: f64,
}

/// Interval of the difference between the shares of all terms that two contenders keep. Terms of one conversation are
/// not independent, so whole conversations are drawn (a cluster bootstrap).
pub(super) fn interval(differences: &[Difference]) -> Interval {
    let mut clusters: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for difference in differences {
        let (kept, wanted) = clusters.entry(difference.conversation).or_default();
        *kept += difference.kept;
        *wanted += difference.wanted;
    }
    let clusters: Vec<(f64, f64)> = clusters.into_values().collect();
    let share = |drawn: &mut dyn Iterator<Item = &(f64, f64)>| {
        let (kept, wanted) = drawn.fold((0.0, 0.0), |(kept, wanted), (more, many)| (kept + more, wanted + many));
        kept / wanted
    };
    let mut rng = Rng::with_seed(7);
    let draw = |_| share(&mut (0..clusters.len()).filter_map(|_| clusters.get(rng.usize(..clusters.len()))));
    let mut shares: Vec<f64> = (0..SAMPLES).map(draw).collect();
    shares.sort_by(f64::total_cmp);
    Interval { mean: share(&mut clusters.iter()), low: quantile(&shares, 0.025), high: quantile(&shares, 0.975) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kept: impl Fn(usize) -> f64) -> Interval {
        let difference = |n| Difference { conversation: n / 4, kept: kept(n), wanted: 10.0 };
        interval(&(0..40).map(difference).collect::<Vec<_>>())
    }

    #[test]
    fn a_steady_difference_is_told_from_one_that_hangs_on_a_single_conversation() {
        let Interval { mean, low, high } = of(|n| if n % 2 == 0 { 1.0 } else { 3.0 });
        assert!((mean - 0.2).abs() < 1e-9 && (low - 0.2).abs() < 1e-9 && (high - 0.2).abs() < 1e-9);
        let Interval { mean, low, high } = of(|n| if n < 4 { 10.0 } else { 0.0 });
        assert!((mean - 0.1).abs() < 1e-9 && low <= 0.0 && high > 0.2);
    }
}
