//! The figures of a group, as the `figures` binary of the benches reports them, and the bars that they must meet.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::workspace::Workspace;

/// A limit in the figure's own unit.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Bar {
    AtLeast(f64),
    AtMost(f64),
}

impl Bar {
    /// False for a value that is not a number.
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast(limit) => value >= limit,
            Self::AtMost(limit) => value <= limit,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(limit) => write!(f, "≥ {limit}"),
            Self::AtMost(limit) => write!(f, "≤ {limit}"),
        }
    }
}

/// The bars of each group, by the figures' keys.
pub(super) type Bars = BTreeMap<String, BTreeMap<String, Bar>>;

/// Reads the shared file if it is available, otherwise the copy in the tree.
pub(super) fn read_bars(workspace: &Workspace) -> Result<Bars> {
    let shared = workspace.shared("figures.toml");
    let path = if shared.is_file() { shared } else { workspace.root().join("benches/figures.toml") };
    let failed = || format!("reading the bars from {}", path.display());
    toml::from_str(&fs::read_to_string(&path).with_context(failed)?).with_context(failed)
}

#[derive(Debug, Deserialize)]
pub(super) struct Report {
    group: String,
    /// Processor, cores and other facts that explain the figures.
    pub(super) machine: String,
    pub(super) figures: Vec<Figure>,
}

/// One figure: the median over interleaved rounds with half the interquartile range, or a single reading.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Figure {
    pub(super) key: String,
    pub(super) value: f64,
    pub(super) unit: String,
    pub(super) spread: Option<f64>,
    pub(super) ours: Option<Measure>,
    #[serde(default)]
    pub(super) peers: Vec<Measure>,
    #[serde(default)]
    pub(super) note: String,
}

/// The measurement of one contender in the same run.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Measure {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) unit: String,
}

impl Report {
    pub(super) fn read(path: &Path, asked: &str) -> Result<Self> {
        let json = fs::read_to_string(path).with_context(|| format!("the figures of {asked} were not written"))?;
        Self::parse(&json, asked).with_context(|| format!("the figures of {asked}"))
    }

    pub(super) fn parse(json: &str, asked: &str) -> Result<Self> {
        let report: Self = serde_json::from_str(json)?;
        ensure!(report.group == asked, "are those of {}", report.group);
        let mut keys = BTreeSet::new();
        for figure in &report.figures {
            ensure!(keys.insert(&figure.key), "hold `{}` twice", figure.key);
        }
        Ok(report)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Holds,
    FallsShort,
    /// A bar without a figure.
    Owed,
    /// A figure without a bar.
    NoBar,
}

impl Verdict {
    /// True if a check fails. A check of all groups accepts an owed figure, that of one group does not.
    pub(super) fn fails(self, is_of_one_group: bool) -> bool {
        self == Self::FallsShort || self == Self::Owed && is_of_one_group
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::FallsShort => "falls short",
            Self::Owed => "owed",
            Self::NoBar => "no bar",
        })
    }
}

/// A key of the report or of the bars, with its figure and its bar.
#[derive(Debug, Serialize)]
pub(super) struct Judged {
    pub(super) key: String,
    pub(super) figure: Option<Figure>,
    pub(super) bar: Option<Bar>,
    pub(super) verdict: Verdict,
}

/// The measured figures in the report's order, then the bars without a figure.
pub(super) fn judge(mut bars: BTreeMap<String, Bar>, figures: Vec<Figure>) -> Vec<Judged> {
    let mut judged: Vec<Judged> = figures
        .into_iter()
        .map(|figure| {
            let bar = bars.remove(&figure.key);
            let verdict = match bar {
                None => Verdict::NoBar,
                Some(bar) if bar.holds(figure.value) => Verdict::Holds,
                Some(_) => Verdict::FallsShort,
            };
            Judged { key: figure.key.clone(), figure: Some(figure), bar, verdict }
        })
        .collect();
    let owed = |(key, bar)| Judged { key, figure: None, bar: Some(bar), verdict: Verdict::Owed };
    judged.extend(bars.into_iter().map(owed));
    judged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_holds_at_its_limit_and_on_its_own_side() {
        assert!(Bar::AtMost(0.6).holds(0.6));
        assert!(Bar::AtMost(0.6).holds(0.1));
        assert!(!Bar::AtMost(0.6).holds(0.61));
        assert!(Bar::AtLeast(3.0).holds(3.0));
        assert!(!Bar::AtLeast(3.0).holds(2.99));
        assert!(!Bar::AtLeast(3.0).holds(f64::NAN));
        assert!(!Bar::AtMost(3.0).holds(f64::NAN));
    }

    #[test]
    fn the_file_in_the_tree_has_bars() {
        let bars: Bars = toml::from_str(include_str!("../../../benches/figures.toml")).unwrap();
        assert!(bars.values().all(|bars| !bars.is_empty()));
        assert_eq!(bars["log"]["append_cpu_vs_fjall"], Bar::AtMost(1.0));
        assert_eq!(bars["log"]["group_commit_64_vs_1"], Bar::AtLeast(10.0));
        assert!(toml::from_str::<Bars>("[log]\na = { about = 1.0 }").is_err());
    }
}
