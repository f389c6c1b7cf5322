//! Calibrated ranges of the inputs of linear layers.

use std::collections::BTreeMap;

use ndarray::{Array1, Zip};

use crate::ModelError;

/// Name suffix of the output with the minimum of each column.
pub(super) const MINIMA: &str = ":lows";

/// Name suffix of the output with the maximum of each column.
pub(super) const MAXIMA: &str = ":highs";

/// Maximum quantized input; the minimum is 0.
const MAX_QUANTIZED: f32 = 255.0;

/// Minimum width of the range of all inputs, so that the scale is positive.
const MIN_WIDTH: f32 = 1e-6;

/// The minimum and maximum of each column.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Columns {
    minima: Array1<f32>,
    maxima: Array1<f32>,
}

impl Columns {
    #[cfg(test)]
    pub(super) fn new(minima: Vec<f32>, maxima: Vec<f32>) -> Self {
        Self { minima: minima.into(), maxima: maxima.into() }
    }

    pub(super) fn len(&self) -> usize {
        self.minima.len()
    }

    pub(super) fn magnitudes(&self) -> Array1<f32> {
        Zip::from(&self.minima).and(&self.maxima).map_collect(|low, high| low.abs().max(high.abs()))
    }

    /// The columns, each divided by a positive number.
    pub(super) fn divided(&self, by: &Array1<f32>) -> Self {
        Self { minima: &self.minima / by, maxima: &self.maxima / by }
    }

    /// Scale and zero point, with `value = (code - zero) · step`. Zero is always representable.
    pub(super) fn scale_and_zero_point(&self) -> (f32, u8) {
        let low = self.minima.iter().copied().fold(0.0, f32::min);
        let high = self.maxima.iter().copied().fold(0.0, f32::max).max(low + MIN_WIDTH);
        let step = (high - low) / MAX_QUANTIZED;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a byte")]
        let zero = (-low / step).round_ties_even().clamp(0.0, MAX_QUANTIZED) as u8;
        (step, zero)
    }
}

/// Ranges of the inputs of all linear layers, by the name of the inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ranges(BTreeMap<String, Columns>);

impl Ranges {
    /// Merges an output of a calibration graph; `false` if it is not a range.
    pub(crate) fn observe(&mut self, output: &str, values: &[f32]) -> bool {
        let (site, is_low) = match (output.strip_suffix(MINIMA), output.strip_suffix(MAXIMA)) {
            (Some(site), _) => (site, true),
            (_, Some(site)) => (site, false),
            _ => return false,
        };
        let columns = self.0.entry(site.to_owned()).or_default();
        let (ends, further): (_, fn(f32, f32) -> f32) =
            if is_low { (&mut columns.minima, f32::min) } else { (&mut columns.maxima, f32::max) };
        if ends.is_empty() {
            *ends = Array1::from(values.to_vec());
        }
        // NaN, or another width, invalidates the range permanently.
        if ends.len() != values.len() {
            ends.fill(f32::NAN);
        }
        let taken = |end: f32, value: f32| if value.is_nan() || end.is_nan() { f32::NAN } else { further(end, value) };
        ends.iter_mut().zip(values).for_each(|(end, value)| *end = taken(*end, *value));
        true
    }

    /// The ranges of `site`, whose rows have `width` values.
    pub(super) fn of(&self, site: &str, width: usize) -> Result<&Columns, ModelError> {
        let whole = |columns: &&Columns| {
            [columns.minima.len(), columns.maxima.len()] == [width; 2]
                && columns.minima.iter().chain(&columns.maxima).all(|end| end.is_finite())
        };
        self.0.get(site).filter(whole).ok_or_else(|| ModelError::NotMeasured { site: site.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranges_grow_with_what_is_observed() {
        let mut ranges = Ranges::default();
        for (minima, maxima) in [([-1.0, 2.0], [3.0, 2.5]), ([0.0, -4.0], [5.0, 0.0])] {
            assert!(ranges.observe("a.b:lows", &minima) && ranges.observe("a.b:highs", &maxima));
        }
        assert!(!ranges.observe("last_hidden_state", &[9.0]));
        assert_eq!(ranges.of("a.b", 2).unwrap(), &Columns::new(vec![-1.0, -4.0], vec![5.0, 2.5]));
    }

    #[test]
    fn what_was_not_measured_is_an_error_that_names_it() {
        let mut ranges = Ranges::default();
        ranges.observe("half:lows", &[1.0]);
        for (first, then) in [([1.0].as_slice(), [f32::NAN].as_slice()), (&[f32::NAN], &[1.0]), (&[1.0], &[1.0, 2.0])] {
            let mut odd = Ranges::default();
            for values in [first, then] {
                assert!(odd.observe("odd:lows", values) && odd.observe("odd:highs", values));
            }
            assert!(odd.of("odd", 1).is_err(), "{first:?} and then {then:?}");
        }
        ranges.observe("wide:lows", &[0.0, 0.0]);
        ranges.observe("wide:highs", &[1.0, 1.0]);
        for site in ["none", "half", "wide"] {
            let error = ranges.of(site, 1).unwrap_err();
            assert!(matches!(&error, ModelError::NotMeasured { site: named } if named == site), "{error}");
        }
    }

    proptest! {
        #[test]
        fn values_in_range_are_within_half_a_step_of_their_codes(ends in prop::collection::vec((-50.0f32..50.0, -50.0f32..50.0), 1..5), at in 0.0f32..1.0) {
            let (minima, maxima) = ends.iter().map(|(a, b)| (a.min(*b), a.max(*b))).unzip();
            let columns = Columns::new(minima, maxima);
            let (step, zero) = columns.scale_and_zero_point();
            for (low, high) in columns.minima.iter().zip(&columns.maxima) {
                let value = low + (high - low) * at;
                let code = ((value / step).round_ties_even() + f32::from(zero)).clamp(0.0, 255.0);
                let back = (code - f32::from(zero)) * step;
                prop_assert!((back - value).abs() <= step * 0.501, "{value} as {back}, {step} apart");
            }
            // All codes are used, up to the rounding of the zero point.
            let code = |end: f32| (end / step).round_ties_even() + f32::from(zero);
            let low = columns.minima.iter().copied().fold(0.0, f32::min);
            let high = columns.maxima.iter().copied().fold(0.0, f32::max).max(low + MIN_WIDTH);
            prop_assert!(code(low).abs() <= 1.0 && (code(high) - 255.0).abs() <= 1.0, "{} to {}", code(low), code(high));
        }
    }
}
