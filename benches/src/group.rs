//! The groups of figures that are built.

use std::path::Path;

use anyhow::Result;

use crate::{
    embed,
    figure::{Report, machine},
    log, views,
};

/// A table of `figures.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Appending and reading records.
    Log,
    /// Embedding texts.
    Embed,
    /// Views and compaction.
    Views,
}

impl Group {
    /// All groups that are built.
    pub const ALL: [Self; 3] = [Self::Log, Self::Embed, Self::Views];

    /// The name of its table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Embed => "embed",
            Self::Views => "views",
        }
    }

    /// Measures it, with its files under `scratch`; takes minutes.
    ///
    /// # Errors
    /// When something that is measured fails.
    pub fn report(self, scratch: &Path) -> Result<Report> {
        let figures = match self {
            Self::Log => log::measure(scratch)?,
            Self::Embed => embed::measure(scratch)?,
            Self::Views => views::measure(scratch)?,
        };
        Ok(Report { group: self.name(), machine: machine(), figures })
    }
}
