//! The groups of figures.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::{
    embed,
    figure::{Report, machine},
    log, plugins, retrieval, soak, tools, vectors, views,
};

/// A table of `figures.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Appending and reading records.
    Log,
    /// Embedding texts.
    Embed,
    /// Finding the nearest vectors.
    Vectors,
    /// Searching, and packing the results.
    Retrieval,
    /// Calling strategies behind the plugin interface.
    Plugins,
    /// Views and compaction.
    Views,
    /// Serving tools, answering hooks, importing.
    Tools,
    /// Running for long.
    Soak,
}

/// External inputs of a group.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// The directory whose subdirectories hold evaluation data, if available.
    pub eval: Option<PathBuf>,
    /// Where to draw curves, if wanted.
    pub plot: Option<PathBuf>,
    /// Where stores that take minutes to make are kept for the next run, if wanted.
    pub kept: Option<PathBuf>,
    /// Whether a tenth of the traffic of the groups `views`, `tools` and `soak` is enough.
    pub short: bool,
    /// The `memory` binary, which the group `tools` calls; by default the one beside the binary that runs.
    pub memory: Option<PathBuf>,
}

impl Group {
    /// All groups.
    pub const ALL: [Self; 8] =
        [Self::Log, Self::Vectors, Self::Embed, Self::Retrieval, Self::Plugins, Self::Views, Self::Tools, Self::Soak];

    /// The name of its table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Vectors => "vectors",
            Self::Embed => "embed",
            Self::Retrieval => "retrieval",
            Self::Plugins => "plugins",
            Self::Views => "views",
            Self::Tools => "tools",
            Self::Soak => "soak",
        }
    }

    /// Measures the group, with its files under `scratch`; takes minutes.
    ///
    /// # Errors
    /// When a measurement fails.
    pub fn report(self, scratch: &Path, inputs: &Inputs) -> Result<Report> {
        let figures = match self {
            Self::Log => log::measure(scratch)?,
            Self::Vectors => vectors::measure(scratch, inputs.eval.as_deref(), inputs.plot.as_deref())?,
            Self::Embed => embed::measure(scratch)?,
            Self::Retrieval => retrieval::measure(scratch, inputs)?,
            Self::Plugins => plugins::measure(inputs.eval.as_deref())?,
            Self::Views => views::measure(scratch, inputs)?,
            Self::Tools => tools::measure(scratch, inputs)?,
            Self::Soak => soak::measure(scratch, inputs.short)?,
        };
        Ok(Report { group: self.name(), machine: machine(), figures })
    }
}
