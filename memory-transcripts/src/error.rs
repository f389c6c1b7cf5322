//! The error of reading a transcript.

use std::{
    io,
    path::{Path, PathBuf},
};

use memory_core::text::one_line;

/// Why a transcript cannot be read.
///
/// A record of an unknown type is no error: it is counted in the [`Report`](crate::Report).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// The file cannot be read.
    #[error("cannot read {}", one_line(&.path.display().to_string()))]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file breaks off or is damaged.
    #[error("{place}: {why}")]
    Damaged {
        /// File, and line or byte.
        place: String,
        /// Description of the damage.
        why: String,
    },
    /// A plain transcript does not say who speaks.
    #[error("{place}: {why}")]
    Speaker {
        /// File and line.
        place: String,
        /// The line that names no known speaker.
        why: String,
    },
    /// A record, an archive or a directory is larger than the limit.
    #[error("{place}: {what} is larger than {most} {unit}; {hint}")]
    TooLarge {
        /// File, and line or byte.
        place: String,
        /// Name of the part that is too large.
        what: &'static str,
        /// The limit.
        most: u64,
        /// Unit of the limit.
        unit: &'static str,
        /// Remedy.
        hint: &'static str,
    },
    /// An archive is packed more tightly than text can be.
    #[error("{place}: it unpacks to more than {most} times its size, which no transcript does; nothing of it was read")]
    Bomb {
        /// File and entry.
        place: String,
        /// The limit.
        most: u64,
    },
    /// The format is not recognized.
    #[error("{}: none of the known formats is recognized; --format names one of: {}", one_line(.place), crate::Format::names())]
    UnknownFormat {
        /// The file.
        place: String,
    },
    /// The database is of no known program.
    #[error("{}: a SQLite database of neither OpenClaw, lossless-claw nor opencode: {found}", one_line(.place))]
    UnknownDatabase {
        /// The file.
        place: String,
        /// The tables of the database.
        found: String,
    },
    /// Another program has locked a database.
    #[error("{}: another program has locked the database: try again once it is idle, or read a backup of it", one_line(.place))]
    Locked {
        /// The file.
        place: String,
    },
    /// This build reads no databases.
    #[error("{}: a SQLite database, which this build does not read: build with the feature `sqlite`", one_line(.place))]
    NoSqlite {
        /// The file.
        place: String,
    },
    /// The file does not have the structure of its format.
    #[error("{}: {why}", one_line(.place))]
    Unfit {
        /// The file.
        place: String,
        /// Expected structure.
        why: &'static str,
    },
    /// A followed file continues a record before the position: read it again from the start.
    #[error("{}: a record continues one before the position that reading resumed at: read the file from its beginning", one_line(.place))]
    Rewound {
        /// File and line.
        place: String,
    },
}

impl TranscriptError {
    /// Converts an IO error at `path`.
    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn too_large(
        place: impl Into<String>,
        what: &'static str,
        (most, unit): (u64, &'static str),
        hint: &'static str,
    ) -> Self {
        Self::TooLarge { place: place.into(), what, most, unit, hint }
    }

    pub(crate) fn unfit(path: &Path, why: &'static str) -> Self {
        Self::Unfit { place: path.display().to_string(), why }
    }
}

/// An error with its cause, on one line.
pub(crate) fn with_cause(error: &TranscriptError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
