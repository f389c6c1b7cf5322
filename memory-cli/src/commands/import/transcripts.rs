//! Imports transcripts of other programs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use memory_core::ConversationId;
use memory_hooks::Memory;
use memory_store::Spool;
use memory_transcripts::{Format, Found, Item, Limits, Report, Transcript, TranscriptError, find, find_in};
use serde_json::{Value, json};

use super::{After, Args, Imported, into::Into};
use crate::{
    failure::Usage,
    import::{ImportError, is_pipe, is_stream},
    output::{Output, counted, grouped},
};

/// The transcripts of a path, which were read once.
pub(super) struct TranscriptFiles {
    /// Each with the number of its messages.
    transcripts: Vec<(Transcript, u64)>,
    conversations: BTreeSet<ConversationId>,
    /// Conversations that are named by their file alone.
    by_file: Vec<(ConversationId, PathBuf)>,
    rows: Vec<Row>,
}

/// What was read of a path in one format.
pub(super) struct Row {
    path: String,
    /// `None` for files that are no transcripts.
    format: Option<Format>,
    files: usize,
    report: Report,
}

impl TranscriptFiles {
    /// Reads all transcripts of a path, so that a fault in the last leaves nothing half-imported.
    pub(super) fn check(
        path: &Path,
        format: Option<Format>,
        args: &Args,
        mut read: impl FnMut(usize),
    ) -> anyhow::Result<Self> {
        let limits = Limits::default().record(args.limits().line);
        let found = if is_pipe(path) {
            find_in(spooled(&mut io::stdin().lock(), args)?, "standard input", format, limits)
        } else if is_stream(path) {
            let mut file = File::open(path).map_err(|source| ImportError::Io { path: path.to_owned(), source })?;
            find_in(spooled(&mut file, args)?, &path.display().to_string(), format, limits)
        } else {
            find(path, format, limits)
        };
        let Found { transcripts, others, .. } = match found {
            Err(TranscriptError::UnknownFormat { place }) => {
                let why = "is not an export, nor a transcript that is recognized: state its format with --format";
                return Err(Usage(format!("{place} {why}")).into());
            }
            found => found.context(NOTHING)?,
        };
        let mut files =
            Self { transcripts: Vec::new(), conversations: BTreeSet::new(), by_file: Vec::new(), rows: Vec::new() };
        let mut reports: BTreeMap<&str, (Format, usize, Report)> = BTreeMap::new();
        let count = transcripts.len();
        let mut messages = 0;
        for transcript in transcripts {
            let transcript = named(transcript, path, count, args)?;
            let mut reader = transcript.open().context(NOTHING)?;
            while let Some(item) = reader.read().context(NOTHING)? {
                match item {
                    Item::Conversation(conversation) => {
                        if transcript.is_named_by_file(&conversation.id) {
                            files.by_file.push((conversation.id.clone(), transcript.path().to_owned()));
                        }
                        files.conversations.insert(conversation.id);
                    }
                    Item::Said(_) => {
                        messages += 1;
                        read(messages);
                    }
                    _ => {}
                }
            }
            let format = transcript.format();
            let (_, count, report) = reports.entry(format.as_str()).or_insert_with(|| (format, 0, Report::default()));
            *count += 1;
            report.add(reader.report());
            files.transcripts.push((transcript, reader.report().messages));
        }
        let shown = path.display().to_string();
        let row = |(format, files, report)| Row { path: shown.clone(), format: Some(format), files, report };
        files.rows.extend(reports.into_values().map(row));
        if others.skipped().next().is_some() {
            files.rows.push(Row { path: shown.clone(), format: None, files: 0, report: others });
        }
        if messages == 0 {
            let why: Vec<_> = files.rows.iter().flat_map(|row| row.skipped()).collect();
            let empty = ImportError::Empty { path: path.to_owned() };
            return Err(if why.is_empty() { empty.into() } else { anyhow::Error::new(empty).context(why.join("; ")) });
        }
        Ok(files)
    }

    pub(super) fn conversations(&self) -> impl Iterator<Item = &ConversationId> {
        self.conversations.iter()
    }

    /// The conversations that are named by their file alone, and the file.
    pub(super) fn named_by_files(&self) -> impl Iterator<Item = (&ConversationId, &Path)> {
        self.by_file.iter().map(|(id, path)| (id, path.as_path()))
    }

    /// What was read, for the end.
    pub(super) fn rows(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.rows)
    }

    /// Appends all messages that are not there yet.
    pub(super) async fn import(&self, memory: &Memory, after: After, output: Output) -> anyhow::Result<Vec<Imported>> {
        let total = self.transcripts.iter().map(|(_, messages)| messages).sum();
        let mut into = Into::new(memory, total, output);
        for (transcript, messages) in &self.transcripts {
            let mut reader = transcript.open().map_err(|error| into.stopped(error.into()))?;
            // It may have got longer since it was checked; that comes with the next import.
            let mut left = *messages;
            while let Some(item) = reader.read().map_err(|error| into.stopped(error.into()))? {
                if matches!(item, Item::Said(_)) {
                    if left == 0 {
                        break;
                    }
                    left -= 1;
                }
                into.take(item).await.map_err(|error| into.stopped(error))?;
            }
        }
        into.finish(after).await
    }
}

/// What stands before an error of the first reading.
const NOTHING: &str = "nothing was imported";

/// What comes through a pipe, in a temporary file.
fn spooled(from: &mut dyn io::Read, args: &Args) -> anyhow::Result<File> {
    let mut spool = Spool::new(from, args.limits().stream)?;
    io::copy(&mut spool, &mut io::sink()).context("cannot read the stream")?;
    Ok(spool.into_file()?)
}

/// The transcript under the name that was given, where its format has none.
fn named(transcript: Transcript, path: &Path, count: usize, args: &Args) -> anyhow::Result<Transcript> {
    let names_conversations = transcript.format().names_conversations();
    match &args.conversation {
        None if is_pipe(path) && !names_conversations => {
            let why = "standard input has no name: name the conversation by --conversation";
            Err(Usage(why.to_owned()).into())
        }
        None => Ok(transcript),
        Some(_) if names_conversations || count != 1 => {
            let why = format!("{} names its conversations: leave --conversation out", path.display());
            Err(Usage(why).into())
        }
        Some(name) => Ok(transcript.named(name.as_str())),
    }
}

impl Row {
    /// Sentences about what was skipped.
    fn skipped(&self) -> Vec<String> {
        let sentence = |skipped: &memory_transcripts::Skipped| {
            format!("skipped {} × {}: {} (first: {})", grouped(skipped.count), skipped.what, skipped.why, skipped.first)
        };
        self.report.skipped().map(sentence).collect()
    }

    /// A sentence about halves of characters.
    fn mended(&self) -> Option<String> {
        let mended = self.report.mended;
        (mended > 0)
            .then(|| format!("put U+FFFD for {}", counted(mended, "half of a character", "halves of characters")))
    }

    pub(super) fn print(&self, output: Output) -> io::Result<()> {
        let Report { records, conversations, forks, messages, summaries, .. } = &self.report;
        if let Some(format) = self.format {
            let files = if self.files == 1 { String::new() } else { format!("{} files, ", grouped(self.files as u64)) };
            let forks = if *forks == 0 { String::new() } else { format!(" ({} of them forks)", grouped(*forks)) };
            let summaries = if *summaries == 0 {
                String::new()
            } else {
                format!(", {}", counted(*summaries, "summary", "summaries"))
            };
            output.line(&format!(
                "read {} as {format}: {files}{}, {}{forks}, {}{summaries}",
                self.path,
                counted(*records, "record", "records"),
                counted(*conversations, "conversation", "conversations"),
                counted(*messages, "message", "messages")
            ))?;
        }
        self.mended().into_iter().chain(self.skipped()).try_for_each(|line| output.line(&format!("  {line}")))
    }

    pub(super) fn to_json(&self) -> Value {
        let Report { records, conversations, forks, messages, summaries, .. } = &self.report;
        let skipped = self.report.skipped().map(|skipped| {
            json!({"what": skipped.what, "why": skipped.why.code(), "count": skipped.count, "first": skipped.first})
        });
        json!({
            "path": self.path,
            "format": self.format.map(Format::as_str),
            "files": self.files,
            "records": records,
            "conversations": conversations,
            "forks": forks,
            "messages": messages,
            "summaries": summaries,
            "mended": self.report.mended,
            "skipped": skipped.collect::<Vec<_>>(),
        })
    }
}
