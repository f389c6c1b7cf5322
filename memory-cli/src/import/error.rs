//! Errors of importing a file.

use std::{io, path::PathBuf};

/// Reasons why a file cannot be imported. Nothing of the file was imported, unless the variant says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file cannot be read.
    #[error("cannot read {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Cause of the failure.
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
        /// Fault of the line.
        why: String,
    },
    /// A line is longer than the limit.
    #[error(
        "{path}:{line}: the line is longer than {most} bytes; nothing was imported: a message a line is expected, and \
         --max-line raises the limit"
    )]
    LongLine {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The limit in bytes.
        most: u64,
    },
    /// The file changed since its check. The part before the change was imported.
    #[error("{path} was changed while it was imported: what stood before the change was imported, import it again")]
    Changed {
        /// The file.
        path: PathBuf,
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
