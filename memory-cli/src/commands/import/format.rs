//! The format of a file to import.

use std::path::Path;

use clap::{ValueEnum, builder::PossibleValue};
use memory_store::{ExchangeError, ExportFile};
use memory_transcripts as transcripts;

use crate::import::is_stream;

/// A format by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Eval,
    Jsonl,
    Memory,
    /// A file of another program; `None` if its format is still to be recognized.
    Transcript(Option<transcripts::Format>),
}

/// The formats that can be named.
const NAMED: [Format; 17] = [
    Format::Memory,
    Format::Jsonl,
    Format::Eval,
    Format::Transcript(Some(transcripts::Format::ALL[0])),
    Format::Transcript(Some(transcripts::Format::ALL[1])),
    Format::Transcript(Some(transcripts::Format::ALL[2])),
    Format::Transcript(Some(transcripts::Format::ALL[3])),
    Format::Transcript(Some(transcripts::Format::ALL[4])),
    Format::Transcript(Some(transcripts::Format::ALL[5])),
    Format::Transcript(Some(transcripts::Format::ALL[6])),
    Format::Transcript(Some(transcripts::Format::ALL[7])),
    Format::Transcript(Some(transcripts::Format::ALL[8])),
    Format::Transcript(Some(transcripts::Format::ALL[9])),
    Format::Transcript(Some(transcripts::Format::ALL[10])),
    Format::Transcript(Some(transcripts::Format::ALL[11])),
    Format::Transcript(Some(transcripts::Format::ALL[12])),
    Format::Transcript(Some(transcripts::Format::ALL[13])),
];

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Self] {
        &NAMED
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let name = match self {
            Self::Eval => "eval",
            Self::Jsonl => "jsonl",
            Self::Memory => "memory",
            Self::Transcript(format) => (*format)?.as_str(),
        };
        Some(PossibleValue::new(name))
    }
}

impl Format {
    /// The format of a file: an export is recognized by its first bytes, and any other file is a transcript.
    pub(super) fn of(file: &Path, said: Option<Self>) -> Result<Self, ExchangeError> {
        match said {
            Some(format) => Ok(format),
            // The first bytes of a stream can be read only once.
            None if is_stream(file) => Ok(Self::Memory),
            None if file.is_dir() || !ExportFile::recognizes(file)? => Ok(Self::Transcript(None)),
            None => Ok(Self::Memory),
        }
    }
}
