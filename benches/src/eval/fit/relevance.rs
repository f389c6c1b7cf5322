//! Fits the probability that a hit is relevant to absolute evidence, and measures it on held-out conversations.

use super::{FOLDS, KINDS, examples::Place};
use crate::{eval::Asked, figure::quantile};

/// Evidence that a hit is relevant: signals of a hit, the first of them features as well.
pub(super) const BEARING: [&str; 5] = ["coverage", "coverage_window", "heard", "nearness", "match"];
pub(super) const FEATURES: usize = 2;

/// Names of what a probability depends on: the evidence, the score relative to the best one, the logarithm of its share
/// of the softmax of all scores, and a constant for each kind of conversation.
pub(super) const INPUTS: [&str; BEARING.len() + 2 + KINDS] = [
    "coverage",
    "coverage_window",
    "heard",
    "nearness",
    "match",
    "margin",
    "chance",
    "of_agent",
    "of_pair",
    "of_group",
];

pub(super) type Inputs = [f64; INPUTS.len()];

/// Strength of the regularization.
const L2: f64 = 1e-4;
/// Factor of the fitted weights. A bare fit is calibrated better than needed and commits itself too little: the best
/// hit of an answered question has less than a half, that of a moved one more than a tenth.
const SHARPNESS: f64 = 1.5;
const BINS: usize = 10;

/// Hits of a held-out question.
pub(super) struct Tested {
    pub(super) place: Place,
    pub(super) fold: usize,
    /// True if something in its place answers the question.
    pub(super) is_answered: bool,
    /// Inputs of each of the first hits, and true for evidence.
    pub(super) hits: Vec<(Inputs, bool)>,
}

/// Quality of the probabilities on held-out conversations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Expected calibration error over the first ten hits, ten bins, of questions about one conversation and about all,
    /// and of questions moved to other conversations; 0..=1.
    pub error: f64,
    /// 90th percentile of the best hit of questions moved to conversations that do not answer them, 0..=1.
    pub unanswerable_p90: f64,
    /// Median of the best hit of questions asked of the conversation that answers them, 0..=1.
    pub answerable_p50: f64,
    /// The same two in conversations of ten messages.
    pub short: [f64; 2],
}

/// Fits weights of the inputs to all hits, and measures them on folds that they were not fitted to.
pub(super) fn calibrate(tested: &[Tested]) -> (Inputs, Calibration) {
    let without = |fold: Option<usize>| {
        // Questions that the data calls unanswerable differ from answered ones by a name: they are measured only.
        let is_fitted = |tested: &&Tested| tested.is_answered || !matches!(tested.place, Place::Own(_));
        let fitted = tested.iter().filter(|tested| Some(tested.fold) != fold).filter(is_fitted);
        let rows: Vec<_> = fitted.flat_map(|tested| &tested.hits).collect();
        logistic(&rows)
    };
    // Sums of probabilities and of evidence in each bin.
    let (mut bins, mut count) = ([[0.0; 2]; BINS], 0.0);
    let (mut answered, mut moved, mut short) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
    for fold in 0..FOLDS {
        let fitted = without(Some(fold));
        for Tested { place, is_answered, hits, .. } in tested.iter().filter(|tested| tested.fold == fold) {
            let chances = || hits.iter().map(|(inputs, _)| probability(&fitted, inputs));
            let best = chances().fold(0.0, f64::max);
            let [yes, no] = &mut short;
            match place {
                Place::Own(Asked::One) if *is_answered => answered.push(best),
                Place::Own(_) => {}
                Place::Moved => moved.push(best),
                Place::Short if *is_answered => yes.push(best),
                Place::Short => no.push(best),
            }
            for (chance, (_, is_evidence)) in chances().zip(hits).filter(|_| *place != Place::Short) {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0..=10")]
                let bin = ((chance * 10.0) as usize).min(BINS - 1);
                count += 1.0;
                if let Some([chances, found]) = bins.get_mut(bin) {
                    *chances += chance;
                    *found += f64::from(u8::from(*is_evidence));
                }
            }
        }
    }
    let error = bins.iter().map(|[chances, found]| (chances - found).abs()).sum::<f64>() / f64::max(count, 1.0);
    let at = |mut values: Vec<f64>, share: f64| {
        values.sort_by(f64::total_cmp);
        quantile(&values, share)
    };
    let [yes, no] = short;
    let (unanswerable_p90, answerable_p50) = (at(moved, 0.9), at(answered, 0.5));
    let calibration = Calibration { error, unanswerable_p90, answerable_p50, short: [at(no, 0.9), at(yes, 0.5)] };
    (without(None), calibration)
}

fn probability(weights: &Inputs, inputs: &Inputs) -> f64 {
    let logit: f64 = weights.iter().zip(inputs).map(|(weight, value)| weight * value).sum();
    (1.0 + (-logit).exp()).recip()
}

/// Logistic regression on rows of inputs and outcome, by Newton's steps along each weight in turn.
fn logistic(rows: &[&(Inputs, bool)]) -> Inputs {
    let mut weights = [0.0; INPUTS.len()];
    let mut logits = vec![0.0; rows.len()];
    #[expect(clippy::cast_precision_loss, reason = "some thousand hits")]
    let hold = L2 * rows.len() as f64;
    for _ in 0..200 {
        for at in 0..INPUTS.len() {
            let weight = weights.get(at).copied().unwrap_or_default();
            let (mut slope, mut bend) = (-hold * weight, hold);
            for ((inputs, outcome), logit) in rows.iter().zip(&logits) {
                let Some(value) = inputs.get(at).filter(|value| **value != 0.0) else { continue };
                let chance = (1.0 + f64::exp(-logit)).recip();
                slope += (f64::from(u8::from(*outcome)) - chance) * value;
                bend += chance * (1.0 - chance) * value * value;
            }
            let step = (slope / bend).clamp(-1.0, 1.0);
            if let Some(weight) = weights.get_mut(at) {
                *weight += step;
            }
            for ((inputs, _), logit) in rows.iter().zip(&mut logits) {
                *logit += step * inputs.get(at).copied().unwrap_or_default();
            }
        }
    }
    weights.map(|weight| SHARPNESS * weight)
}
