//! Figures of two contenders over the same questions.

use std::collections::BTreeSet;

use fastrand::Rng;
use schemars::JsonSchema;
use serde::Serialize;

use super::sample::{MessageAddress, SEED};

/// Number of resamplings, and the ranks between which 95 % of them lie.
const SAMPLES: usize = 10_000;
const LOW: usize = 249;
const HIGH: usize = 9_750;

/// A mean difference, and the interval that holds 95 % of the resampled ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct Interval {
    /// Mean difference.
    pub(super) mean: f64,
    /// Lower end of the interval.
    pub(super) low: f64,
    /// Upper end of the interval.
    pub(super) high: f64,
}

/// Mean difference of the second less the first, question by question (paired bootstrap over questions; Efron, 1979).
pub(super) fn difference(first: &[f64], second: &[f64]) -> Interval {
    let differences: Vec<f64> = first.iter().zip(second).map(|(first, second)| second - first).collect();
    let mut rng = Rng::with_seed(SEED);
    let mut drawn = || rng.choice(&differences).copied().unwrap_or_default();
    let mut means: Vec<f64> =
        (0..SAMPLES).map(|_| mean(&differences.iter().map(|_| drawn()).collect::<Vec<_>>())).collect();
    means.sort_by(f64::total_cmp);
    let at = |place: usize| means.get(place).copied().unwrap_or_default();
    Interval { mean: mean(&differences), low: at(LOW), high: at(HIGH) }
}

/// The share of one model's best hits that are also among the other's, 0..=1; 1 if both have none.
#[expect(clippy::cast_precision_loss, reason = "at most ten")]
pub(super) fn agreement(first: &BTreeSet<MessageAddress>, second: &BTreeSet<MessageAddress>) -> f64 {
    let most = first.len().max(second.len());
    if most == 0 { 1.0 } else { first.intersection(second).count() as f64 / most as f64 }
}

/// The mean; 0 without values.
#[expect(clippy::cast_precision_loss, reason = "counts of questions")]
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The median; 0 without values.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use memory_core::{ConversationId, NodeId};

    use super::*;

    #[test]
    fn a_steady_difference_is_told_from_one_that_chance_makes() {
        let (none, all) = (vec![0.0; 40], vec![0.5; 40]);
        assert_eq!(difference(&none, &all), Interval { mean: 0.5, low: 0.5, high: 0.5 });
        assert_eq!(difference(&all, &all), Interval { mean: 0.0, low: 0.0, high: 0.0 });
        let one: Vec<f64> = (0..40).map(|n| f64::from(u8::from(n == 3))).collect();
        let Interval { mean, low, high } = difference(&none, &one);
        assert!((mean - 0.025).abs() < 1e-9 && low == 0.0 && high > mean, "{low} to {high}");
        assert_eq!(difference(&none, &one), difference(&none, &one), "seeded");
        assert_eq!(difference(&[], &[]).mean, 0.0);
    }

    #[test]
    fn agreement_is_the_share_of_the_longer_answer() {
        let of = |nodes: &[usize]| -> BTreeSet<MessageAddress> {
            nodes.iter().map(|node| (ConversationId::new("c").unwrap(), NodeId::from_index(*node))).collect()
        };
        let check =
            |first: &[usize], second: &[usize], expected| assert_eq!(agreement(&of(first), &of(second)), expected);
        check(&[], &[], 1.0);
        check(&[1, 2], &[], 0.0);
        check(&[1, 2, 3, 4], &[2, 1], 0.5);
        check(&[1, 2], &[2, 1], 1.0);
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!((median(vec![3.0, 1.0, 2.0]), median(Vec::new())), (2.0, 0.0));
    }
}
