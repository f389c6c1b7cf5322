//! Errors of loading, choosing and calling plugins.

use std::{io, path::PathBuf, time::Duration};

use memory_core::port::BoxError;

use crate::{registry::StrategyKind, sha256::Sha256};

/// Why a plugin was not loaded. `Display` is one line; the loader's full report is the source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file or directory cannot be read.
    #[error("cannot read {path}", path = path.display())]
    Unreadable {
        /// Path of the file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file is not a complete library for this machine.
    #[error("{path} is not a whole library for this machine: {why}", path = path.display())]
    NotALibrary {
        /// Where.
        path: PathBuf,
        /// The fault.
        why: String,
    },
    /// The file differs from the checksum list of its directory.
    #[error("{path} is not the file that SHA256SUMS lists: its SHA-256 is {found}", path = path.display())]
    Changed {
        /// Where.
        path: PathBuf,
        /// The SHA-256 on the list.
        listed: Sha256,
        /// The SHA-256 of the file.
        found: Sha256,
    },
    /// The directory has a checksum list without the file.
    #[error("{path} is not listed in SHA256SUMS", path = path.display())]
    Unlisted {
        /// Where.
        path: PathBuf,
    },
    /// The checksum list of a directory cannot be parsed.
    #[error("{path}: line {line} is not a SHA-256 and a name, as `sha256sum` writes them", path = path.display())]
    BadManifest {
        /// The list.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// Only certain files may be loaded, and this is not one of them.
    #[error("{path} is not among the plugins that are allowed: its SHA-256 is {sha256}", path = path.display())]
    NotAllowed {
        /// Where.
        path: PathBuf,
        /// The SHA-256 of the file.
        sha256: Sha256,
    },
    /// The file is larger than the limit.
    #[error("{path} has {size} bytes, more than the {most} that it may have", path = path.display())]
    TooLarge {
        /// Where.
        path: PathBuf,
        /// Bytes of the file.
        size: u64,
        /// The limit in bytes.
        most: u64,
    },
    /// The system's loader rejects the library.
    #[error("the system cannot open {path}: {why}", path = path.display())]
    NotOpened {
        /// Where.
        path: PathBuf,
        /// The loader's report.
        why: String,
    },
    /// The library exports no plugin.
    #[error("{path} is a library but not a plugin: does it call export_summarizer! or export_scorer!?", path = path.display())]
    NotAPlugin {
        /// Where.
        path: PathBuf,
        /// The loader's report.
        #[source]
        source: BoxError,
    },
    /// The plugin implements another version of the interface.
    #[error("{path} was built for another plugin interface{of}; rebuild it with the memory-plugin-abi of this host", path = path.display(), of = of_version(version.as_deref()))]
    OtherInterface {
        /// Where.
        path: PathBuf,
        /// Version of `memory-plugin-abi` that it was built with, if not accepted.
        version: Option<String>,
        /// The loader's report.
        #[source]
        source: BoxError,
    },
    /// The plugin's module could not be created.
    #[error("the plugin in {path} fails to start", path = path.display())]
    NotStarted {
        /// Where.
        path: PathBuf,
        /// The loader's report.
        #[source]
        source: BoxError,
    },
    /// The plugin provides an unknown kind of strategy.
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
    /// The plugin's name is not valid in a configuration.
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
        /// The origin of the other strategy.
        by: String,
    },
}

/// Why a strategy cannot be chosen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChooseError {
    /// No strategy of that kind has the name.
    #[error(transparent)]
    Unknown(#[from] UnknownStrategy),
    /// The strategy does not accept the configuration.
    #[error("the configuration of {name} {why}")]
    Configuration {
        /// The strategy.
        name: String,
        /// Fault of the configuration, with its location.
        why: String,
    },
    /// A configuration is set for a strategy that is not used.
    #[error("the configuration of {name} has no use: the summarizer is {summarizer}, the scorer {scorer}")]
    NotChosen {
        /// The strategy that is configured.
        name: String,
        /// The summarizer that is used.
        summarizer: String,
        /// The scorer that is used.
        scorer: String,
    },
    /// The plugin's schema is not a valid JSON Schema.
    #[error("plugin {name} has a configuration schema that cannot be used: {why}")]
    BadSchema {
        /// The plugin.
        name: String,
        /// Fault of the schema.
        why: String,
    },
    /// The plugin cannot create its strategy.
    #[error("plugin {name} in {path} refuses to start", path = path.display())]
    Refused {
        /// The plugin.
        name: String,
        /// Path of its library.
        path: PathBuf,
        /// The cause.
        #[source]
        source: CallError,
    },
}

/// Why a call of a plugin failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The plugin returned a failure.
    #[error("the plugin failed: {0}")]
    Failed(String),
    /// The plugin panicked.
    #[error("the plugin panicked: {0}")]
    Panicked(String),
    /// The plugin did not answer in time. The call was given up, and may still be running.
    #[error("the plugin did not answer within {} ms", .0.as_millis())]
    Late(Duration),
    /// The plugin is no longer called after this many failures in a row.
    #[error("the plugin is quarantined after {0} failures in a row and was not asked")]
    Quarantined(u32),
    /// No thread was free in time; the plugin was not called.
    #[error("too many plugin calls at once; the plugin was not asked")]
    Busy,
    /// The text exceeds the maximum tokens.
    #[error("the plugin wrote {tokens} tokens where at most {max_tokens} were allowed")]
    TooLong {
        /// Tokens of the text.
        tokens: u32,
        /// Tokens that were allowed.
        max_tokens: u32,
    },
    /// The answer breaks the contract in another way.
    #[error("the plugin broke its contract: {0}")]
    Breach(String),
}

impl CallError {
    /// True if the plugin is at fault.
    #[must_use]
    pub const fn is_the_plugins(&self) -> bool {
        !matches!(self, Self::Busy | Self::Quarantined(_))
    }
}

/// No strategy has that name and kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {kind} is called {name:?}{hint}", hint = hint(nearest, known))]
#[non_exhaustive]
pub struct UnknownStrategy {
    /// Requested name.
    pub name: String,
    /// Requested kind.
    pub kind: StrategyKind,
    /// Strategies of that kind with a similar name.
    pub nearest: Vec<String>,
    /// All strategies of that kind.
    pub known: Vec<String>,
}

fn hint(nearest: &[String], known: &[String]) -> String {
    match nearest {
        [] => format!("; there are {}", known.join(", ")),
        near => format!("; did you mean {}?", near.join(", ")),
    }
}

fn of_version(version: Option<&str>) -> String {
    version.map(|version| format!(" (memory-plugin-abi {version})")).unwrap_or_default()
}

/// A report of several lines.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Report(pub String);
