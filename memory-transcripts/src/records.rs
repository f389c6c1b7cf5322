//! The records of a file, one at a time, within a size limit.

mod lines;
mod values;

use std::{io::Read, path::PathBuf};

pub(crate) use lines::Lines;
pub(crate) use values::Values;

use crate::TranscriptError;

/// An input that is read from start to end.
pub(crate) type Input = Box<dyn Read + Send>;

/// The place of a record in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The line on which it begins, from 1.
    pub(crate) line: u64,
    /// Its first byte.
    pub(crate) start: u64,
    /// The byte after it.
    pub(crate) end: u64,
    /// True if the file ends within its line, which may continue.
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

/// An input with a size limit for its records.
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
