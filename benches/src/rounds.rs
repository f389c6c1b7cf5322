//! Interleaved rounds: every contender measured in turn, several times over.

use std::fmt;

use anyhow::{Context, Result};

/// Rounds of a figure, in addition to a warm-up round that does not count.
pub(crate) const ROUNDS: usize = 5;

/// One quantity of one contender, with a value for each round.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Samples {
    /// The contender.
    pub(crate) name: String,
    /// The unit of the values.
    pub(crate) unit: &'static str,
    /// A value for each round.
    pub(crate) values: Vec<f64>,
}

/// A contender with `M` quantities that are measured at once.
pub(crate) struct Entrant<'a, const M: usize> {
    name: String,
    units: [&'static str; M],
    measure: Box<dyn FnMut() -> Result<[f64; M]> + 'a>,
}

impl<'a, const M: usize> Entrant<'a, M> {
    /// A contender; `measure` returns the quantities of one round in these units.
    pub(crate) fn new(
        name: impl Into<String>,
        units: [&'static str; M],
        measure: impl FnMut() -> Result<[f64; M]> + 'a,
    ) -> Self {
        Self { name: name.into(), units, measure: Box::new(measure) }
    }
}

impl<const M: usize> fmt::Debug for Entrant<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entrant").field("name", &self.name).field("units", &self.units).finish_non_exhaustive()
    }
}

/// Measures all contenders in each round, in an order that rotates from round to round, so that none is always first. A
/// round before the first is discarded.
///
/// # Errors
/// When a contender fails.
pub(crate) fn interleave<const N: usize, const M: usize>(
    mut entrants: [Entrant<'_, M>; N],
) -> Result<[[Samples; M]; N]> {
    let mut all = entrants.each_ref().map(|entrant| {
        entrant.units.map(|unit| Samples { name: entrant.name.clone(), unit, values: Vec::with_capacity(ROUNDS) })
    });
    for round in 0..=ROUNDS {
        for step in 0..N {
            let turn = (round + step) % N;
            let (Some(entrant), Some(samples)) = (entrants.get_mut(turn), all.get_mut(turn)) else { continue };
            let values = (entrant.measure)().with_context(|| format!("measuring {}", entrant.name))?;
            if round > 0 {
                samples.iter_mut().zip(values).for_each(|(samples, value)| samples.values.push(value));
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn rounds_are_interleaved_and_the_first_does_not_count() {
        let order = RefCell::new(String::new());
        let entrant = |name: &'static str| {
            let order = &order;
            let mut calls = 0.0;
            Entrant::new(name, ["calls", "twice"], move || {
                order.borrow_mut().push_str(name);
                calls += 1.0;
                Ok([calls, 2.0 * calls])
            })
        };
        let [_, [calls, twice], _] = interleave([entrant("a"), entrant("b"), entrant("c")]).unwrap();
        assert_eq!(calls.values, [2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!((twice.unit, twice.values[0]), ("twice", 4.0));
        assert!(order.borrow().starts_with("abcbcacab"), "{}", order.borrow());
    }
}
