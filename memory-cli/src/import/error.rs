//! Why a file cannot be imported.

use std::{io, path::PathBuf};

/// Why a file cannot be imported. Nothing of the file was imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file cannot be read.
    #[error("cannot read {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A line does not follow the format.
    #[error("{path}:{line}: {why}; nothing was imported")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// The file holds no message.
    #[error("{path} holds no message: nothing was imported")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file holds no question.
    #[error("{path} holds no question")]
    NoQuestion {
        /// The file.
        path: PathBuf,
    },
}
