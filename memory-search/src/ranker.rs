//! The ranker: a weighted sum of features.

mod weights;

use memory_core::port::Signal;

use crate::{
    features::{Feature, Features},
    lexical::Talk,
};
pub(crate) use weights::RELEVANCE;
use weights::WEIGHTS;

/// A weighted sum with one of nine sets of weights: for conversations with an agent, which have long turns, between two
/// people, and in a group; with token vectors, with vectors, and without either. All sets were fitted together, so that
/// scores of one answer are comparable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranker {
    /// Weights in the order of [`Feature::ALL`].
    weights: Features,
    /// Factor of vector features: the share of nodes with vectors, in 0..=1.
    meaning: f32,
}

impl Ranker {
    /// The ranker for a kind of conversation. `with_vectors` is the share of nodes with vectors; `with_tokens` is true
    /// if token vectors are compared.
    pub(crate) fn new(talk: Talk, with_vectors: f32, with_tokens: bool) -> Self {
        let of_kind = match (with_vectors > 0.0, with_tokens) {
            (true, true) => 0,
            (true, false) => 1,
            (false, _) => 2,
        };
        let column = of_kind + 3 * talk as usize;
        let weight = |feature: Feature| {
            let row = WEIGHTS.iter().find(|(name, _)| *name == feature.name());
            row.and_then(|(_, weights)| weights.get(column)).copied().unwrap_or_default()
        };
        Self { weights: Feature::ALL.map(weight), meaning: with_vectors }
    }

    /// Score of a node, and the share of each feature, largest first. NaN features take their value from `unmeasured`
    /// and are reported as one signal.
    pub(crate) fn score(&self, features: &Features, unmeasured: &Features) -> (f32, Vec<Signal>) {
        let (mut score, mut unknown) = (0.0, 0.0);
        let mut signals = Vec::with_capacity(features.len());
        let columns = Feature::ALL.into_iter().zip(self.weights).zip(features.iter().zip(unmeasured));
        for ((feature, weight), (&value, &instead)) in columns {
            let weight = if feature.is_of_meaning() { weight * self.meaning } else { weight };
            let share = weight * if value.is_nan() { instead } else { value };
            score += share;
            if value.is_nan() {
                unknown += share;
            } else {
                signals.push(Signal::new(feature.name(), value, share));
            }
        }
        if unknown != 0.0 {
            signals.push(Signal::new("unmeasured", unknown, unknown));
        }
        signals.sort_by(|a, b| b.share.total_cmp(&a.share));
        (score, signals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_has_its_weights() {
        for feature in Feature::ALL {
            let rows: Vec<_> = WEIGHTS.iter().filter(|(name, _)| *name == feature.name()).collect();
            let &[(name, weights)] = &rows[..] else { panic!("{feature:?} has one row") };
            for kind in weights.chunks(3) {
                let &[_, no_tokens, by_words] = kind else { panic!("{name} has three weights a kind") };
                assert!(!feature.is_of_meaning() || by_words == 0.0, "{name} takes vectors");
                assert!(!feature.is_late() || no_tokens == 0.0, "{name} takes tokens");
            }
        }
        assert_eq!(WEIGHTS.len(), Feature::ALL.len());
    }

    #[test]
    fn what_was_not_measured_counts_as_the_mean() {
        let measured = [0.5; Feature::ALL.len()];
        let mut missing = measured;
        missing[Feature::Cosine as usize] = f32::NAN;
        let ranker = Ranker::new(Talk::Agent, 1.0, true);
        let (score, signals) = ranker.score(&measured, &[0.0; Feature::ALL.len()]);
        let (same, others) = ranker.score(&missing, &measured);
        assert!((score - same).abs() < 1e-6);
        assert!(signals.iter().all(|signal| signal.name != "unmeasured") && signals.iter().any(|s| s.name == "cosine"));
        assert!(others.iter().any(|signal| signal.name == "unmeasured") && others.iter().all(|s| s.name != "cosine"));
        for signals in [signals, others] {
            assert!((signals.iter().map(|signal| signal.share).sum::<f32>() - score).abs() < 1e-5);
        }
    }
}
