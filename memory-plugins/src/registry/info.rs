//! Descriptions of strategies.

use std::{fmt, path::PathBuf};

use crate::sha256::Sha256;

/// Kind of a strategy.
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

/// Origin of a strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// Compiled into this program.
    BuiltIn,
    /// Loaded from a plugin's library.
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

/// Requirements and capabilities that a plugin declares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginCapabilities {
    /// Requests embeddings, and may fail without a model.
    pub embeddings: bool,
    /// Returns soon after a call is given up.
    pub cancellable: bool,
    /// May answer the same job differently.
    pub varies: bool,
}

impl fmt::Display for PluginCapabilities {
    /// The names of the declared capabilities, or a dash.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [(self.embeddings, "embeddings"), (self.cancellable, "cancellable"), (self.varies, "varies")];
        let names: Vec<_> = all.into_iter().filter_map(|(has, name)| has.then_some(name)).collect();
        f.pad(&if names.is_empty() { "-".to_owned() } else { names.join(", ") })
    }
}

/// Description of a strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginInfo {
    /// Name by which the strategy is chosen; unique in a registry.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its kind.
    pub kind: StrategyKind,
    /// Purpose in one sentence.
    pub description: String,
    /// JSON Schema of the configuration, if there is one.
    pub configuration_schema: Option<String>,
    /// Its requirements and capabilities.
    pub capabilities: PluginCapabilities,
    /// Its origin.
    pub origin: Origin,
    /// SHA-256 of the file, if the strategy was loaded from one.
    pub sha256: Option<Sha256>,
}
