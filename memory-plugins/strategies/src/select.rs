//! Greedy selection of segments by marginal value per cost.

use std::{cmp::Ordering, collections::BinaryHeap};

use crate::terms::Terms;

/// A segment that may be selected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    /// Its index among all segments.
    pub segment: usize,
    /// The factor of its terms by kind, position, cues and source.
    pub factor: f32,
    /// Its approximate cost in tokens, above 0.
    pub cost: f32,
}

/// The limits of a selection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Maximum tokens, by the candidates' costs.
    pub tokens: f32,
    /// Maximum segments.
    pub segments: usize,
    /// The exponent of the cost: 1 for value per token, less if the number of segments is the tighter limit.
    pub thrift: f32,
}

/// The value of a repeated term as a share of its first occurrence.
const AGAIN: f32 = 0.1;

/// How many of the best candidates by initial rate are rated repeatedly; the rest cannot win.
const LOOKED_AT: usize = 512;

/// Additional tokens of any pick, so that many tiny ones do not win.
const OVERHEAD: f32 = 4.0;

/// Selects greedily, best first. A term that is already covered adds little.
///
/// The best candidate is selected even if it is too long, at the value of the part that fits.
pub(crate) fn select(candidates: Vec<Candidate>, terms: &Terms, limits: Limits) -> Vec<usize> {
    let mut covered = vec![false; terms.len()];
    let rate = |candidate: &Candidate, covered: &[bool]| {
        let fitting = (limits.tokens / candidate.cost).min(1.0);
        let cut = if fitting < 1.0 { 0.8 } else { 1.0 };
        let cost = candidate.cost.min(limits.tokens) + OVERHEAD;
        gain(candidate, terms, covered) * fitting * cut / cost.powf(limits.thrift)
    };
    let mut rated: Vec<Rated> = candidates
        .into_iter()
        .map(|candidate| Rated { rate: rate(&candidate, &covered), candidate, at_pick: 0 })
        .collect();
    if rated.len() > LOOKED_AT {
        rated.select_nth_unstable_by(LOOKED_AT, |a, b| b.cmp(a));
        rated.truncate(LOOKED_AT);
    }
    let mut heap: BinaryHeap<Rated> = rated.into();
    let mut picked = Vec::new();
    let mut left = limits.tokens;
    while let Some(best) = heap.pop() {
        if picked.len() >= limits.segments {
            break;
        }
        if best.candidate.cost > left && !picked.is_empty() {
            continue;
        }
        // Rates never rise as terms are covered (lazy greedy): a candidate that leads after it is rated again is the
        // best.
        if best.at_pick < picked.len() {
            let fresh = Rated { rate: rate(&best.candidate, &covered), at_pick: picked.len(), ..best };
            if heap.peek().is_some_and(|next| next.cmp(&fresh) == Ordering::Greater) {
                heap.push(fresh);
                continue;
            }
        }
        let bag = terms.of_segment(best.candidate.segment);
        let is_covered = |&term: &u32| usize::try_from(term).ok().and_then(|index| covered.get(index)) == Some(&true);
        if !picked.is_empty() && bag.iter().all(is_covered) {
            continue;
        }
        for &term in bag {
            if let Some(covered) = usize::try_from(term).ok().and_then(|index| covered.get_mut(index)) {
                *covered = true;
            }
        }
        left -= best.candidate.cost;
        picked.push(best.candidate.segment);
    }
    picked
}

fn gain(candidate: &Candidate, terms: &Terms, covered: &[bool]) -> f32 {
    let worth = |&term: &u32| {
        let again = usize::try_from(term).ok().and_then(|index| covered.get(index)).copied().unwrap_or(false);
        terms.weight(term) * if again { AGAIN } else { 1.0 }
    };
    // Above 0 even for a segment of common words, so that it can be selected if there is no other.
    (0.05 + terms.of_segment(candidate.segment).iter().map(worth).sum::<f32>()) * candidate.factor
}

#[derive(Clone, Copy, Debug)]
struct Rated {
    rate: f32,
    candidate: Candidate,
    /// The number of picks when it was rated.
    at_pick: usize,
}

impl Ord for Rated {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rate.total_cmp(&other.rate).then(other.candidate.segment.cmp(&self.candidate.segment))
    }
}

impl PartialOrd for Rated {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Rated {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Rated {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segments::cut;

    fn picked(text: &str, limits: Limits) -> Vec<usize> {
        let mut segments = Vec::new();
        cut(0, text, &mut segments);
        let candidate = |segment| Candidate { segment, factor: 1.0, cost: 10.0 };
        select((0..segments.len()).map(candidate).collect(), &Terms::read(&segments, 1), limits)
    }

    #[test]
    fn what_is_told_already_adds_little() {
        let text = "The Berlin office opens in March. The Berlin office opens in March. Rain fell softly.";
        let limits = Limits { tokens: 20.0, segments: 9, thrift: 1.0 };
        assert_eq!(picked(text, limits), [0, 2]);
    }

    #[test]
    fn both_limits_hold() {
        let text = "One bird sang. Two cats slept. Three dogs ran.";
        assert_eq!(picked(text, Limits { tokens: 100.0, segments: 2, thrift: 0.5 }).len(), 2);
        assert_eq!(picked(text, Limits { tokens: 25.0, segments: 9, thrift: 1.0 }).len(), 2);
        assert_eq!(picked(text, Limits { tokens: 5.0, segments: 9, thrift: 1.0 }).len(), 1);
    }
}
