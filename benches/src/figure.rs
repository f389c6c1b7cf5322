//! Figures: the measurements of a run, in the form that `cargo xtask bench` reads.

use std::{collections::BTreeMap, env::consts, fs, thread};

use serde::Serialize;

use crate::{rounds::Samples, stats::Spread};

/// All figures of one group.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The group's name.
    pub group: &'static str,
    /// The machine of the measurements.
    pub machine: String,
    /// The figures.
    pub figures: Vec<Figure>,
}

/// One figure: the median over interleaved rounds with half the interquartile range, or a single reading.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// The key of its bar in `figures.toml`.
    pub key: &'static str,
    /// The median.
    pub value: f64,
    /// Its unit; `x` for a ratio of ours to the peer.
    pub unit: &'static str,
    /// Half the interquartile range; `None` for a single reading.
    pub spread: Option<f64>,
    /// The measurement of ours, if the figure is a ratio.
    pub ours: Option<Measure>,
    /// The measurements of the peers in the same rounds.
    pub peers: Vec<Measure>,
    /// How it was measured.
    pub note: String,
}

/// The median of one contender.
#[derive(Clone, Debug, Serialize)]
pub struct Measure {
    /// The contender.
    pub name: String,
    /// The median.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
}

impl Measure {
    fn of(samples: &Samples) -> Self {
        let name = samples.name.clone();
        Self { name, value: Spread::of(&samples.values).median, unit: samples.unit }
    }
}

impl Figure {
    /// A figure without a peer.
    #[must_use]
    pub(crate) fn absolute(key: &'static str, samples: &Samples, note: impl Into<String>) -> Self {
        let (value, spread) = middle(&samples.values);
        let (ours, peers) = (None, Vec::new());
        Self { key, value, unit: samples.unit, spread, ours, peers, note: note.into() }
    }

    /// Ours divided by the peer's, round by round.
    #[must_use]
    pub(crate) fn ratio(key: &'static str, ours: &Samples, peer: &Samples, note: impl Into<String>) -> Self {
        let ratios: Vec<_> = ours.values.iter().zip(&peer.values).map(|(ours, peer)| ours / peer).collect();
        let (value, spread) = middle(&ratios);
        Self {
            key,
            value,
            unit: "x",
            spread,
            ours: Some(Measure::of(ours)),
            peers: vec![Measure::of(peer)],
            note: note.into(),
        }
    }

    /// How many times faster ours is: the peer's time divided by ours, round by round.
    #[must_use]
    pub(crate) fn speedup(key: &'static str, ours: &Samples, peer: &Samples, note: impl Into<String>) -> Self {
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

/// The median, and the spread of several values.
fn middle(values: &[f64]) -> (f64, Option<f64>) {
    let Spread { median, half_range } = Spread::of(values);
    (median, (values.len() > 1).then_some(half_range))
}

/// Chooses the worst size for groups of figures that were measured at several sizes: each group from the size at which
/// its first figure is the largest, so that the figures that explain it are of the same size.
#[must_use]
pub(crate) fn worst_size<const N: usize>(sizes: Vec<[Vec<Figure>; N]>) -> Vec<Figure> {
    let mut worst = [const { Vec::new() }; N];
    let leading = |group: &Vec<Figure>| group.first().map_or(f64::NEG_INFINITY, |figure: &Figure| figure.value);
    for groups in sizes {
        for (worst, group) in worst.iter_mut().zip(groups) {
            if leading(&group).total_cmp(&leading(worst)).is_gt() {
                *worst = group;
            }
        }
    }
    worst.into_iter().flatten().collect()
}

/// The processor, how many of its cores this process may use, and the system.
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

#[cfg(test)]
mod tests {
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
        assert_eq!(Figure::absolute("k", &samples("ours", &[3.0]), "").spread, None);
    }

    #[test]
    fn a_speedup_is_the_time_that_is_spared() {
        let figure = Figure::speedup("k", &samples("ours", &[1.0, 2.0, 1.0]), &samples("peer", &[4.0, 6.0, 4.0]), "");
        assert_eq!((figure.value, figure.ours.unwrap().name.as_str()), (4.0, "ours"));
        assert_eq!(figure.peers[0].name, "peer");
    }

    #[test]
    fn figures_of_a_group_are_of_one_size() {
        let figure = |value| Figure::absolute("k", &samples("ours", &[value]), "");
        let group = |values: &[f64]| values.iter().map(|value| figure(*value)).collect::<Vec<_>>();
        let sizes = vec![[group(&[1.0, 9.0]), group(&[5.0])], [group(&[2.0, 3.0]), group(&[4.0])]];
        let values: Vec<_> = worst_size(sizes).iter().map(|figure| figure.value).collect();
        assert_eq!(values, [2.0, 3.0, 5.0]);
    }

    #[test]
    fn the_largest_is_the_worst() {
        let figure = |value| Figure::absolute("k", &samples("ours", &[value]), "");
        let worst = Figure::largest(vec![figure(1.0), figure(3.0), figure(2.0)]).unwrap();
        assert_eq!(worst.value, 3.0);
        assert!(Figure::largest(Vec::new()).is_none());
        assert_eq!(Figure::smallest(vec![figure(2.0), figure(1.0)]).unwrap().value, 1.0);
    }
}
