//! The format of a file to import.

use std::path::Path;

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
