//! The ranker: a weighted sum of features.

mod weights;
mod weights_e5;

use memory_core::{ModelId, port::Signal};

use crate::{
    features::{Feature, Features},
    lexical::Talk,
};

/// Weights that were fitted to rankings with one embedding model: cosines of one model lie closer together than those of
/// another, and are worth more or less than the words.
#[derive(Debug)]
pub(crate) struct Fitted {
    weights: &'static [(&'static str, [f32; 9])],
    /// Weights of the logistic function of relevance, with vectors of tokens, with vectors and by words alone.
    pub(crate) relevance: &'static [(&'static str, [f32; 3])],
}

static FOR_MINILM: Fitted = Fitted { weights: &weights::WEIGHTS, relevance: &weights::RELEVANCE };
static FOR_E5: Fitted = Fitted { weights: &weights_e5::WEIGHTS, relevance: &weights_e5::RELEVANCE };

impl Fitted {
    /// The weights for a model; of models that nothing was fitted to, those for all-MiniLM-L6-v2.
    pub(crate) fn to(model: Option<&ModelId>) -> &'static Self {
        match model.is_some_and(|model| model.as_str().contains("e5-small")) {
            true => &FOR_E5,
            false => &FOR_MINILM,
        }
    }
}

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
    pub(crate) fn new(fitted: &Fitted, talk: Talk, with_vectors: f32, with_tokens: bool) -> Self {
        let of_kind = match (with_vectors > 0.0, with_tokens) {
            (true, true) => 0,
            (true, false) => 1,
            (false, _) => 2,
        };
        let column = of_kind + 3 * talk as usize;
        let weight = |feature: Feature| {
            let row = fitted.weights.iter().find(|(name, _)| *name == feature.name());
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
        for fitted in [&FOR_MINILM, &FOR_E5] {
            for feature in Feature::ALL {
                let rows: Vec<_> = fitted.weights.iter().filter(|(name, _)| *name == feature.name()).collect();
                let &[(name, weights)] = &rows[..] else { panic!("{feature:?} has one row") };
                for kind in weights.chunks(3) {
                    let &[_, no_tokens, by_words] = kind else { panic!("{name} has three weights a kind") };
                    assert!(!feature.is_of_meaning() || by_words == 0.0, "{name} takes vectors");
                    assert!(!feature.is_late() || no_tokens == 0.0, "{name} takes tokens");
                }
            }
            assert_eq!(fitted.weights.len(), Feature::ALL.len());
        }
        let model = |name: &str| ModelId::new(name);
        let to = |name: &str| std::ptr::eq(Fitted::to(Some(&model(name))), &FOR_E5);
        assert!(to("multilingual-e5-small/int8") && to("multilingual-e5-small") && !to("all-MiniLM-L6-v2/int8"));
    }

    #[test]
    fn what_was_not_measured_counts_as_the_mean() {
        let measured = [0.5; Feature::ALL.len()];
        let mut missing = measured;
        missing[Feature::Cosine as usize] = f32::NAN;
        let ranker = Ranker::new(&FOR_MINILM, Talk::Agent, 1.0, true);
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
