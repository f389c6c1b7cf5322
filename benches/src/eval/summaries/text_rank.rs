//! TextRank for sentences: Mihalcea and Tarau, "TextRank: Bringing Order into Texts" (2004), section 4.

use std::collections::BTreeSet;

use super::terms;

/// The paper's damping and threshold of convergence.
const DAMPING: f64 = 0.85;
const CONVERGED: f64 = 1e-4;
const MOST_STEPS: usize = 100;

/// The indexes of `sentences`, highest ranked first.
///
/// The similarity of two sentences is the number of words that they share, divided by the sum of the logarithms of
/// their lengths. A filter of common words replaces the paper's filter by parts of speech.
pub(super) fn ranked(sentences: &[&str]) -> Vec<usize> {
    let words: Vec<BTreeSet<String>> = sentences.iter().map(|sentence| telling(sentence)).collect();
    let weights: Vec<Vec<f64>> = words
        .iter()
        .enumerate()
        .map(|(here, ours)| {
            words
                .iter()
                .enumerate()
                .map(|(there, theirs)| if here == there { 0.0 } else { similarity(ours, theirs) })
                .collect()
        })
        .collect();
    let sums: Vec<f64> = weights.iter().map(|row| row.iter().sum()).collect();
    let mut ranks = vec![1.0; sentences.len()];
    for _ in 0..MOST_STEPS {
        let next: Vec<f64> = weights
            .iter()
            .map(|row| {
                // The matrix is symmetric, so a row also holds the incoming edges.
                let incoming = row.iter().zip(&sums).zip(&ranks);
                let votes: f64 =
                    incoming.map(|((weight, sum), rank)| if *sum > 0.0 { weight / sum * rank } else { 0.0 }).sum();
                (1.0 - DAMPING) + DAMPING * votes
            })
            .collect();
        let change = next.iter().zip(&ranks).map(|(new, old): (&f64, &f64)| (new - old).abs()).fold(0.0, f64::max);
        ranks = next;
        if change < CONVERGED {
            break;
        }
    }
    let mut order: Vec<(usize, f64)> = ranks.into_iter().enumerate().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    order.into_iter().map(|(place, _)| place).collect()
}

fn telling(sentence: &str) -> BTreeSet<String> {
    terms::held(sentence).into_iter().filter(|word| !terms::is_common(word)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "sentences have few words")]
fn similarity(ours: &BTreeSet<String>, theirs: &BTreeSet<String>) -> f64 {
    let shared = ours.intersection(theirs).count();
    let lengths = (ours.len() as f64).ln() + (theirs.len() as f64).ln();
    // By this measure, two sentences of one word each have length 0.
    if shared == 0 || lengths <= 0.0 { 0.0 } else { shared as f64 / lengths }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_that_the_others_are_about_leads() {
        let sentences = [
            "The harbour froze over.",
            "Ships left the frozen harbour for warmer ports.",
            "Warmer ports had room for ships.",
            "Somebody sang.",
        ];
        let order = ranked(&sentences);
        assert_eq!((order[0], order[3]), (1, 3));
        assert!(ranked(&[]).is_empty());
    }
}
