//! How a strategy presents itself.

use std::{fmt, path::PathBuf};

use crate::digest::Digest;

/// What a strategy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StrategyKind {
    /// Writes summaries.
    Summarizer,
    /// Scores messages.
    Scorer,
}

impl fmt::Display for StrategyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Summarizer => "summarizer",
            Self::Scorer => "scorer",
        })
    }
}

/// Where a strategy comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// This program.
    BuiltIn,
    /// A plugin's library.
    File(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.pad("built in"),
            Self::File(path) => f.pad(&path.display().to_string()),
        }
    }
}

/// What a plugin says that it needs and can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginCapabilities {
    /// Asks for embeddings, and may fail where there is no model.
    pub embeddings: bool,
    /// Returns soon after a call was given up.
    pub cancellable: bool,
    /// May answer one job differently from time to time.
    pub varies: bool,
}

impl fmt::Display for PluginCapabilities {
    /// The names of those it has, or a dash.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [(self.embeddings, "embeddings"), (self.cancellable, "cancellable"), (self.varies, "varies")];
        let names: Vec<_> = all.into_iter().filter_map(|(has, name)| has.then_some(name)).collect();
        f.pad(&if names.is_empty() { "-".to_owned() } else { names.join(", ") })
    }
}

/// A strategy as it presents itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginInfo {
    /// The name by which it is chosen; unique in a registry.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it does.
    pub kind: StrategyKind,
    /// What it does, in a sentence.
    pub description: String,
    /// The JSON Schema of its configuration, where it takes one.
    pub configuration_schema: Option<String>,
    /// What it needs and can do.
    pub capabilities: PluginCapabilities,
    /// Where it comes from.
    pub origin: Origin,
    /// The digest of its file, where it comes from one.
    pub digest: Option<Digest>,
}
