//! `memory watch`: follows transcripts of other programs while they are written.

use std::{
    cell::Cell,
    fs, io,
    path::PathBuf,
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::Duration,
};

use clap::Args as ClapArgs;
use memory_capture::{Capture, Captured, ChangedFile, TranscriptError, TranscriptPart, WatchedFiles, followed_format};
use memory_core::ConversationId;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Access, failure, globals::Globals, output::grouped, terminal::To};

/// Follows transcripts of Claude Code and Codex while they are written, and takes what is new into the store.
///
/// Watching goes on where it stood, and ends at Ctrl-C or SIGTERM. Summaries and embeddings are made later: `memory index`
/// embeds, the next `memory context` summarizes. With a chat model (--chat-model) summaries are written meanwhile.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Directories with transcripts, such as ~/.claude/projects, or single files. Links in directories are not followed
    #[arg(required = true, value_name = "DIR")]
    paths: Vec<PathBuf>,
    /// Take what is there, and end
    #[arg(long)]
    once: bool,
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    for path in &args.paths {
        // A missing directory is more often a typing error than one that will exist later.
        let file = fs::metadata(path).map_err(|source| TranscriptError::Io { path: path.clone(), source })?;
        // An empty file may still become a transcript.
        if file.is_file() && file.len() > 0 && followed_format(path).is_none() {
            let why = "is no transcript that can be followed, of claude-code or codex: `memory import` reads others";
            return Err(failure::Usage(format!("{} {why}", path.display())).into());
        }
    }
    let stop = Stop::listen()?;
    let config = globals.config(Access::Write)?;
    // A chat model writes summaries and backups are made in the background of an open memory; nothing is embedded.
    let memory = match config.asks_chat_model() || config.backup_directory.is_some() {
        true => Some(memory::Builder::of(config.clone().without_model()).open()?),
        false => None,
    };
    let capture = match &memory {
        Some(memory) => Capture::new(memory),
        None => Capture::open(config)?,
    };
    let mut files = WatchedFiles::new(&args.paths);
    loop {
        for changed in files.look() {
            if stop.is_asked() {
                break;
            }
            take(&capture, &mut files, &changed, args.once, globals).await?;
        }
        if let Some(memory) = memory.as_ref().filter(|_| args.once && !stop.is_asked()) {
            memory.catch_up().await?;
        }
        if args.once || stop.wait(Duration::from_secs(args.every)) {
            return Ok(());
        }
    }
}

/// A line for each conversation that grew.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Grown<'a> {
    /// Name of the conversation.
    conversation: &'a ConversationId,
    /// Number of messages that were appended.
    new: usize,
    /// Path of the file.
    path: String,
}

/// A line on standard error for each file that failed.
#[derive(Debug, Serialize, JsonSchema)]
struct Failed {
    /// Path of the file.
    path: String,
    /// Cause of the failure.
    error: String,
}

/// Captures the new part of a file. A failing file stops no other; it is tried again after a change.
async fn take(
    capture: &Capture,
    files: &mut WatchedFiles,
    changed: &ChangedFile,
    once: bool,
    globals: &Globals,
) -> anyhow::Result<()> {
    let part = if once { TranscriptPart::All } else { changed.part() };
    match capture.take(&changed.path, changed.format, part).await {
        Ok(captured) => {
            files.taken(changed, part);
            print(changed, &captured, globals)
        }
        Err(error) => {
            files.taken(changed, TranscriptPart::All);
            let error = anyhow::Error::new(error);
            let text = failure::in_a_line(&error);
            if globals.output.json {
                To::Errors.json_line(&Failed { path: changed.path.display().to_string(), error: text })?;
            } else {
                globals.output.note(&format!("{}: {text}", changed.path.display()));
            }
            // A file may be no transcript, but a store that takes no writes is a failure, which a later look may not
            // meet again.
            if once && !failure::is_of_transcript(&error) { Err(error) } else { Ok(()) }
        }
    }
}

fn print(changed: &ChangedFile, captured: &Captured, globals: &Globals) -> anyhow::Result<()> {
    for (id, new) in &captured.grown {
        if globals.output.json {
            let path = changed.path.display().to_string();
            To::Output.json_line(&Grown { conversation: id, new: *new, path })?;
        } else {
            let messages = if *new == 1 { "message" } else { "messages" };
            globals.output.line(&format!("{id}: {} new {messages}", grouped(*new as u64)))?;
        }
    }
    Ok(())
}

/// SIGINT and SIGTERM, caught from its creation on. Without these signals the system ends the program at once; the next
/// run continues from the recorded state.
struct Stop {
    signals: Receiver<()>,
    is_asked: Cell<bool>,
    /// Keeps the channel open, so that a wait lasts where there are no such signals.
    _sender: Sender<()>,
}

impl Stop {
    fn listen() -> io::Result<Self> {
        let (sender, signals) = channel();
        #[cfg(unix)]
        {
            use signal_hook::{
                consts::{SIGINT, SIGTERM},
                iterator::Signals,
            };

            let (mut caught, sender) = (Signals::new([SIGINT, SIGTERM])?, sender.clone());
            let forward = move || {
                for _ in caught.forever() {
                    // Without a receiver, the program is ending already.
                    if sender.send(()).is_err() {
                        return;
                    }
                }
            };
            thread::Builder::new().name("signals".to_owned()).spawn(forward)?;
        }
        Ok(Self { signals, is_asked: Cell::new(false), _sender: sender })
    }

    fn is_asked(&self) -> bool {
        self.wait(Duration::ZERO)
    }

    /// Waits at most `at_most`, or until the program must end. Returns true if it must.
    fn wait(&self, at_most: Duration) -> bool {
        let is_asked = self.is_asked.get() || self.signals.recv_timeout(at_most).is_ok();
        self.is_asked.set(is_asked);
        is_asked
    }
}
