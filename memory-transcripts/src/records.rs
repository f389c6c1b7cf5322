//! The records of a file, one at a time, within a size limit.

mod lines;
mod values;

use std::{
    collections::VecDeque,
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

use memory_files::{Links, read};

pub(crate) use lines::Lines;
pub(crate) use values::Values;

use crate::TranscriptError;

/// An input that is read from start to end.
pub(crate) type Input = Box<dyn Read + Send>;

/// The place of a record in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordPlace {
    /// The line on which it begins, from 1.
    pub(crate) line: u64,
    /// Its first byte.
    pub(crate) start: u64,
    /// The byte after it.
    pub(crate) end: u64,
    /// True if the file ends within its line, which may continue.
    pub(crate) is_open: bool,
}

impl RecordPlace {
    pub(crate) fn of_line(line: u64) -> Self {
        Self { line, ..Self::default() }
    }
}

/// Source of records.
#[derive(Debug)]
pub(crate) enum Records {
    /// A record a line.
    Lines(Lines),
    /// JSON values, and the elements of lists.
    Values(Values),
    /// A file for each record: files to read, number of files that were read, limit on bytes.
    Files(VecDeque<PathBuf>, u64, u64),
    /// Rows of a database, which the format's reader reads itself.
    #[cfg(feature = "sqlite")]
    Rows,
}

impl Records {
    /// Reads the next record into `record`.
    pub(crate) fn next(&mut self, record: &mut Vec<u8>) -> Result<Option<RecordPlace>, TranscriptError> {
        match self {
            Self::Lines(lines) => lines.next(record),
            Self::Values(values) => values.next(record),
            Self::Files(files, number, longest) => {
                let Some(path) = files.pop_front() else { return Ok(None) };
                *number += 1;
                let place = RecordPlace::of_line(*number);
                *record = read(&path, Links::Refuse, *longest).map_err(|error| match error.kind() {
                    ErrorKind::FileTooLarge => too_large(&path, place, *longest),
                    _ => TranscriptError::io(&path)(error),
                })?;
                Ok(Some(place))
            }
            #[cfg(feature = "sqlite")]
            Self::Rows => Ok(None),
        }
    }
}

/// An input with a size limit for its records.
pub(crate) struct Bounded {
    pub(crate) input: Input,
    pub(crate) path: PathBuf,
    pub(crate) longest: u64,
}

fn too_large(path: &Path, place: RecordPlace, most: u64) -> TranscriptError {
    let place = format!("{}:{}, byte {}", path.display(), place.line, place.start);
    TranscriptError::too_large(place, "a record", (most, "bytes"), "--max-line raises the limit")
}
