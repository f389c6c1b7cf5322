//! `memory import`: reads conversations from files into the store.

mod exported;

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use clap::{Args as ClapArgs, ValueEnum};
use memory_core::{ConversationId, Message, Progress, Store, StoreError, Timestamp};
use memory_hooks::{ConversationStats, Memory};
use memory_store::ExportFile;
use serde_json::json;

use crate::{
    Access,
    failure::Usage,
    globals::Globals,
    import::{ImportedConversation, eval, jsonl},
    news::{self, News},
    open,
    output::{Output, decimal, grouped},
};
use exported::Restored;

/// Messages that are appended as one batch.
const BATCH: usize = 512;

/// Reads conversations from files into the store. A file is read whole before anything of it is appended.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The format of the files: `memory` as `memory export` writes it, which is recognized without this flag; `jsonl` a
    /// message a line; `eval` a conversation a line
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The files; with `eval` also directories that hold a conversations.jsonl, with `memory` also - for
    /// standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The conversation to append to [default: with `jsonl` the file's name without its extension, with `memory` the
    /// exported one]
    #[arg(long, short, visible_alias = "as", value_name = "ID")]
    conversation: Option<ConversationId>,
    /// Do not embed now: `memory index` does it later
    #[arg(long)]
    no_embed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Eval,
    Jsonl,
    Memory,
}

/// Result of importing a conversation.
pub(super) struct Imported {
    pub(super) id: ConversationId,
    pub(super) read: usize,
    pub(super) new: usize,
    pub(super) stats: ConversationStats,
    pub(super) append: Duration,
    pub(super) compact: Duration,
    pub(super) index: Duration,
    pub(super) news: Vec<News>,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    // All files are read first: a fault in the last one must not leave the first one half-imported.
    let (mut conversations, mut exports) = (Vec::new(), Vec::new());
    for file in &args.files {
        match format(file, args.format)? {
            Format::Memory => exports.push(exported::read(file)?),
            Format::Eval => conversations.extend(read_eval(file, args)?),
            Format::Jsonl => conversations.push(read_jsonl(file, args)?),
        }
    }
    if exports.len() > 1 && args.conversation.is_some() {
        return Err(Usage("one name does for one export: import them one by one".to_owned()).into());
    }
    let config = globals.config(Access::Write)?;
    let config = if args.no_embed { config.without_model() } else { config };
    let runtime = open(&config)?;
    let named = exports.iter().map(|file| args.conversation.as_ref().unwrap_or(file.conversation()));
    for id in conversations.iter().map(|conversation| &conversation.id).chain(named) {
        check_name(&*runtime.store, id).await?;
    }
    let mut all = Vec::with_capacity(conversations.len());
    for conversation in conversations {
        all.push(import(&runtime.memory, conversation, !args.no_embed, globals.output).await?);
    }
    let mut restored = Vec::with_capacity(exports.len());
    for mut file in exports {
        let name = args.conversation.as_ref();
        restored.push(exported::import(&runtime, &mut file, name, !args.no_embed, globals.output).await?);
    }
    print(globals.output, &all, &restored)
}

/// Refuses a name that no new conversation may have before anything is appended to the others.
async fn check_name(store: &dyn Store, id: &ConversationId) -> anyhow::Result<()> {
    match store.conversation(id).await {
        Err(StoreError::UnknownConversation { .. }) => Ok(id
            .check_new()
            .map_err(|error| Usage(format!("{error}; --conversation names it, for one file alone")))?),
        _ => Ok(()),
    }
}

/// The format of a file if none is stated: an export is recognized by its first bytes.
fn format(file: &Path, said: Option<Format>) -> anyhow::Result<Format> {
    let from_pipe = file == Path::new("-");
    match said {
        None if from_pipe || ExportFile::recognizes(file)? => Ok(Format::Memory),
        None => Err(Usage(format!("{} is not an export: state its format with --format", file.display())).into()),
        Some(Format::Eval | Format::Jsonl) if from_pipe => {
            Err(Usage("only an export is read from standard input".to_owned()).into())
        }
        Some(format) => Ok(format),
    }
}

fn read_eval(file: &Path, args: &Args) -> anyhow::Result<Vec<ImportedConversation>> {
    if args.conversation.is_some() {
        return Err(Usage("an eval file names its conversations: leave --conversation out".to_owned()).into());
    }
    Ok(eval::read(file)?)
}

fn read_jsonl(file: &Path, args: &Args) -> anyhow::Result<ImportedConversation> {
    let id = match &args.conversation {
        Some(id) => id.clone(),
        None => {
            let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            let named = |error| Usage(format!("{error}: name the conversation by --conversation"));
            ConversationId::new(&stem).map_err(named)?
        }
    };
    Ok(ImportedConversation { id, messages: jsonl::read(file)? })
}

/// Appends, compacts and indexes one conversation.
pub(super) async fn import(
    memory: &Memory,
    imported: ImportedConversation,
    embed: bool,
    output: Output,
) -> anyhow::Result<Imported> {
    let ImportedConversation { id, messages } = imported;
    let conversation = memory.conversation(id.clone());
    let read = messages.len();
    let mut new = 0;
    let mut started = Instant::now();
    let mut lap = || std::mem::replace(&mut started, Instant::now()).elapsed();
    let bar = output.bar("appending");
    let mut batches = with_times(messages).into_iter().peekable();
    let mut done = 0;
    while batches.peek().is_some() {
        let batch: Vec<_> = batches.by_ref().take(BATCH).collect();
        let size = batch.len();
        let appended = conversation.append_batch(batch).await;
        // Batches before this one are on disk; importing again does not double messages with keys.
        let appended = appended.with_context(|| format!("`{id}` took {done} of {read} messages and no more"))?;
        done += size;
        new += appended.iter().filter(|appended| appended.is_new).count();
        bar.report(done as u64, read as u64);
    }
    bar.finish();
    let append = lap();
    let bar = output.bar("compacting");
    let mut news = Vec::new();
    // The messages are stored; summaries can be written later, by the next context at the latest.
    match conversation.compact(&bar).await {
        Ok(report) if report.is_left_to_another => {
            let why = "background work on the store is being done elsewhere".to_owned();
            news.push(News::NotCompacted { why });
        }
        Ok(_) => {}
        Err(error) => news.push(News::NotCompacted { why: error.to_string() }),
    }
    bar.finish();
    let compact = lap();
    if embed {
        let bar = output.bar("embedding");
        news.extend(news::of(conversation.index(&bar).await?.notices));
        bar.finish();
    }
    let index = lap();
    let stats = conversation.stats().await?;
    Ok(Imported { id, read, new, stats, append, compact, index, news })
}

/// A message without a time gets that of the message before it. Before the first known time it gets the unknown time:
/// no time is invented.
pub(super) fn with_times(messages: Vec<(Message, Option<Timestamp>)>) -> Vec<(Message, Timestamp)> {
    let mut last = Timestamp::default();
    let time = |(message, at): (Message, Option<Timestamp>)| {
        last = at.unwrap_or(last);
        (message, last)
    };
    messages.into_iter().map(time).collect()
}

fn print(output: Output, all: &[Imported], restored: &[Restored]) -> anyhow::Result<()> {
    let mut news: Vec<_> = all.iter().flat_map(|imported| imported.news.clone()).collect();
    news.extend(restored.iter().flat_map(|restored| restored.news.clone()));
    news.dedup();
    if output.json {
        let rows: Vec<_> = all
            .iter()
            .map(|i| {
                json!({"conversation": i.id.as_str(), "read": i.read, "new": i.new, "nodes": i.stats.nodes,
                            "tokens": i.stats.tokens, "view_tokens": i.stats.view_tokens,
                            "append_seconds": decimal(i.append.as_secs_f64()),
                            "compact_seconds": decimal(i.compact.as_secs_f64()),
                            "index_seconds": decimal(i.index.as_secs_f64())})
            })
            .chain(restored.iter().map(exported::to_json))
            .collect();
        let (notices, codes) = (news::sentences(&news), news::codes(&news));
        return Ok(output.value(&json!({"conversations": rows, "notices": notices, "notice_codes": codes}))?);
    }
    news::print(output, &news);
    restored.iter().try_for_each(|restored| exported::print(output, restored))?;
    if all.is_empty() {
        return Ok(());
    }
    let seconds = |time: Duration| format!("{:.2}", time.as_secs_f64());
    let rows = all.iter().map(|i| {
        [
            i.id.to_string(),
            grouped(i.read as u64),
            grouped(i.new as u64),
            grouped(i.stats.tokens),
            grouped(i.stats.view_tokens),
            seconds(i.append),
            seconds(i.compact),
            seconds(i.index),
        ]
    });
    let header = ["conversation", "read", "new", "tokens", "view", "append s", "compact s", "embed s"];
    output.table(header, rows)?;
    let read: usize = all.iter().map(|i| i.read).sum();
    let without: Duration = all.iter().map(|i| i.append + i.compact).sum();
    let with: Duration = without + all.iter().map(|i| i.index).sum::<Duration>();
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
    output.note(&format!(
        "{} messages read, {}/s without embedding, {}/s with it",
        grouped(read as u64),
        rate(without),
        rate(with)
    ));
    Ok(())
}
