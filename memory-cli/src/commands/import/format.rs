//! The format of a file to import.

use std::{
    fs::{self, FileType},
    io::Read as _,
    path::{Path, PathBuf},
};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use memory_files::{Links, open};
use memory_store::{ExchangeError, ExportFile, ReadLimits};
use memory_transcripts as transcripts;
use serde_json::Value;

use crate::{
    import::{is_stream, jsonl::JsonlFile},
    sealed::is_sealed,
};

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
            } else if is(FileType::is_file) && is_export(&path)? {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// True if a file is an export of this program, encrypted or not.
fn is_export(path: &Path) -> Result<bool, ExchangeError> {
    match path.extension() {
        Some(ending) if ending == "jsonl" => ExportFile::recognizes(path),
        Some(ending) if ending == "age" => Ok(is_sealed(&beginning(path))),
        _ => Ok(false),
    }
}

impl Format {
    /// The format of a file: an export is recognized by its first bytes, and any other file is a transcript.
    pub(super) fn of(file: &Path, given: Option<Self>) -> Result<Self, ExchangeError> {
        match given {
            Some(format) => Ok(format),
            // The first bytes of a stream can be read only once.
            None if is_stream(file) => Ok(Self::Memory),
            None if file.is_dir() => Ok(Self::Transcript(None)),
            None if ExportFile::recognizes(file)? => Ok(Self::Memory),
            None if has_messages(&beginning(file)) => Ok(Self::Jsonl),
            None => Ok(Self::Transcript(None)),
        }
    }
}

/// Bytes by which a format is recognized.
const BEGINNING: u64 = 64 << 10;

/// The first bytes of a file; none if it cannot be read, which its import reports.
pub(super) fn beginning(file: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = open(file, Links::Follow).and_then(|file| file.take(BEGINNING).read_to_end(&mut bytes));
    read.map_or_else(|_| Vec::new(), |_| bytes)
}

/// True if the first line is a message, and the file no transcript that is recognized.
fn has_messages(beginning: &[u8]) -> bool {
    let text = String::from_utf8_lossy(beginning);
    let line = text.trim_start_matches('\u{feff}').lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let Ok(Value::Object(members)) = serde_json::from_str(line) else { return false };
    members.get("role").is_some_and(Value::is_string)
        && members.contains_key("content")
        && transcripts::Format::of_beginning(beginning).is_none()
}

/// Advice for a file of no recognized format: the formats as which it can be read as a whole.
pub(super) fn advice(file: &Path, limits: ReadLimits) -> String {
    let is_small = fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() <= MOST_TRIED);
    let reads = |format: &&transcripts::Format| reads_all(file, **format);
    let mut names: Vec<_> =
        transcripts::Format::ALL.iter().filter(|_| is_small).filter(reads).map(|format| format.as_str()).collect();
    names.extend((is_small && JsonlFile::check(file, limits, &()).is_ok()).then_some("jsonl"));
    if names.is_empty() {
        return "docs/import.md lists those that it reads, and --format names one of them".to_owned();
    }
    format!("it can be read with --format {}", names.join(" or --format "))
}

/// The largest file that is read in every format for advice.
const MOST_TRIED: u64 = 16 << 20;

/// True if a file is a transcript of a format, and nothing of it is unknown or broken.
fn reads_all(file: &Path, format: transcripts::Format) -> bool {
    let read = || {
        let found = transcripts::find(file, Some(format), transcripts::Limits::default())?;
        let mut report = transcripts::Report::default();
        for transcript in found.transcripts {
            let mut reader = transcript.open()?;
            while reader.read()?.is_some() {}
            report.add(reader.report());
        }
        Ok::<_, transcripts::TranscriptError>(report)
    };
    let is_fault = |why| matches!(why, transcripts::Why::Unknown | transcripts::Why::Broken);
    let is_whole = |report: &transcripts::Report| !report.skipped().any(|skipped| is_fault(skipped.why));
    read().is_ok_and(|report| report.messages > 0 && is_whole(&report))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_messages_are_recognized_and_transcripts_are_none() {
        for text in [
            r#"{"role":"user","content":"hi"}"#,
            "\u{feff}\n{\"role\":\"user\",\"content\":\"hi\",\"time\":1500}\n{\"role\":\"assistant\",\"content\":\"yes\"}\n",
        ] {
            assert!(has_messages(text.as_bytes()), "{text}");
        }
        for text in ["", "hi", "[]", "{}", r#"[{"role":"user","content":"hi"}]"#, r#"{"role":1,"content":"hi"}"#] {
            assert!(!has_messages(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn advice_names_only_formats_that_read_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let advice = |text: &str| {
            let path = directory.path().join("x.json");
            fs::write(&path, text).unwrap();
            advice(&path, ReadLimits::default())
        };
        let none = "docs/import.md lists those that it reads, and --format names one of them";
        assert_eq!(advice("?"), none);
        assert_eq!(advice(r#"{"title":"x","history":[{"message":{"role":"user","content":"hi"}}]}"#), none);
        let read = advice(r#"{"role":"user","content":"hi"}"#);
        assert!(read.contains("--format openai") && read.ends_with("--format jsonl"), "{read}");
    }
}
