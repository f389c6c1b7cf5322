//! What can go wrong with a plugin.

use std::{io, path::PathBuf, time::Duration};

use memory_core::BoxError;

use crate::registry::StrategyKind;

/// Why a plugin was not loaded. One line each; the loader's full report is the source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file or directory cannot be read.
    #[error("cannot read {path}", path = path.display())]
    Unreadable {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file is no shared library of this platform.
    #[error("{path} is no library for this machine: {why}", path = path.display())]
    NotALibrary {
        /// Where.
        path: PathBuf,
        /// What speaks against it.
        why: &'static str,
    },
    /// The file ends before what its header promises; opening it would end the process.
    #[error("{path} is truncated: it has {size} bytes and its header names byte {needed}; copy it again", path = path.display())]
    Truncated {
        /// Where.
        path: PathBuf,
        /// Bytes of the file.
        size: u64,
        /// The first byte beyond what the header needs.
        needed: u64,
    },
    /// The file is larger than a plugin may be.
    #[error("{path} has {size} bytes, more than the {most} that a plugin may have", path = path.display())]
    TooLarge {
        /// Where.
        path: PathBuf,
        /// Bytes of the file.
        size: u64,
        /// The most that are allowed.
        most: u64,
    },
    /// The system's loader refuses the library.
    #[error("the system cannot open {path}", path = path.display())]
    NotOpened {
        /// Where.
        path: PathBuf,
        /// The loader's report.
        #[source]
        source: BoxError,
    },
    /// The library exports no plugin.
    #[error("{path} is a library but no plugin: does it call export_summarizer! or export_scorer!?", path = path.display())]
    NotAPlugin {
        /// Where.
        path: PathBuf,
        /// The loader's report.
        #[source]
        source: BoxError,
    },
    /// The plugin speaks another version of the interface.
    #[error("{path} was built for another plugin interface; rebuild it with the memory-plugin-abi of this host", path = path.display())]
    OtherInterface {
        /// Where.
        path: PathBuf,
        /// The loader's report.
        #[source]
        source: BoxError,
    },
    /// The plugin's module could not be made.
    #[error("the plugin in {path} fails to start", path = path.display())]
    NotStarted {
        /// Where.
        path: PathBuf,
        /// The loader's report.
        #[source]
        source: BoxError,
    },
    /// The plugin provides something this host has no use for.
    #[error("{path} provides strategies of kind {kind}, which this host does not know", path = path.display())]
    UnknownKind {
        /// Where.
        path: PathBuf,
        /// The kind's number.
        kind: u32,
    },
    /// The plugin's name cannot be written in a configuration.
    #[error("{path} calls itself {name:?}; a name is 1 to 64 of a-z, 0-9, '-', '_' and '.'", path = path.display())]
    BadName {
        /// Where.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// Another strategy has the name already.
    #[error("{path} calls itself {name}, which is {by} already", path = path.display())]
    NameTaken {
        /// Where.
        path: PathBuf,
        /// The name.
        name: String,
        /// Who has it.
        by: String,
    },
    /// The plugin could not be made from its configuration.
    #[error("plugin {name} in {path} refuses to start", path = path.display())]
    Refused {
        /// Where.
        path: PathBuf,
        /// The plugin.
        name: String,
        /// Why.
        #[source]
        source: CallError,
    },
}

/// Why a plugin gave no answer that counts.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// It said so itself.
    #[error("the plugin failed: {0}")]
    Failed(String),
    /// It panicked.
    #[error("the plugin panicked: {0}")]
    Panicked(String),
    /// It did not answer in time; the call was given up and may still run.
    #[error("the plugin did not answer within {} ms", .0.as_millis())]
    Late(Duration),
    /// No thread was free in time; the plugin was not asked.
    #[error("too many plugin calls at once; the plugin was not asked")]
    Busy,
    /// The text costs more than was allowed.
    #[error("the plugin wrote {tokens} tokens where at most {max_tokens} were allowed")]
    TooLong {
        /// What it costs.
        tokens: u32,
        /// What was allowed.
        max_tokens: u32,
    },
    /// The answer breaks another rule of the contract.
    #[error("the plugin broke its contract: {0}")]
    Breach(String),
}

impl CallError {
    /// Whether the plugin is to blame.
    #[must_use]
    pub const fn is_the_plugins(&self) -> bool {
        !matches!(self, Self::Busy)
    }
}

/// There is no strategy of that name and kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {kind} is called {name:?}{hint}", hint = hint(nearest))]
#[non_exhaustive]
pub struct UnknownStrategy {
    /// What was asked for.
    pub name: String,
    /// What sort of strategy was asked for.
    pub kind: StrategyKind,
    /// Strategies of that kind with a name like it.
    pub nearest: Vec<String>,
}

fn hint(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; did you mean {}?", nearest.join(", ")) }
}

/// A report of several lines, as the loader writes it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Report(pub String);
