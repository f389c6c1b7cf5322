//! Figures: contenders measured side by side in rounds, in the form that `cargo xtask bench` reads.

use std::{collections::BTreeMap, env::consts, fmt, fs, path::PathBuf, thread};

use anyhow::{Context, Result};
use serde::Serialize;

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

impl Samples {
    /// A single reading.
    pub(crate) fn one(name: impl Into<String>, unit: &'static str, value: f64) -> Self {
        Self { name: name.into(), unit, values: vec![value] }
    }

    pub(crate) fn median(&self) -> f64 {
        Spread::of(&self.values).median
    }
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

/// External inputs of a group.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Inputs {
    /// The directory whose subdirectories hold evaluation data; without it, vectors are generated.
    #[arg(long)]
    pub eval: Option<PathBuf>,
    /// Where to keep stores that take minutes to make for the next run; by default they are not kept.
    #[arg(long)]
    pub kept: Option<PathBuf>,
    /// A tenth of the traffic of the group `tools`.
    #[arg(long)]
    pub short: bool,
    /// The `memory` binary that the group `tools` calls, built for release; by default the one beside this one.
    #[arg(long)]
    pub memory: Option<PathBuf>,
}

/// All figures of one group.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The group's name.
    pub group: String,
    /// The machine of the measurements.
    pub machine: String,
    /// The figures.
    pub figures: Vec<Figure>,
}

/// One figure: the median over interleaved rounds with half the interquartile range, or a single reading.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// The key of its bar in `figures.toml`.
    pub key: String,
    /// The median.
    pub value: f64,
    /// The unit; `x` for a ratio of ours to the peer.
    pub unit: &'static str,
    /// Half the interquartile range; `None` for a single reading.
    pub spread: Option<f64>,
    /// The measurement of ours, if the figure is a ratio.
    pub ours: Option<Measure>,
    /// The measurements of the peers in the same rounds.
    pub peers: Vec<Measure>,
    /// Method of the measurement.
    pub note: String,
}

/// The median of one contender.
#[derive(Clone, Debug, Serialize)]
pub struct Measure {
    /// The contender.
    pub name: String,
    /// The median.
    pub value: f64,
    /// The unit.
    pub unit: &'static str,
}

impl Measure {
    fn of(samples: &Samples) -> Self {
        Self { name: samples.name.clone(), value: samples.median(), unit: samples.unit }
    }
}

impl Figure {
    /// A figure without a peer.
    #[must_use]
    pub(crate) fn absolute(key: impl Into<String>, samples: &Samples, note: impl Into<String>) -> Self {
        let Spread { median, half_range } = Spread::of(&samples.values);
        let spread = (samples.values.len() > 1).then_some(half_range);
        let (key, note) = (key.into(), note.into());
        Self { key, value: median, unit: samples.unit, spread, ours: None, peers: Vec::new(), note }
    }

    /// A figure of a single reading, such as a file size or another value that does not depend on time.
    #[must_use]
    pub(crate) fn single(key: &str, value: f64, unit: &'static str, note: impl Into<String>) -> Self {
        Self::absolute(key, &Samples::one("", unit, value), note)
    }

    /// Ours divided by the peer's, round by round.
    #[must_use]
    pub(crate) fn ratio(key: impl Into<String>, ours: &Samples, peer: &Samples, note: impl Into<String>) -> Self {
        let values = ours.values.iter().zip(&peer.values).map(|(ours, peer)| ours / peer).collect();
        let ratios = Samples { name: String::new(), unit: "x", values };
        let (ours, peers) = (Some(Measure::of(ours)), vec![Measure::of(peer)]);
        Self { ours, peers, ..Self::absolute(key, &ratios, note) }
    }

    /// Speedup of ours: the peer's time divided by ours, round by round.
    #[must_use]
    pub(crate) fn speedup(key: &str, ours: &Samples, peer: &Samples, note: impl Into<String>) -> Self {
        let inverse = Self::ratio(key, peer, ours, note);
        Self { ours: Some(Measure::of(ours)), peers: vec![Measure::of(peer)], ..inverse }
    }

    /// The figure with the smallest value: the worst one where more is better. `None` without figures.
    #[must_use]
    pub(crate) fn smallest(figures: Vec<Self>) -> Option<Self> {
        figures.into_iter().min_by(|a, b| a.value.total_cmp(&b.value))
    }

    /// The figure with the largest value: the worst one where less is better. `None` without figures.
    #[must_use]
    pub(crate) fn largest(figures: Vec<Self>) -> Option<Self> {
        figures.into_iter().max_by(|a, b| a.value.total_cmp(&b.value))
    }
}

/// The worst size of each figure that was measured at several sizes, where less is better.
#[must_use]
pub(crate) fn worst_size<const N: usize>(sizes: Vec<[Figure; N]>) -> Vec<Figure> {
    let mut by_figure = [const { Vec::new() }; N];
    for figures in sizes {
        by_figure.iter_mut().zip(figures).for_each(|(all, figure)| all.push(figure));
    }
    by_figure.into_iter().filter_map(Figure::largest).collect()
}

/// The processor, the number of its cores that this process may use, and the system.
#[must_use]
pub(crate) fn machine() -> String {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    // Other systems name the processor elsewhere; there the architecture is used.
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let fields: BTreeMap<_, _> = cpuinfo.lines().filter_map(|line| line.split_once(':')).collect();
    let model =
        fields.iter().find(|(name, _)| name.trim() == "model name").map_or(consts::ARCH, |(_, value)| value.trim());
    format!("{model}, {cores} cores, {} {}", consts::OS, consts::ARCH)
}

/// The value below which a `share` (0..=1) of `sorted` lies, interpolated between neighbours; NaN without values.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of samples are small"
)]
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share.clamp(0.0, 1.0) * sorted.len().saturating_sub(1) as f64;
    let below = sorted.get(place as usize).copied().unwrap_or(f64::NAN);
    let above = sorted.get(place.ceil() as usize).copied().unwrap_or(f64::NAN);
    below + (above - below) * place.fract()
}

/// The median of some values, and half the interquartile range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) half_range: f64,
}

impl Spread {
    /// Spread of values in any order; NaN without values.
    #[must_use]
    pub(crate) fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let [low, median, high] = [0.25, 0.5, 0.75].map(|share| quantile(&sorted, share));
        Self { median, half_range: (high - low) / 2.0 }
    }
}

/// The median time of `calls` calls; each returns its duration.
pub(crate) fn median_of(calls: usize, mut call: impl FnMut() -> Result<f64>) -> Result<[f64; 1]> {
    let times = (0..calls).map(|_| call()).collect::<Result<Vec<_>>>()?;
    Ok([Spread::of(&times).median])
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn samples(name: &str, values: &[f64]) -> Samples {
        Samples { name: name.to_owned(), unit: "us", values: values.to_vec() }
    }

    #[test]
    fn a_ratio_pairs_the_rounds() {
        let figure = Figure::ratio("k", &samples("ours", &[1.0, 4.0, 9.0]), &samples("peer", &[2.0, 4.0, 3.0]), "");
        assert_eq!((figure.value, figure.unit, figure.spread), (1.0, "x", Some(0.625)));
        assert_eq!(figure.ours.unwrap().value, 4.0);
        assert_eq!(figure.peers[0].value, 3.0);
    }

    #[test]
    fn a_single_reading_has_no_spread() {
        assert_eq!(Figure::single("k", 3.0, "MB", "").spread, None);
    }

    #[test]
    fn a_speedup_is_the_time_that_is_spared() {
        let figure = Figure::speedup("k", &samples("ours", &[1.0, 2.0, 1.0]), &samples("peer", &[4.0, 6.0, 4.0]), "");
        assert_eq!((figure.value, figure.ours.unwrap().name.as_str()), (4.0, "ours"));
        assert_eq!(figure.peers[0].name, "peer");
    }

    #[test]
    fn the_worst_size_of_each_figure_counts() {
        let sizes = vec![[1.0, 5.0], [2.0, 4.0]];
        let sizes = sizes.into_iter().map(|sizes| sizes.map(|value| Figure::single("k", value, "x", ""))).collect();
        assert_eq!(worst_size(sizes).iter().map(|figure| figure.value).collect::<Vec<_>>(), [2.0, 5.0]);
    }

    #[test]
    fn the_largest_is_the_worst() {
        let figure = |value| Figure::absolute("k", &samples("ours", &[value]), "");
        let worst = Figure::largest(vec![figure(1.0), figure(3.0), figure(2.0)]).unwrap();
        assert_eq!(worst.value, 3.0);
        assert!(Figure::largest(Vec::new()).is_none());
        assert_eq!(Figure::smallest(vec![figure(2.0), figure(1.0)]).unwrap().value, 1.0);
    }

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

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), 2.5);
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 1.0), 3.0);
        assert_eq!(quantile(&[7.0], 0.95), 7.0);
        assert!(quantile(&[], 0.5).is_nan());
        assert_eq!(Spread::of(&[5.0, 1.0, 3.0, 2.0, 4.0]), Spread { median: 3.0, half_range: 1.0 });
    }
}
