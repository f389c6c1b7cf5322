//! Relevance: the probability that a node bears on the question.

use memory_core::port::Signal;

use crate::{lexical::Talk, ranker::Fitted};

/// Names of the evidence, in the order of [`Bearing`]; the first are features as well, the others further signals of a
/// hit.
pub(crate) const BEARING: [&str; 5] = ["coverage", "coverage_window", "heard", "nearness", "match"];
const FEATURES: usize = 2;

/// Absolute evidence that a node bears on the question, which does not depend on how well other nodes do, 0..=1; 0 for
/// what was not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bearing {
    /// Shares of the question's weight in the terms of the node, and of the node with its neighbours. Terms that no
    /// node contains count against it.
    pub(crate) coverage: f32,
    pub(crate) coverage_window: f32,
    /// Share of the question's weight in terms that some searched node contains.
    pub(crate) heard: f32,
    /// Cosine of question and node as it is.
    pub(crate) cosine: f32,
    /// Late-interaction score as it is.
    pub(crate) late: f32,
}

impl Bearing {
    /// The values that are weighed. Two are squared, since only high ones tell a question that is answered from others.
    fn values(self) -> [f32; BEARING.len()] {
        let Self { coverage, coverage_window, heard, cosine, late } = self;
        [coverage, coverage_window, heard * heard, cosine, late * late]
    }

    /// The evidence that is no feature as signals, which have no share in the score.
    pub(crate) fn signals(self) -> impl Iterator<Item = Signal> {
        BEARING.into_iter().zip(self.values()).skip(FEATURES).map(|(name, value)| Signal::new(name, value, 0.0))
    }

    /// The better of two, one by one.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            coverage: self.coverage.max(other.coverage),
            coverage_window: self.coverage_window.max(other.coverage_window),
            heard: self.heard.max(other.heard),
            cosine: self.cosine.max(other.cosine),
            late: self.late.max(other.late),
        }
    }
}

/// Logistic function of the evidence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relevance {
    margin: f32,
    chance: f32,
    bearing: [f32; BEARING.len()],
    kinds: [f32; Talk::ALL.len()],
}

impl Relevance {
    /// The function for rankings with vectors, with token vectors, or by words only.
    pub(crate) fn new(fitted: &Fitted, with_vectors: bool, with_tokens: bool) -> Self {
        let column = match (with_vectors, with_tokens) {
            (true, true) => 0,
            (true, false) => 1,
            (false, _) => 2,
        };
        let weight = |name: &str| {
            let row = fitted.relevance.iter().find(|(known, _)| *known == name);
            row.and_then(|(_, weights)| weights.get(column)).copied().unwrap_or_default()
        };
        Self {
            margin: weight("margin"),
            chance: weight("chance"),
            bearing: BEARING.map(weight),
            kinds: ["of_agent", "of_pair", "of_group"].map(weight),
        }
    }

    /// Probability of a node of a kind of conversation, 0..=1, from its score relative to the best one (`margin`), the
    /// logarithm of its share of the softmax of all scores (`chance`), and the evidence.
    pub(crate) fn of(&self, talk: Talk, margin: f32, chance: f32, bearing: Bearing) -> f32 {
        let kind = self.kinds.get(talk as usize).copied().unwrap_or_default();
        let weighed: f32 = self.bearing.iter().zip(bearing.values()).map(|(weight, value)| weight * value).sum();
        let logit = kind + weighed + self.margin * margin.max(-20.0) + self.chance * chance.max(-20.0);
        (1.0 + (-logit).exp()).recip()
    }
}

#[cfg(test)]
mod tests {
    use memory_core::ModelId;

    use super::*;

    fn models() -> [&'static Fitted; 2] {
        ["all-MiniLM-L6-v2", "multilingual-e5-small"].map(|name| Fitted::to(Some(&ModelId::new(name))))
    }

    #[test]
    fn weights_are_of_what_was_measured() {
        for (name, [tokens, vectors, words]) in models().into_iter().flat_map(|fitted| fitted.relevance.iter().copied())
        {
            let is_known =
                BEARING.contains(&name) || ["margin", "chance", "of_agent", "of_pair", "of_group"].contains(&name);
            assert!(is_known && tokens != 0.0, "{name}");
            assert_eq!(
                (vectors == 0.0, words == 0.0),
                (name == "match", ["match", "nearness"].contains(&name)),
                "{name}"
            );
        }
        assert!(models().iter().all(|fitted| fitted.relevance.len() == BEARING.len() + 5));
    }

    #[test]
    fn more_evidence_is_more_relevant_whatever_the_others_do() {
        let all = Bearing { coverage: 1.0, coverage_window: 1.0, heard: 1.0, cosine: 0.7, late: 0.8 };
        let none = Bearing { cosine: 0.1, late: 0.2, ..Bearing::default() };
        let ways = [(true, true), (true, false), (false, false)];
        for (fitted, (with_vectors, with_tokens)) in models().into_iter().flat_map(|model| ways.map(|way| (model, way)))
        {
            let relevance = Relevance::new(fitted, with_vectors, with_tokens);
            for talk in Talk::ALL {
                let [most, least] = [all, none].map(|bearing| relevance.of(talk, 0.0, -0.5, bearing));
                assert!(most > 0.5 && least < 0.2, "{talk:?}: {most} {least}");
                assert!(relevance.of(talk, -3.0, -3.5, all) < most);
            }
        }
    }
}
