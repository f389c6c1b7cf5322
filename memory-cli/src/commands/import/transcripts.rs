//! Reads and shows transcripts of other programs.

use std::{io, path::Path};

use anyhow::Context as _;
use memory_capture::{
    Error as CaptureError, FilesRead, Format, Limits, Options, Report, Skipped, TranscriptError, TranscriptFiles,
};
use memory_core::port::Progress;
use memory_store::Spool;
use memory_transcripts::Why;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Args, format};
use crate::{
    failure::Usage,
    import::{ImportError, is_pipe, is_stream, open},
    output::{Output, counted, grouped},
};

/// Reads all transcripts of a path, so that a fault in the last leaves nothing half-imported.
pub(super) fn check(
    path: &Path,
    format: Option<Format>,
    args: &Args,
    may_be_empty: bool,
    progress: &dyn Progress,
) -> anyhow::Result<TranscriptFiles> {
    let mut options =
        Options::default().limits(Limits::default().record(args.limits().line)).may_be_empty(may_be_empty);
    (options.format, options.conversation) = (format, args.conversation.clone());
    let read = if is_stream(path) {
        let (_, mut data) = open(path)?;
        let mut spool = Spool::new(&mut *data, args.limits().stream)?;
        io::copy(&mut spool, &mut io::sink()).context("cannot read the stream")?;
        let path = (!is_pipe(path)).then_some(path);
        TranscriptFiles::read_stream(spool.into_file()?, path, &options, progress)
    } else {
        TranscriptFiles::read(path, &options, progress)
    };
    read.map_err(|error| match error {
        CaptureError::Unread(TranscriptError::UnknownFormat { place }) => {
            let advice = format::advice(path, args.limits());
            Usage(format!("{place} is in no format that this program recognizes; {advice}")).into()
        }
        CaptureError::Unnamed => {
            Usage("standard input has no name: name the conversation by --conversation".to_owned()).into()
        }
        CaptureError::NamesItself { .. } => {
            Usage(format!("{} names its conversations: leave --conversation out", path.display())).into()
        }
        CaptureError::Empty { read, .. } => {
            let why: Vec<_> = read.iter().flat_map(|read| skipped(&read.report)).collect();
            let empty = ImportError::Empty { path: path.to_owned() };
            if why.is_empty() { empty.into() } else { anyhow::Error::new(empty).context(why.join("; ")) }
        }
        error => error.into(),
    })
}

/// Sentences about the skipped parts.
fn skipped(report: &Report) -> impl Iterator<Item = String> {
    let sentence = |skipped: &Skipped| {
        let did = if skipped.why == Why::Guessed { "read" } else { "skipped" };
        format!("{did} {} × {}: {} (first: {})", grouped(skipped.count), skipped.what, skipped.why, skipped.first)
    };
    report.skipped().map(sentence)
}

/// A sentence about halves of characters.
fn mended(report: &Report) -> Option<String> {
    let mended = report.mended;
    (mended > 0).then(|| format!("put U+FFFD for {}", counted(mended, "half of a character", "halves of characters")))
}

pub(super) fn print(read: &FilesRead, output: Output) -> io::Result<()> {
    let Report { records, conversations, forks, messages, summaries, .. } = &read.report;
    if let Some(format) = read.format {
        let files = if read.files == 1 { String::new() } else { format!("{} files, ", grouped(read.files as u64)) };
        let forks = if *forks == 0 { String::new() } else { format!(" ({} of them forks)", grouped(*forks)) };
        let summaries =
            if *summaries == 0 { String::new() } else { format!(", {}", counted(*summaries, "summary", "summaries")) };
        output.line(&format!(
            "read {} as {format}: {files}{}, {}{forks}, {}{summaries}",
            read.path,
            counted(*records, "record", "records"),
            counted(*conversations, "conversation", "conversations"),
            counted(*messages, "message", "messages")
        ))?;
    }
    mended(&read.report).into_iter().chain(skipped(&read.report)).try_for_each(|line| output.line(&format!("  {line}")))
}

/// Files of other programs at a path.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Read<'a> {
    /// Path of the files.
    path: &'a str,
    /// Name of the format, as in `--format`; null for files that are no transcripts.
    format: Option<&'static str>,
    /// Number of files that were read.
    files: usize,
    #[serde(flatten)]
    report: &'a Report,
}

impl<'a> Read<'a> {
    pub(super) fn of(read: &'a FilesRead) -> Self {
        Self { path: &read.path, format: read.format.map(Format::as_str), files: read.files, report: &read.report }
    }
}
