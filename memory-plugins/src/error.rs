//! What can go wrong with a plugin.

use std::{io, path::PathBuf, time::Duration};

use memory_core::BoxError;

use crate::{digest::Digest, registry::StrategyKind};

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
    /// The file's headers contradict each other; running what they describe would end the process.
    #[error("{path} is damaged: {why}; copy it again", path = path.display())]
    Damaged {
        /// Where.
        path: PathBuf,
        /// What speaks against it.
        why: &'static str,
    },
    /// The file is not what the list of its directory says.
    #[error("{path} is not the file that SHA256SUMS lists: its digest is {found}", path = path.display())]
    Changed {
        /// Where.
        path: PathBuf,
        /// What it should be.
        listed: Digest,
        /// What it is.
        found: Digest,
    },
    /// The directory has a list, and the file is not on it.
    #[error("{path} is not listed in SHA256SUMS", path = path.display())]
    Unlisted {
        /// Where.
        path: PathBuf,
    },
    /// The list of a directory cannot be understood.
    #[error("{path}: line {line} is not a digest and a name, as `sha256sum` writes them", path = path.display())]
    BadManifest {
        /// The list.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// Only certain files may be opened, and this is none of them.
    #[error("{path} is not among the plugins that are allowed: its digest is {digest}", path = path.display())]
    NotAllowed {
        /// Where.
        path: PathBuf,
        /// What it is.
        digest: Digest,
    },
    /// The file is larger than it may be.
    #[error("{path} has {size} bytes, more than the {most} that it may have", path = path.display())]
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
    #[error("{path} was built for another plugin interface{of}; rebuild it with the memory-plugin-abi of this host", path = path.display(), of = of_version(version.as_deref()))]
    OtherInterface {
        /// Where.
        path: PathBuf,
        /// The version of `memory-plugin-abi` that it was built with, where that is another one.
        version: Option<String>,
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
    /// The plugin's panics cannot be caught.
    #[error("{path} was built with panic = \"abort\": a panic in it would end this process; build it with \"unwind\"", path = path.display())]
    Aborts {
        /// Where.
        path: PathBuf,
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
}

/// Why there is no strategy to be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChooseError {
    /// No strategy of that kind has the name.
    #[error(transparent)]
    Unknown(#[from] UnknownStrategy),
    /// The configuration is not what the strategy takes.
    #[error("the configuration of {name} {why}")]
    Configuration {
        /// The strategy.
        name: String,
        /// What is wrong with it, and where.
        why: String,
    },
    /// The plugin's schema is none.
    #[error("plugin {name} has a configuration schema that cannot be used: {why}")]
    BadSchema {
        /// The plugin.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The plugin does not make its strategy.
    #[error("plugin {name} in {path} refuses to start", path = path.display())]
    Refused {
        /// The plugin.
        name: String,
        /// Where it was loaded from.
        path: PathBuf,
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
    /// It failed so many times in a row that it is asked no more.
    #[error("the plugin is quarantined after {0} failures in a row and was not asked")]
    Quarantined(u32),
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
        !matches!(self, Self::Busy | Self::Quarantined(_))
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

fn of_version(version: Option<&str>) -> String {
    version.map(|version| format!(" (memory-plugin-abi {version})")).unwrap_or_default()
}

/// A report of several lines, as the loader writes it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Report(pub String);
