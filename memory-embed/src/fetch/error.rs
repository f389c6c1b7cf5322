//! Why a model cannot be fetched.

use std::{
    io,
    path::{Path, PathBuf},
};

use memory_core::BoxError;

/// Why a model cannot be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The pinned runtime is built for other machines.
    #[error(
        "{package} is pinned for Linux with glibc on x86-64 only, and this is {os} on {arch}: name your own files instead"
    )]
    Platform {
        /// The package.
        package: &'static str,
        /// This operating system.
        os: &'static str,
        /// This processor.
        arch: &'static str,
    },
    /// There is no pip to download with.
    #[error("none of {tried} runs: install Python 3 with pip (on Debian and Ubuntu the package python3-pip)")]
    NoPip {
        /// The commands that were tried.
        tried: String,
    },
    /// pip could not download the package.
    #[error("{command} could not download {package}:\n{output}")]
    Download {
        /// Name and version.
        package: String,
        /// The command that was run.
        command: String,
        /// The last lines it printed.
        output: String,
    },
    /// What came is not what was pinned.
    #[error("{what} has SHA-256 {actual}, expected {expected}: nothing of it was kept")]
    Checksum {
        /// The package or the file in it.
        what: String,
        /// The pinned digest.
        expected: &'static str,
        /// The digest of what came.
        actual: String,
    },
    /// A file of the package is longer or shorter than pinned.
    #[error("{what} has {actual} bytes, expected {expected}: nothing of it was kept")]
    Size {
        /// The package and the file in it.
        what: String,
        /// The pinned size.
        expected: u64,
        /// The size it says it has.
        actual: u64,
    },
    /// The package is no readable archive, or a file is not in it.
    #[error("cannot read {member} in {package}")]
    Archive {
        /// Name and version.
        package: String,
        /// The file in it.
        member: &'static str,
        /// Why.
        #[source]
        source: BoxError,
    },
    /// A file or directory cannot be read or written.
    #[error("cannot read or write {path}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl FetchError {
    /// Wraps a failure at `path`.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        |source| Self::Io { path, source }
    }
}
