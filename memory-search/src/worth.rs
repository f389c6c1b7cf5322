//! Decides which hits are worth their tokens.

use memory_core::port::ScoreScale;

use crate::ranking::Candidate;

/// Minimum probability of a hit that costs the whole budget; a budget filled at this price would contain a tenth of a
/// hit. Fitted to conversations of two people, with an agent and in groups, by vectors and by words. With this value, a
/// recall of 1,000 to 4,000 tokens keeps 98 % of the evidence that a filled budget would have.
const LEAST_HITS: f64 = 0.1;

/// For each hit, true if it is worth its price in tokens: its probability of being relevant is at least [`LEAST_HITS`]
/// times its share of the budget. The best affordable hit always is.
///
/// Cross-encoder scores have no fitted probabilities, so if one is among the scores, every hit is worth its tokens.
pub(crate) fn are_worth(hits: &[Candidate], prices: &[Option<u64>], budget: u32) -> Vec<bool> {
    let is_fitted = hits.iter().all(|hit| hit.score.scale == ScoreScale::Fused);
    let priced = || hits.iter().zip(prices);
    let had = priced().filter(|(_, price)| price.is_some());
    let best = had.map(|(hit, _)| hit.score.value).fold(f32::NEG_INFINITY, f32::max);
    let is_worth = |(hit, price): (&Candidate, &Option<u64>)| {
        #[expect(clippy::cast_precision_loss, reason = "a count of tokens")]
        let is_dear = |price: u64| f64::from(hit.relevance) * f64::from(budget) < LEAST_HITS * price as f64;
        !is_fitted || hit.score.value >= best || !price.is_some_and(is_dear)
    };
    priced().map(is_worth).collect()
}

#[cfg(test)]
mod tests {
    use memory_core::{ConversationId, NodeId, port::Score};

    use super::*;

    /// Hits of these scores and relevances in percent. A cost of 0 stands for one that is too high.
    fn check(hits: &[(f32, u8)], scale: ScoreScale, costs: &[u64], expected: &[bool]) {
        let prices: Vec<_> = costs.iter().map(|&cost| (cost > 0).then_some(cost)).collect();
        let hit = |&(value, percent): &(f32, u8)| Candidate {
            conversation: ConversationId::new("talk").unwrap(),
            node: NodeId::FIRST,
            score: Score { value, scale },
            relevance: f32::from(percent) / 100.0,
            signals: Vec::new(),
        };
        let candidates: Vec<_> = hits.iter().map(hit).collect();
        assert_eq!(are_worth(&candidates, &prices, 2_000), expected, "{hits:?} {costs:?}");
    }

    #[test]
    fn a_hit_is_worth_its_tokens_by_its_relevance() {
        // A hit of 1 % brings a hundredth of a hit: of 2,000 tokens, ten times that is 200.
        check(&[(9.0, 90), (2.0, 1)], ScoreScale::Fused, &[500, 199], &[true, true]);
        check(&[(9.0, 90), (2.0, 1)], ScoreScale::Fused, &[500, 201], &[true, false]);
        check(&[(3.0, 50), (2.9, 50)], ScoreScale::Fused, &[1, 9_990], &[true, true]);
        check(&[(3.0, 50), (2.9, 50)], ScoreScale::Fused, &[1, 10_010], &[true, false]);
        // The best hit is worth any price, as is one that is as good.
        check(&[(3.0, 1), (3.0, 1)], ScoreScale::Fused, &[90_000, 90_000], &[true, true]);
        check(&[], ScoreScale::Fused, &[], &[]);
    }

    #[test]
    fn the_best_that_can_be_had_is_worth_it() {
        check(&[(9.0, 90), (2.0, 1), (1.0, 1)], ScoreScale::Fused, &[0, 5_000, 5_000], &[true, true, false]);
        check(&[(9.0, 90)], ScoreScale::Fused, &[0], &[true]);
    }

    #[test]
    fn nothing_was_fitted_to_the_scores_of_a_cross_encoder() {
        check(&[(9.0, 90), (-9.0, 1)], ScoreScale::Logit, &[500, 500], &[true, true]);
        check(&[(9.0, 90), (-9.0, 1)], ScoreScale::Fused, &[500, 500], &[true, false]);
    }
}
