//! Fuses several signals into one score.

/// One signal of every candidate.
#[derive(Debug)]
pub(crate) struct Column {
    /// Weight in the sum, not negative.
    pub(crate) weight: f32,
    /// Value that maps to 0; `None` for the lowest value.
    pub(crate) floor: Option<f32>,
    /// The value of each candidate; NaN if not measured.
    pub(crate) values: Vec<f32>,
}

#[derive(Debug)]
pub(crate) struct Fused {
    /// The score of each candidate, in 0..=1.
    pub(crate) scores: Vec<f32>,
}

/// The values of a column that map to 0 and to 1.
#[derive(Clone, Copy, Debug)]
struct Range {
    low: f32,
    high: f32,
}

impl Range {
    fn of(column: &Column) -> Self {
        let values = || column.values.iter().copied();
        let low = column.floor.unwrap_or_else(|| values().fold(f32::INFINITY, f32::min));
        Self { low, high: values().fold(f32::NEG_INFINITY, f32::max) }
    }

    /// Share of the way from low to high, 0 for NaN. If all values are equal, those above 0 map to 1.
    fn share(self, value: f32) -> f32 {
        if value > self.low {
            (value - self.low) / (self.high - self.low)
        } else {
            f32::from(u8::from(value > 0.0 && self.high <= self.low))
        }
    }
}

impl Fused {
    /// A convex combination: each signal is min-max normalized to 0..=1 over all candidates, weighted, and added.
    /// Weights are relative, so that a missing signal does not change the balance of the others. Likewise the score of
    /// a candidate that a signal did not measure comes only from its other signals.
    ///
    /// All columns must have the same length.
    pub(crate) fn of(mut columns: Vec<Column>) -> Self {
        let sum: f32 = columns.iter().map(|column| column.weight).sum();
        columns.iter_mut().for_each(|column| column.weight /= sum.max(f32::MIN_POSITIVE));
        let columns: Vec<_> = columns.into_iter().map(|column| (Range::of(&column), column)).collect();
        let mut scores = vec![0.0; columns.first().map_or(0, |(_, column)| column.values.len())];
        let mut unknown = vec![0.0; scores.len()];
        for (range, column) in &columns {
            for ((score, unknown), &value) in scores.iter_mut().zip(&mut unknown).zip(&column.values) {
                *score += column.weight * range.share(value);
                *unknown += if value.is_nan() { column.weight } else { 0.0 };
            }
        }
        for (score, unknown) in scores.iter_mut().zip(unknown) {
            *score *= raise(unknown);
        }
        Self { scores }
    }

    /// The best `limit` candidates with scores above 0 that `wanted` accepts, best first, ties by index.
    pub(crate) fn best(&self, limit: usize, wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        let scored = self.scores.iter().enumerate().filter(|&(index, &score)| score > 0.0 && wanted(index));
        let mut best: Vec<_> = scored.map(|(index, &score)| (score, index)).collect();
        let order = |a: &(f32, usize), b: &(f32, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if limit < best.len() {
            best.select_nth_unstable_by(limit, order);
            best.truncate(limit);
        }
        best.sort_unstable_by(order);
        best.into_iter().map(|(_, index)| index).collect()
    }
}

/// Factor that renormalizes the measured weights of a candidate; `unknown` is the sum of the others. Exactly 1 if all
/// were measured.
fn raise(unknown: f32) -> f32 {
    (1.0 - unknown).max(f32::MIN_POSITIVE).recip()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(weight: f32, floor: Option<f32>, values: &[f32]) -> Column {
        Column { weight, floor, values: values.to_vec() }
    }

    #[test]
    fn a_score_is_the_weighted_sum() {
        let fused = Fused::of(vec![column(1.0, Some(0.0), &[4.0, 0.0, 2.0]), column(3.0, None, &[0.2, 0.6, f32::NAN])]);
        assert_eq!(fused.scores, [0.25, 0.75, 0.5]);
    }

    #[test]
    fn a_candidate_that_a_signal_did_not_measure_is_neither_buried_nor_favoured() {
        let words = [1.0, 2.0, 2.0, 2.0, 4.0];
        let cosine = [0.6, 0.2, f32::NAN, 0.6, f32::NAN];
        let columns = || vec![column(1.0, Some(0.0), &words), column(1.0, None, &cosine)];
        let fused = Fused::of(columns());
        let by_words = Fused::of(columns().into_iter().take(1).collect());
        for unmeasured in [2, 4] {
            assert_eq!(fused.scores[unmeasured], by_words.scores[unmeasured]);
        }
        let [worst, unmeasured, best] = [1, 2, 3].map(|candidate| fused.scores[candidate]);
        assert!(worst < unmeasured && unmeasured < best, "of equal words, the one not measured lies between");
    }

    #[test]
    fn the_only_candidate_is_found() {
        assert_eq!(Fused::of(vec![column(1.0, Some(0.0), &[4.0])]).best(9, |_| true), [0]);
        assert_eq!(Fused::of(vec![column(1.0, None, &[0.3])]).best(9, |_| true), [0]);
        assert_eq!(Fused::of(vec![column(1.0, Some(0.0), &[0.0])]).best(9, |_| true), [0; 0]);
    }

    #[test]
    fn the_worst_of_those_that_hold_a_word_is_found() {
        assert_eq!(Fused::of(vec![column(1.0, Some(0.0), &[4.0, 1.0])]).best(9, |_| true), [0, 1]);
    }

    #[test]
    fn equal_scores_keep_their_order_whatever_the_limit() {
        let fused = Fused::of(vec![column(1.0, Some(0.0), &[1.0, 2.0, 1.0, 0.0, 2.0, 1.0])]);
        for limit in 0..7 {
            let expected = [1, 4, 0, 2, 5];
            assert_eq!(fused.best(limit, |_| true), expected[..limit.min(5)], "{limit}");
        }
        assert_eq!(fused.best(2, |candidate| candidate != 4), [1, 0]);
    }

    #[test]
    fn nothing_measured_gives_nothing() {
        assert_eq!(Fused::of(Vec::new()).best(3, |_| true), [0; 0]);
        assert_eq!(Fused::of(vec![column(1.0, None, &[f32::NAN; 2])]).best(3, |_| true), [0; 0]);
    }
}
