//! The ranker: a weighted sum of features.

mod weights;

use memory_core::Signal;

use crate::features::{Feature, Features};

/// What each feature is worth, in the order of [`Feature::ALL`].
pub(crate) type Weights = [f32; Feature::ALL.len()];

/// A weighted sum. It is fitted twice, since a sum that was fitted with vectors is a poor one without.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranker {
    weights: &'static Weights,
    /// How far features of meaning count, 0..=1: in proportion to how many nodes have vectors.
    meaning: f32,
}

impl Ranker {
    /// For nodes of which this part has vectors.
    pub(crate) fn new(with_vectors: f32) -> Self {
        if with_vectors > 0.0 {
            Self { weights: &weights::WITH_VECTORS, meaning: with_vectors }
        } else {
            Self { weights: &weights::BY_WORDS, meaning: 0.0 }
        }
    }

    /// The score of a node, and what each feature adds to it, the heaviest first. A feature that was not measured of
    /// this node counts `unmeasured`, and is no signal.
    pub(crate) fn score(&self, features: &Features, unmeasured: &Features) -> (f32, Vec<Signal>) {
        let mut score = 0.0;
        let mut signals = Vec::with_capacity(features.len());
        for ((feature, &weight), (&value, &instead)) in
            Feature::ALL.into_iter().zip(self.weights).zip(features.iter().zip(unmeasured))
        {
            let weight = if feature.is_of_meaning() { weight * self.meaning } else { weight };
            let share = weight * if value.is_nan() { instead } else { value };
            score += share;
            if !value.is_nan() {
                signals.push(Signal { name: feature.name(), value, share });
            }
        }
        signals.sort_by(|a, b| b.share.abs().total_cmp(&a.share.abs()));
        (score, signals)
    }
}
