//! Why a file cannot be imported.

use std::{io, path::PathBuf};

/// Why a file cannot be imported. Nothing of it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// It cannot be read.
    #[error("cannot read {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A line is not what the format asks for.
    #[error("{path}:{line}: {why}; nothing was imported")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// It holds no message.
    #[error("{path} holds no message: nothing was imported")]
    Empty {
        /// The file.
        path: PathBuf,
    },
}
