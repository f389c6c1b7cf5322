//! The complexity of a question, and the share of a recall budget that it gets.

use memory_core::port::RecallRequest;

use crate::ranking::Pool;

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
/// point for each distinct rare term after the first, one for each name (a capital or a digit, not in the first word)
/// after the first, and one for each word that joins things or asks for many (`and`, `or`, `both`, `all`, `list`, …). A
/// term is rare if no more than a tenth of the searched messages contain it. Six points ask for the whole budget.
pub(crate) fn budget_share(request: &RecallRequest, terms: &[Box<str>], pool: &Pool) -> f32 {
    let least = if request.least_share.is_nan() { 1.0 } else { request.least_share.clamp(0.0, 1.0) };
    if least >= 1.0 {
        return 1.0;
    }
    let all = pool.readable() as u64;
    let held_by =
        |term: &str| -> u64 { pool.parts().iter().map(|part| u64::from(part.indexed.read().nodes_with(term))).sum() };
    let rare = terms.iter().filter(|term| (1..=(all / RARE).max(1)).contains(&held_by(term))).count();
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

#[cfg(test)]
mod tests {
    use super::*;

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
