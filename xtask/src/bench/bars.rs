//! The bars: the limits of figures, from `figures.toml`.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::group::Group;
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
    pub(super) fn holds(self, value: f64) -> bool {
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

/// The bars of one group, by the figures' keys.
pub(super) type GroupBars = BTreeMap<String, Bar>;

pub(super) struct Bars(BTreeMap<String, GroupBars>);

impl Bars {
    /// Reads the shared file if it is available, otherwise the copy in the tree, and adds the tree's own bars.
    pub(super) fn read(workspace: &Workspace) -> Result<Self> {
        let benches = workspace.root().join("benches");
        let shared = workspace.shared("figures.toml");
        let bars = Self::read_file(&if shared.is_file() { shared } else { benches.join("figures.toml") })?;
        bars.and(Self::read_file(&benches.join("more-figures.toml"))?)
    }

    /// Adds the bars of `more`; a bar that exists already is an error.
    fn and(mut self, more: Self) -> Result<Self> {
        for (group, bars) in more.0 {
            let there = self.0.entry(group.clone()).or_default();
            for (key, bar) in bars {
                ensure!(
                    !there.contains_key(&key),
                    "{group}.{key} has two bars: leave the one in more-figures.toml out"
                );
                there.insert(key, bar);
            }
        }
        Ok(self)
    }

    fn read_file(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("reading the bars from {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("the bars in {}", path.display()))
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        let tables: BTreeMap<String, GroupBars> = toml::from_str(text)?;
        for name in tables.keys() {
            name.parse::<Group>()?;
        }
        Ok(Self(tables))
    }

    /// Empty for a group that the file leaves out.
    pub(super) fn of(&self, group: Group) -> GroupBars {
        self.0.get(group.name()).cloned().unwrap_or_default()
    }
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
    fn the_file_in_the_tree_has_bars_for_each_group() {
        let bars = Bars::parse(include_str!("../../../benches/figures.toml")).unwrap();
        for group in Group::ALL.into_iter().filter(|group| *group != Group::Soak) {
            assert!(!bars.of(group).is_empty(), "{group}");
        }
        let log = bars.of(Group::Log);
        assert_eq!(log.get("append_cpu_vs_fjall"), Some(&Bar::AtMost(1.0)));
        assert_eq!(log.get("group_commit_64_vs_1"), Some(&Bar::AtLeast(10.0)));
    }

    #[test]
    fn the_tree_adds_bars_and_replaces_none() {
        let shared = || Bars::parse(include_str!("../../../benches/figures.toml")).unwrap();
        let all = shared().and(Bars::parse(include_str!("../../../benches/more-figures.toml")).unwrap()).unwrap();
        let embed = all.of(Group::Embed);
        assert_eq!(embed.get("fp32_cosine_to_python"), Some(&Bar::AtLeast(0.999)));
        assert_eq!(embed.len(), shared().of(Group::Embed).len() + 2);
        assert_eq!(all.of(Group::Soak).get("memory_growth_words"), Some(&Bar::AtMost(1.1)));
        assert!(shared().and(Bars::parse("[log]\nreopen_100k_ms = { at_most = 99.0 }").unwrap()).is_err());
    }

    #[test]
    fn an_unknown_table_or_limit_is_refused() {
        assert!(Bars::parse("[nothing]\na = { at_most = 1.0 }").is_err());
        assert!(Bars::parse("[log]\na = { about = 1.0 }").is_err());
    }
}
