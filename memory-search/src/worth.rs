//! Decides which hits are worth their tokens.

use memory_core::ScoreScale;

use crate::ranking::Candidate;

/// The minimum chance of a hit that costs the whole budget: a budget filled at this price would bring a tenth of a hit.
/// Fitted to conversations of two people, with an agent and of many people, by vectors and by words alone. With it, a
/// recall of 1,000 to 4,000 tokens keeps 98 % of the evidence that a filled budget holds (`docs/benchmarks.md`, "Where
/// recall stops").
const LEAST_HITS: f64 = 0.1;

/// Whether each hit is worth its price in tokens; the best hit comes first. A hit is worth it if its chance is at least
/// [`LEAST_HITS`] times its share of the budget. The best affordable hit always is. A hit without a price does not
/// affect the others.
///
/// The chance of a hit is its share of the softmax of all scores, for which the ranker was fitted. Cross-encoder scores
/// were not fitted: with one of them among the scores, every hit is worth its tokens.
pub(crate) fn are_worth(hits: &[Candidate], prices: &[Option<u64>], budget: u32) -> Vec<bool> {
    let is_fitted = hits.iter().all(|hit| hit.score.scale == ScoreScale::Fused);
    let scores = || hits.iter().map(|hit| f64::from(hit.score.value)).zip(prices);
    let had = || scores().filter(|(_, price)| price.is_some()).map(|(score, _)| score);
    let best = had().fold(f64::NEG_INFINITY, f64::max);
    let all: f64 = had().map(|score| (score - best).exp()).sum();
    let is_worth = |(score, price): (f64, &Option<u64>)| {
        let chance = (score - best).exp() / all;
        #[expect(clippy::cast_precision_loss, reason = "a count of tokens")]
        let is_dear = |price: u64| chance * f64::from(budget) < LEAST_HITS * price as f64;
        !is_fitted || score >= best || !price.is_some_and(is_dear)
    };
    scores().map(is_worth).collect()
}

#[cfg(test)]
mod tests {
    use memory_core::{ConversationId, NodeId, Score};

    use super::*;

    /// A cost of 0 stands for one that is too high.
    fn check(scores: &[f32], scale: ScoreScale, costs: &[u64], expected: &[bool]) {
        let prices: Vec<_> = costs.iter().map(|&cost| (cost > 0).then_some(cost)).collect();
        let hit = |&value: &f32| Candidate {
            conversation: ConversationId::new("talk").unwrap(),
            node: NodeId::FIRST,
            score: Score { value, scale },
            signals: Vec::new(),
        };
        let hits: Vec<_> = scores.iter().map(hit).collect();
        assert_eq!(are_worth(&hits, &prices, 2_000), expected, "{scores:?} {costs:?}");
    }

    #[test]
    fn a_hit_is_worth_its_tokens_by_its_chance() {
        // One in 1,097 of all: of 2,000 tokens, ten times that is 18.
        check(&[9.0, 2.0], ScoreScale::Fused, &[500, 18], &[true, true]);
        check(&[9.0, 2.0], ScoreScale::Fused, &[500, 19], &[true, false]);
        check(&[-1.0, -8.0], ScoreScale::Fused, &[500, 19], &[true, false]);
        // Nearly one in two.
        check(&[3.0, 2.999], ScoreScale::Fused, &[1, 9_990], &[true, true]);
        check(&[3.0, 2.999], ScoreScale::Fused, &[1, 10_000], &[true, false]);
        // The best is, at any price, and what is as good.
        check(&[3.0, 3.0], ScoreScale::Fused, &[90_000, 90_000], &[true, true]);
        check(&[], ScoreScale::Fused, &[], &[]);
    }

    #[test]
    fn a_hit_that_cannot_be_had_keeps_no_other_back() {
        check(&[9.0, 2.0, 1.0], ScoreScale::Fused, &[0, 500, 500], &[true, true, true]);
        check(&[9.0, 2.0, -9.0], ScoreScale::Fused, &[0, 500, 500], &[true, true, false]);
        check(&[9.0], ScoreScale::Fused, &[0], &[true]);
    }

    #[test]
    fn nothing_was_fitted_to_the_scores_of_a_cross_encoder() {
        check(&[9.0, -9.0], ScoreScale::Logit, &[500, 500], &[true, true]);
        check(&[9.0, -9.0], ScoreScale::Fused, &[500, 500], &[true, false]);
    }
}
