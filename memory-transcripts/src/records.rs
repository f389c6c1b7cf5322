//! The records of a file, one at a time and none larger than a limit.

mod lines;
mod values;

use std::{io::Read, path::PathBuf};

pub(crate) use lines::Lines;
pub(crate) use values::Values;

use crate::TranscriptError;

/// A file that is read from its beginning to its end.
pub(crate) type Input = Box<dyn Read + Send>;

/// Where a record stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The line on which it begins, from 1.
    pub(crate) line: u64,
    /// Its first byte.
    pub(crate) start: u64,
    /// The byte after it.
    pub(crate) end: u64,
    /// Whether the file ends within its line, so that more of it may come.
    pub(crate) is_open: bool,
}

/// Records of either kind.
#[derive(Debug)]
pub(crate) enum Records {
    /// A record a line.
    Lines(Lines),
    /// JSON values, and the elements of lists.
    Values(Values),
}

impl Records {
    /// Reads the next record into `record`.
    pub(crate) fn next(&mut self, record: &mut Vec<u8>) -> Result<Option<Place>, TranscriptError> {
        match self {
            Self::Lines(lines) => lines.next(record),
            Self::Values(values) => values.next(record),
        }
    }
}

/// A file with a limit of its records.
pub(crate) struct Bounded {
    pub(crate) input: Input,
    pub(crate) path: PathBuf,
    pub(crate) longest: u64,
}

pub(crate) fn too_large(path: &std::path::Path, place: Place, most: u64) -> TranscriptError {
    TranscriptError::TooLarge {
        place: format!("{}:{}, byte {}", path.display(), place.line, place.start),
        what: "a record",
        most,
        unit: "bytes",
        hint: "--max-line raises the limit",
    }
}
