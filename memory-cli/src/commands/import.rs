//! `memory import`: reads conversations from files into the store.

mod exported;
mod format;
mod refused;
mod transcripts;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use clap::Args as ClapArgs;
use memory::{
    Recall,
    models::{ModelRecord, better_for_languages},
    parts::{Parts, open_log},
};
use memory_capture::{Afterwards, Capture, FilesRead, Stage, Stages, SummaryCounts, TranscriptFiles};
use memory_core::{
    ConversationId, Hash,
    port::{Progress, Store, StoreError},
};
use memory_store::{ExchangeError, ExportFile, ReadLimits};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Access,
    failure::Usage,
    globals::Globals,
    import::{
        is_pipe, is_stream,
        jsonl::{JsonlFile, ReadMessage},
    },
    news::{self, News},
    open,
    output::{Output, counted, grouped},
    sealed::{Identities, is_sealed},
};
use exported::Restored;
use format::Format;
use refused::{refuse_namesakes, refuse_utf16};

/// Most conversations that are listed for a person.
const MOST_ROWS: usize = 40;

/// Reads conversations from files into the store. All files are checked before anything is appended.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The format of the files. `memory` as `memory export` writes it and transcripts of other programs are recognized
    /// without this flag; `jsonl` is a message a line, its time as RFC 3339 or in milliseconds since 1970
    #[arg(long, value_parser = format::named())]
    format: Option<Format>,
    /// The files, or - for standard input; of other programs also zip archives and directories (docs/import.md)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The conversation to append to [default: with `jsonl` the file's name without its extension, with `memory` the
    /// exported one]
    #[arg(long, short, visible_alias = "as", value_name = "ID")]
    conversation: Option<ConversationId>,
    /// With `jsonl`, append messages without a key even if an import of the same lines brought them before
    #[arg(long)]
    again: bool,
    /// Do not embed now: `memory index` does it later
    #[arg(long)]
    no_embed: bool,
    /// Write no summaries now: the next `memory context` does
    #[arg(long)]
    no_summaries: bool,
    /// Encrypt the store if it is made now, with the key that --key-file or another option names; one that is there
    /// must be encrypted
    #[arg(long)]
    encrypt: bool,
    #[command(flatten)]
    identities: Identities,
    /// The longest line that is read
    #[arg(long, value_name = "MIB", default_value_t = ReadLimits::default().line >> 20,
          value_parser = clap::value_parser!(u64).range(1..=4096))]
    max_line: u64,
    /// The most that is kept, in a temporary file, of what comes through a pipe
    #[arg(long, value_name = "MIB", default_value_t = ReadLimits::default().stream >> 20,
          value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    max_piped: u64,
}

impl Args {
    fn limits(&self) -> ReadLimits {
        ReadLimits::default().line(self.max_line << 20).stream(self.max_piped << 20)
    }
}

/// A file that was checked.
enum CheckedFile {
    Jsonl(ConversationId, JsonlFile),
    Memory(Box<ExportFile>),
    Transcripts(TranscriptFiles),
}

impl CheckedFile {
    /// Checks a whole file.
    fn of(file: &Path, args: &Args, may_be_empty: bool, output: Output) -> anyhow::Result<Self> {
        refuse_utf16(file)?;
        let bar = output.bar("reading");
        if !is_stream(file) && is_sealed(&format::beginning(file)) {
            return Ok(Self::Memory(Box::new(args.identities.open(file, args.limits())?)));
        }
        let checked = match Format::of(file, args.format)? {
            Format::Transcript(format) => {
                Self::Transcripts(transcripts::check(file, format, args, may_be_empty, &bar)?)
            }
            Format::Memory => {
                let read = exported::read(file, args.limits());
                // The first bytes of a stream could not be looked at before.
                let is_other = args.format.is_none() && matches!(read, Err(ExchangeError::Line { line: 1, .. }));
                let read = read.map_err(anyhow::Error::from);
                let hint = "a stream is read as an export unless --format says otherwise";
                Self::Memory(Box::new(if is_other { read.context(hint)? } else { read? }))
            }
            Format::Jsonl => Self::Jsonl(name(file, args)?, JsonlFile::check(file, args.limits(), &bar)?),
        };
        bar.finish();
        Ok(checked)
    }

    /// The conversations of the file.
    fn names<'a>(&'a self, args: &'a Args) -> Vec<&'a ConversationId> {
        match self {
            Self::Jsonl(id, _) => vec![id],
            Self::Memory(file) => vec![args.conversation.as_ref().unwrap_or(file.conversation())],
            Self::Transcripts(files) => files.conversations().collect(),
        }
    }
}

/// Result of importing a conversation.
pub(super) struct Imported {
    pub(super) report: memory_capture::ImportedConversation,
    pub(super) news: Vec<News>,
}

impl From<memory_capture::ImportedConversation> for Imported {
    fn from(report: memory_capture::ImportedConversation) -> Self {
        let news = report.notices.iter().cloned().map(News::from).collect();
        Self { report, news }
    }
}

/// A progress bar for each stage.
impl Stages for Output {
    fn begin(&self, stage: Stage) -> Box<dyn Progress + '_> {
        Box::new(self.bar(match stage {
            Stage::Reading => "reading",
            Stage::Appending => "appending",
            Stage::Compacting => "compacting",
            Stage::Embedding => "embedding",
            _ => "working",
        }))
    }
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    // All files are checked first: a fault in the last one must not leave the first one half-imported.
    let (mut paths, mut has_exports) = (Vec::new(), false);
    for file in &args.files {
        let exports = if file.is_dir() { format::exports(file, args.format)? } else { Vec::new() };
        // A directory may hold only exports.
        has_exports |= !exports.is_empty();
        if exports.is_empty() || args.format.is_none() {
            paths.push(file.clone());
        }
        paths.extend(exports);
    }
    let checked = paths.iter().map(|file| CheckedFile::of(file, args, has_exports, globals.output));
    let mut checked = checked.collect::<anyhow::Result<Vec<_>>>()?;
    if args.conversation.is_none() {
        let files: Vec<_> = paths.iter().map(PathBuf::as_path).zip(&checked).collect();
        refuse_namesakes(&files)?;
    }
    let exports = checked.iter().filter(|file| matches!(file, CheckedFile::Memory(_))).count();
    if exports > 1 && args.conversation.is_some() {
        return Err(Usage("one name does for one export: import them one by one".to_owned()).into());
    }
    let config = globals.config(Access::Write)?.encrypt(args.encrypt);
    let config = if args.no_embed { config.without_model() } else { config };
    // The language of the messages decides on the model of a new store.
    let is_model_open =
        config.recall == Recall::Hybrid && config.model.is_none() && ModelRecord::read(&config.store)?.is_none();
    let config_now = if is_model_open { config.clone().without_model() } else { config.clone() };
    let runtime = open(&config_now)?;
    news::print(globals.output, &news::of_key(&runtime, &config));
    for id in checked.iter().flat_map(|file| file.names(args)) {
        check_name(&*runtime.store, id).await?;
    }
    let after = Afterwards::default().summarize(!args.no_summaries).embed(!args.no_embed && !is_model_open);
    let (capture, output) = (Capture::with_parts(runtime.clone(), &config_now), globals.output);
    let (mut all, mut restored, mut transcripts) = (Vec::new(), Vec::new(), Vec::new());
    let mut failed = None;
    if config_now.redaction.is_active() && checked.iter().any(|file| matches!(file, CheckedFile::Memory(_))) {
        output.note("an export is imported as it is, without --redact: its root is that of its messages");
    }
    for file in &mut checked {
        match file {
            CheckedFile::Memory(file) => {
                let name = args.conversation.as_ref();
                restored.push(exported::import(&runtime, file, name, after.embed, output).await?);
            }
            CheckedFile::Transcripts(files) => {
                let imported = match capture.import_files(files, after, &output).await {
                    Ok(imported) => imported,
                    // One file that fails stops no other.
                    Err(error) => {
                        failed.get_or_insert(error);
                        continue;
                    }
                };
                let by_file: BTreeSet<_> = files.named_by_files().map(|(id, _)| id).collect();
                all.extend(imported.into_iter().map(|one| {
                    let is_by_file = args.conversation.is_none() && by_file.contains(&one.id);
                    let other = News::other_file(&one).filter(|_| is_by_file);
                    let mut imported = Imported::from(one);
                    imported.news.extend(other);
                    imported
                }));
                transcripts.extend(files.files().iter().cloned());
            }
            CheckedFile::Jsonl(id, file) => {
                let mut appender = capture.conversation(id.clone(), file.messages, &output);
                let take = async |ReadMessage { mut message, line_key, at, bytes, line }| {
                    if !args.again {
                        message.key = message.key.or(line_key);
                    }
                    let place = format!("{}:{line}", file.path().display());
                    anyhow::Ok(appender.take(message, &place, at, bytes).await?)
                };
                file.each(take).await?;
                let mut imported = Imported::from(appender.finish(after).await?);
                let news = News::mended(id, file.mended);
                imported.news.extend((file.mended > 0).then_some(news));
                imported.news.extend(file.unknown.iter().map(|(name, lines)| News::members_left_out(id, name, *lines)));
                let is_by_file = args.conversation.is_none() && !args.again;
                let other = News::other_file(&imported.report).filter(|_| is_by_file);
                imported.news.extend(other);
                all.push(imported);
            }
        }
    }
    runtime.log.check_place()?;
    if is_model_open {
        drop((capture, runtime));
        let runtime = open(&config)?;
        for one in &mut all {
            let (index, notices) = embed(&runtime, &one.report.id, output).await?;
            one.report.index = index;
            one.news.extend(notices);
        }
        for one in &mut restored {
            one.news.extend(embed(&runtime, one.conversation(), output).await?.1);
        }
    }
    if !args.no_embed
        && let Some(better) = better_for_languages(&config, &open_log(&config)?).await?
    {
        all.iter_mut().for_each(|one| one.news.push(News::other_languages(better)));
    }
    let news = all.iter_mut().map(|one| &mut one.news).chain(restored.iter_mut().map(|one| &mut one.news));
    news.for_each(|news| globals.keep(news));
    print(globals.output, &all, &restored, &transcripts, after.embed)?;
    if let Some(failed) = failed {
        return Err(failed.into());
    }
    match all.iter().map(|one| one.report.refused).sum::<usize>() {
        0 => Ok(()),
        refused => Err(Refused { refused: counted(refused as u64, "message", "messages") }.into()),
    }
}

/// Some messages were not appended; all others were.
#[derive(Debug, thiserror::Error)]
#[error("{refused} refused by --redact; all others were appended")]
struct Refused {
    refused: String,
}

/// Embeds a conversation, with the time that it takes.
async fn embed(runtime: &Parts, id: &ConversationId, output: Output) -> anyhow::Result<(Duration, Vec<News>)> {
    let (started, bar) = (Instant::now(), output.bar("embedding"));
    let report = runtime.memory.conversation(id.clone()).index_with(&bar).await?;
    bar.finish();
    Ok((started.elapsed(), news::of(report.notices)))
}

/// Refuses an invalid name of a new conversation before anything is appended to the others.
async fn check_name(store: &dyn Store, id: &ConversationId) -> anyhow::Result<()> {
    match store.conversation(id).await {
        Err(StoreError::UnknownConversation { .. }) => Ok(id
            .check_new()
            .map_err(|error| Usage(format!("{error}; --conversation names it, for one file alone")))?),
        _ => Ok(()),
    }
}

/// The conversation of a file of messages.
fn name(file: &Path, args: &Args) -> Result<ConversationId, Usage> {
    if let Some(id) = &args.conversation {
        return Ok(id.clone());
    }
    if is_pipe(file) {
        return Err(Usage("standard input has no name: name the conversation by --conversation".to_owned()));
    }
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    ConversationId::new(&stem).map_err(|error| Usage(format!("{error}: name the conversation by --conversation")))
}

/// Outcome of an import.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    conversations: Vec<Row<'a>>,
    /// Paths with files of other programs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    transcripts: Vec<transcripts::Read<'a>>,
    /// Notices about the import.
    notices: &'a [News],
}

/// A conversation of an import.
#[derive(Debug, Serialize, JsonSchema)]
struct Row<'a> {
    /// Name of the conversation.
    conversation: &'a ConversationId,
    /// Number of its messages in the file.
    read: u64,
    /// Number of appended messages.
    new: u64,
    /// Number of messages that --redact refused.
    refused: u64,
    /// True if this import archived the conversation, in which no person speaks.
    archived: bool,
    /// Number of messages in the conversation now.
    nodes: u64,
    /// Summaries of the file that stand for messages here.
    summaries: u64,
    /// Number of recorded summaries.
    new_summaries: u64,
    #[serde(flatten)]
    rest: KindFigures,
}

/// Results of a conversation that only one kind of import has.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum KindFigures {
    Messages {
        /// Tokens of the messages; not of an export.
        tokens: u64,
        /// Tokens of the smallest view; not of an export.
        view_tokens: u64,
        /// Seconds of appending; not of an export.
        append_seconds: f64,
        /// Seconds of summarizing; not of an export.
        compact_seconds: f64,
        /// Seconds of embedding; not of an export.
        index_seconds: f64,
    },
    Export {
        /// Messages that were read again; only of an export.
        verified: u64,
        /// Summaries that were left out; only of an export.
        orphaned_summaries: u64,
        /// Notes of the file; only of an export.
        notes: u64,
        /// Notes that were not there before; only of an export.
        new_notes: u64,
        /// Root of the conversation; only of an export.
        root: Hash,
    },
}

impl<'a> Row<'a> {
    fn of(Imported { report, .. }: &'a Imported) -> Self {
        let seconds = |took: Duration| (took.as_secs_f64() * 1e3).round() / 1e3;
        Self {
            conversation: &report.id,
            read: report.read as u64,
            new: report.new as u64,
            refused: report.refused as u64,
            archived: report.is_archived,
            nodes: report.stats.nodes,
            summaries: report.summaries.new + report.summaries.there,
            new_summaries: report.summaries.new,
            rest: KindFigures::Messages {
                tokens: report.stats.tokens,
                view_tokens: report.stats.view_tokens,
                append_seconds: seconds(report.append),
                compact_seconds: seconds(report.compact),
                index_seconds: seconds(report.index),
            },
        }
    }
}

fn print(
    output: Output,
    all: &[Imported],
    restored: &[Restored],
    transcripts: &[FilesRead],
    embed: bool,
) -> anyhow::Result<()> {
    let mut news: Vec<_> = all.iter().flat_map(|imported| imported.news.clone()).collect();
    news.extend(restored.iter().flat_map(|restored| restored.news.clone()));
    news.dedup();
    if output.json {
        let conversations = all.iter().map(Row::of).chain(restored.iter().map(Restored::row)).collect();
        let transcripts = transcripts.iter().map(transcripts::Read::of).collect();
        return Ok(output.value(&Answer { conversations, transcripts, notices: &news })?);
    }
    news::print(output, &news);
    restored.iter().try_for_each(|restored| exported::print(output, restored))?;
    if all.is_empty() {
        return Ok(transcripts.iter().try_for_each(|files| transcripts::print(files, output))?);
    }
    let shown = all.len().min(MOST_ROWS);
    let rows = all.iter().take(shown).map(|Imported { report: i, .. }| {
        [
            i.id.to_string(),
            grouped(i.read as u64),
            grouped(i.new as u64),
            grouped(i.stats.tokens),
            grouped(i.stats.view_tokens),
        ]
    });
    let header = ["conversation", "messages", "new", "tokens", "smallest view"];
    output.table_without(header, rows, &["smallest view", "tokens"])?;
    if shown < all.len() {
        output.note(&format!("and {} more conversations; --json lists all", grouped((all.len() - shown) as u64)));
    }
    transcripts.iter().try_for_each(|files| transcripts::print(files, output))?;
    let archived = all.iter().filter(|one| one.report.is_archived).count() as u64;
    if archived > 0 {
        let archived = counted(archived, "conversation", "conversations");
        output
            .line(&format!("  archived {archived} in which no person speaks: `memory list --archived` shows them"))?;
    }
    let summaries = |count: fn(&SummaryCounts) -> u64| all.iter().map(|one| count(&one.report.summaries)).sum::<u64>();
    let (new, there) = (summaries(|counts| counts.new), summaries(|counts| counts.there));
    if new + there > 0 {
        let summaries = counted(new + there, "summary", "summaries");
        output.line(&format!("  took over {summaries}, {} of them new", grouped(new)))?;
    }
    let read: usize = all.iter().map(|i| i.report.read).sum();
    let without: Duration = all.iter().map(|i| i.report.append + i.report.compact).sum();
    let with: Duration = without + all.iter().map(|i| i.report.index).sum::<Duration>();
    let rate = |time: Duration| {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rate"
        )]
        let rate = (read as f64 / time.as_secs_f64().max(1e-9)) as u64;
        grouped(rate)
    };
    let with = if embed { format!(", {}/s with the indexes of search", rate(with)) } else { String::new() };
    let read = counted(read as u64, "message", "messages");
    output.note(&format!("{read} read and summarized at {}/s{with}", rate(without)));
    Ok(())
}
