//! The report that the `figures` binary of the benches writes about one group.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::group::Group;

#[derive(Debug, Deserialize)]
pub(super) struct Report {
    group: Group,
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
    pub(super) fn read(path: &Path, asked: Group) -> Result<Self> {
        let json = fs::read_to_string(path).with_context(|| format!("the figures of {asked} were not written"))?;
        Self::parse(&json, asked).with_context(|| format!("the figures of {asked}"))
    }

    pub(super) fn parse(json: &str, asked: Group) -> Result<Self> {
        let report: Self = serde_json::from_str(json)?;
        ensure!(report.group == asked, "are those of {}", report.group);
        let mut keys = BTreeSet::new();
        for figure in &report.figures {
            let key = figure.key.as_str();
            ensure!(keys.insert(key), "hold `{key}` twice");
        }
        Ok(report)
    }
}
