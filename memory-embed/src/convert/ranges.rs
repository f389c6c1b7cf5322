//! Between which values the inputs of linear layers lie.

use std::collections::BTreeMap;

use super::ConvertError;

/// The end of the name of an output that has the least value of each column of what is called so before it.
pub(super) const LOWS: &str = ":lows";

/// The same for the greatest.
pub(super) const HIGHS: &str = ":highs";

/// Codes of inputs run from 0 to 255.
const CODES: f32 = 255.0;

/// The range of all inputs is at least this wide, so that they have a scale.
const LEAST: f32 = 1e-6;

/// The least and the greatest value that each column had.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Columns {
    lows: Vec<f32>,
    highs: Vec<f32>,
}

impl Columns {
    #[cfg(test)]
    pub(super) fn new(lows: Vec<f32>, highs: Vec<f32>) -> Self {
        Self { lows, highs }
    }

    pub(super) fn len(&self) -> usize {
        self.lows.len()
    }

    /// The greatest magnitude of each.
    pub(super) fn magnitudes(&self) -> impl Iterator<Item = f32> {
        self.lows.iter().zip(&self.highs).map(|(low, high)| low.abs().max(high.abs()))
    }

    /// Divides each by a positive number.
    pub(super) fn divide(&mut self, by: &[f32]) {
        for ends in [&mut self.lows, &mut self.highs] {
            ends.iter_mut().zip(by).for_each(|(end, by)| *end /= by);
        }
    }

    /// The step between two codes, and the code of zero, which is among them whatever the ranges:
    /// `value = (code - zero) · step`.
    pub(super) fn codes(&self) -> (f32, u8) {
        let low = self.lows.iter().copied().fold(0.0, f32::min);
        let high = self.highs.iter().copied().fold(0.0, f32::max).max(low + LEAST);
        let step = (high - low) / CODES;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a byte")]
        let zero = (-low / step).round_ties_even().clamp(0.0, CODES) as u8;
        (step, zero)
    }
}

/// The ranges of the inputs of all linear layers, by the name of what goes in.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ranges(BTreeMap<String, Columns>);

impl Ranges {
    /// Takes in an output of a watched graph; whether it was a range.
    pub(crate) fn take_in(&mut self, output: &str, values: &[f32]) -> bool {
        let (site, is_low) = match (output.strip_suffix(LOWS), output.strip_suffix(HIGHS)) {
            (Some(site), _) => (site, true),
            (_, Some(site)) => (site, false),
            _ => return false,
        };
        let columns = self.0.entry(site.to_owned()).or_default();
        let (ends, further): (_, fn(f32, f32) -> f32) =
            if is_low { (&mut columns.lows, f32::min) } else { (&mut columns.highs, f32::max) };
        if ends.is_empty() {
            ends.extend_from_slice(values);
        }
        // What is no number once, or of another width, stays no range.
        let fits = ends.len() == values.len();
        let taken = |end: f32, value: f32| {
            if fits && !value.is_nan() && !end.is_nan() { further(end, value) } else { f32::NAN }
        };
        ends.iter_mut().zip(values).for_each(|(end, value)| *end = taken(*end, *value));
        true
    }

    /// Those of `site`, where rows have `width` values.
    pub(super) fn of(&self, site: &str, width: usize) -> Result<&Columns, ConvertError> {
        let whole = |columns: &&Columns| {
            [columns.lows.len(), columns.highs.len()] == [width; 2]
                && columns.lows.iter().chain(&columns.highs).all(|end| end.is_finite())
        };
        self.0.get(site).filter(whole).ok_or_else(|| ConvertError::NotMeasured { site: site.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranges_grow_with_what_is_taken_in() {
        let mut ranges = Ranges::default();
        for (lows, highs) in [([-1.0, 2.0], [3.0, 2.5]), ([0.0, -4.0], [5.0, 0.0])] {
            assert!(ranges.take_in("a.b:lows", &lows) && ranges.take_in("a.b:highs", &highs));
        }
        assert!(!ranges.take_in("last_hidden_state", &[9.0]));
        assert_eq!(ranges.of("a.b", 2).unwrap(), &Columns::new(vec![-1.0, -4.0], vec![5.0, 2.5]));
    }

    #[test]
    fn what_was_not_measured_is_an_error_that_names_it() {
        let mut ranges = Ranges::default();
        ranges.take_in("half:lows", &[1.0]);
        for (first, then) in [([1.0].as_slice(), [f32::NAN].as_slice()), (&[f32::NAN], &[1.0]), (&[1.0], &[1.0, 2.0])] {
            let mut odd = Ranges::default();
            for values in [first, then] {
                assert!(odd.take_in("odd:lows", values) && odd.take_in("odd:highs", values));
            }
            assert!(odd.of("odd", 1).is_err(), "{first:?} and then {then:?}");
        }
        ranges.take_in("wide:lows", &[0.0, 0.0]);
        ranges.take_in("wide:highs", &[1.0, 1.0]);
        for site in ["none", "half", "wide"] {
            let error = ranges.of(site, 1).unwrap_err();
            assert!(matches!(&error, ConvertError::NotMeasured { site: named } if named == site), "{error}");
        }
    }

    proptest! {
        #[test]
        fn values_in_range_are_within_half_a_step_of_their_codes(ends in prop::collection::vec((-50.0f32..50.0, -50.0f32..50.0), 1..5), at in 0.0f32..1.0) {
            let (lows, highs) = ends.iter().map(|(a, b)| (a.min(*b), a.max(*b))).unzip();
            let columns = Columns::new(lows, highs);
            let (step, zero) = columns.codes();
            for (low, high) in columns.lows.iter().zip(&columns.highs) {
                let value = low + (high - low) * at;
                let code = ((value / step).round_ties_even() + f32::from(zero)).clamp(0.0, 255.0);
                let back = (code - f32::from(zero)) * step;
                prop_assert!((back - value).abs() <= step * 0.501, "{value} as {back}, {step} apart");
            }
            // No code is idle but for what the code of zero is rounded by.
            let code = |end: f32| (end / step).round_ties_even() + f32::from(zero);
            let low = columns.lows.iter().copied().fold(0.0, f32::min);
            let high = columns.highs.iter().copied().fold(0.0, f32::max).max(low + LEAST);
            prop_assert!(code(low).abs() <= 1.0 && (code(high) - 255.0).abs() <= 1.0, "{} to {}", code(low), code(high));
        }
    }
}
