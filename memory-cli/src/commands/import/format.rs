//! The format of a file to import.

use std::{
    fs::{self, FileType},
    io::Read as _,
    path::{Path, PathBuf},
};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use memory_files::{Links, open};
use memory_store::{ExchangeError, ExportFile};
use memory_transcripts as transcripts;
use serde_json::Value;

use crate::{import::is_stream, sealed::is_sealed};

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

/// Advice for a file of no recognized format, by its first bytes.
pub(super) fn advice(beginning: &[u8]) -> String {
    let text = String::from_utf8_lossy(beginning);
    if text.contains("\"role\"") && text.contains("\"content\"") {
        let why =
            "it has messages in the form of several programs: name it with --format openai, --format anthropic or";
        return format!("{why} --format jsonl (a message a line)");
    }
    let names: Vec<_> = transcripts::Format::ALL.iter().map(|format| format.as_str()).collect();
    format!("name its format with --format: jsonl, {} (docs/import.md)", names.join(", "))
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
        assert!(advice(br#"[{"role":"user","content":"hi"}]"#).contains("--format openai"));
        assert!(advice(b"?").contains("whatsapp"));
    }
}
