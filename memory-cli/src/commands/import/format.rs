//! The format of a file to import.

use std::{
    fs::{self, FileType},
    path::{Path, PathBuf},
};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use memory_store::{ExchangeError, ExportFile};
use memory_transcripts as transcripts;

use crate::import::is_stream;

/// A format by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Jsonl,
    Memory,
    /// A file of another program; `None` if its format is still to be recognized.
    Transcript(Option<transcripts::Format>),
}

/// Parses the name of a format.
pub(super) fn named() -> impl TypedValueParser<Value = Format> {
    let others = transcripts::Format::ALL.map(transcripts::Format::as_str);
    PossibleValuesParser::new(["memory", "jsonl"].into_iter().chain(others)).try_map(|name| match name.as_str() {
        "memory" => Ok(Format::Memory),
        "jsonl" => Ok(Format::Jsonl),
        other => other.parse().map(|format| Format::Transcript(Some(format))),
    })
}

/// Exports of this program in a directory, whose links are not followed; none if another format is given.
pub(super) fn exports(directory: &Path, given: Option<Format>) -> Result<Vec<PathBuf>, ExchangeError> {
    let (mut found, mut open) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = open.pop().filter(|_| given.is_none_or(|format| format == Format::Memory)) {
        // The import of the directory itself names what cannot be read.
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type());
            let is = |test: fn(&FileType) -> bool| kind.as_ref().is_ok_and(test);
            if is(FileType::is_dir) {
                open.push(path);
            } else if is(FileType::is_file)
                && path.extension().is_some_and(|ending| ending == "jsonl")
                && ExportFile::recognizes(&path)?
            {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

impl Format {
    /// The format of a file: an export is recognized by its first bytes, and any other file is a transcript.
    pub(super) fn of(file: &Path, given: Option<Self>) -> Result<Self, ExchangeError> {
        match given {
            Some(format) => Ok(format),
            // The first bytes of a stream can be read only once.
            None if is_stream(file) => Ok(Self::Memory),
            None if file.is_dir() || !ExportFile::recognizes(file)? => Ok(Self::Transcript(None)),
            None => Ok(Self::Memory),
        }
    }
}
