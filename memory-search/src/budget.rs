//! Spending of a recall budget: its share by the complexity of the question, and the hits that are worth their tokens.

use memory_core::port::{RecallRequest, ScoreScale};

use crate::{
    lexical::Asked,
    ranking::{Candidate, Pool},
};

/// Points of maximum complexity.
const MOST_POINTS: usize = 6;
/// A term is rare if at most one message in this many contains it.
const RARE: u64 = 10;

/// Words that join several subjects or ask for many things.
const JOINTS: [&str; 12] =
    ["and", "or", "versus", "vs", "both", "between", "compare", "all", "every", "each", "list", "many"];

/// The share of its budget that a request gets, in 0..=1.
///
/// The share grows from [`RecallRequest::least_share`] to 1 with the complexity of the question. Complexity counts one
/// point for each distinct rare word after the first, one for each name (a capital or a digit, not in the first word)
/// after the first, and one for each word that joins things or asks for many (`and`, `or`, `both`, `all`, `list`, …). A
/// word is rare if no more than a tenth of the searched messages contain it. Six points ask for the whole budget.
pub(crate) fn budget_share(request: &RecallRequest, asked: &Asked, pool: &Pool) -> f32 {
    let least = if request.least_share.is_nan() { 1.0 } else { request.least_share.clamp(0.0, 1.0) };
    if least >= 1.0 {
        return 1.0;
    }
    let words = pool.weigh(asked);
    let least_rare = words.all.idf((words.all.nodes / RARE).max(1));
    let rare = words.words.iter().filter(|word| word.idf >= least_rare).count();
    least + (1.0 - least) * complexity(&request.question, rare)
}

/// Points as a share of [`MOST_POINTS`], in 0..=1.
fn complexity(question: &str, rare_terms: usize) -> f32 {
    let words: Vec<&str> = question.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_named = |word: &&&str| word.chars().any(|c| c.is_uppercase() || c.is_numeric()) && **word != "I";
    let named = words.iter().skip(1).filter(is_named).count();
    let joints = words.iter().filter(|word| JOINTS.contains(&&*word.to_lowercase())).count();
    let points = rare_terms.saturating_sub(1) + named.saturating_sub(1) + joints;
    #[expect(clippy::cast_precision_loss, reason = "at most MOST_POINTS")]
    let part = points.min(MOST_POINTS) as f32 / MOST_POINTS as f32;
    part
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a u32")]
pub(crate) fn share_of(budget: u32, share: f32) -> u32 {
    ((f64::from(budget) * f64::from(share)).ceil() as u32).min(budget)
}

/// Minimum bare probability of a hit that costs the whole budget; a budget filled at this price would contain a 25th of
/// a hit. The bare probability is relevance without the sharpness that it was fitted with, which would leave out
/// evidence far down the ranking.
const LEAST_HITS: f64 = 0.04;
const SHARPNESS: f64 = 1.5;

/// Minimum relevance of a hit, however few tokens it has: what is short costs its reader attention as well. Fitted: of
/// the first ninety hits of a question in talks of two people it leaves out a quarter, and none of the evidence. At ten
/// times as much it would leave out three fifths, and one part in a hundred of the evidence.
const LEAST_RELEVANCE: f32 = 0.00001;

/// Minimum sum of the relevance of all hits: below it nothing bears on the question, and nothing is worth its tokens.
/// Many equal hits share their chance, so it is a sum. Fitted: the best hit of 2 % of the answered questions is below
/// it, and of two fifths of those moved to conversations that do not answer them.
const LEAST_BEARING: f32 = 0.005;

/// For each hit, true if it is worth its price in tokens: all hits together have at least the relevance
/// [`LEAST_BEARING`], and this one at least [`LEAST_RELEVANCE`], and at least [`LEAST_HITS`] times its share of the budget.
///
/// Cross-encoder scores have no fitted probabilities, so if one is among the scores, every hit is worth its tokens.
pub(crate) fn are_worth(hits: &[Candidate], prices: &[Option<u64>], budget: u32) -> Vec<bool> {
    let is_fitted = hits.iter().all(|hit| hit.score.scale == ScoreScale::Fused);
    let is_any = hits.iter().map(|hit| hit.relevance).sum::<f32>() >= LEAST_BEARING;
    let is_worth = |(hit, price): (&Candidate, &Option<u64>)| {
        #[expect(clippy::cast_precision_loss, reason = "a count of tokens")]
        let is_dear = |price: u64| bare(hit.relevance) * f64::from(budget) < LEAST_HITS * price as f64;
        !is_fitted || is_any && hit.relevance >= LEAST_RELEVANCE && !price.is_some_and(is_dear)
    };
    hits.iter().zip(prices).map(is_worth).collect()
}

/// Probability before sharpening, 0..=1.
fn bare(relevance: f32) -> f64 {
    let odds = f64::from(relevance) / (1.0 - f64::from(relevance)).max(f64::MIN_POSITIVE);
    let odds = odds.powf(SHARPNESS.recip());
    if odds.is_finite() { odds / (1.0 + odds) } else { 1.0 }
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
            repeats_question: false,
            signals: Vec::new(),
        };
        let candidates: Vec<_> = hits.iter().map(hit).collect();
        assert_eq!(are_worth(&candidates, &prices, 2_000), expected, "{hits:?} {costs:?}");
    }

    #[test]
    fn a_hit_is_worth_its_tokens_by_its_relevance() {
        // Bare, a hit of 1 % has odds of 1 to 21.4: it brings 4.5 % of a hit, and is worth 1.12 times the budget of
        // 2,000.
        check(&[(9.0, 90), (2.0, 1)], ScoreScale::Fused, &[500, 2_200], &[true, true]);
        check(&[(9.0, 90), (2.0, 1)], ScoreScale::Fused, &[500, 2_300], &[true, false]);
        check(&[(3.0, 50), (2.9, 50)], ScoreScale::Fused, &[1, 24_990], &[true, true]);
        check(&[(3.0, 50), (2.9, 50)], ScoreScale::Fused, &[1, 25_010], &[true, false]);
        check(&[(3.0, 50), (2.9, 0)], ScoreScale::Fused, &[1, 1], &[true, false]);
        check(&[(3.0, 50), (-9.0, 0)], ScoreScale::Fused, &[1, 0], &[true, false]);
        check(&[], ScoreScale::Fused, &[], &[]);
    }

    #[test]
    fn nothing_is_worth_its_tokens_where_nothing_bears_on_the_question() {
        check(&[(9.0, 0), (2.0, 0)], ScoreScale::Fused, &[1, 1], &[false, false]);
        check(&[(9.0, 0), (2.0, 1)], ScoreScale::Fused, &[1, 100], &[false, true]);
        check(&[(9.0, 0)], ScoreScale::Logit, &[1], &[true]);
    }

    #[test]
    fn what_cannot_be_had_has_no_price() {
        check(&[(9.0, 90), (2.0, 1)], ScoreScale::Fused, &[0, 5_000], &[true, false]);
    }

    #[test]
    fn nothing_was_fitted_to_the_scores_of_a_cross_encoder() {
        check(&[(9.0, 90), (-9.0, 0)], ScoreScale::Logit, &[500, 500], &[true, true]);
        check(&[(9.0, 90), (-9.0, 0)], ScoreScale::Fused, &[500, 500], &[true, false]);
    }

    #[test]
    fn a_question_is_the_more_complex_the_more_it_asks_for() {
        let check = |question: &str, rare: usize, points: f32| {
            let found = complexity(question, rare);
            assert!((found - points / 6.0).abs() < 1e-6, "{question}: {found}");
        };
        check("Where do we stay?", 0, 0.0);
        check("Where is the hall?", 1, 0.0);
        check("Which hall did Maya book?", 2, 1.0);
        check("Compare what Maya and Tom said of Berlin", 2, 5.0);
        check("List all flights and hotels of Maya, Tom and Ines in 2023", 4, 6.0);
    }

    #[test]
    fn a_share_is_of_the_whole_and_no_more() {
        assert_eq!(
            [share_of(1_000, 0.25), share_of(10, 0.01), share_of(u32::MAX, 1.0), share_of(0, 0.5)],
            [250, 1, u32::MAX, 0]
        );
    }
}
