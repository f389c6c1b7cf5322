//! `figures list` prints the names of the groups; `figures GROUP --json FILE` measures one and writes its figures.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use memory_benches::{Appender, Group, Inputs};

/// Measures the figures that have bars in `figures.toml`.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Prints the names of the groups, one a line.
    List,
    /// The cost of appending and reading records.
    Log(Measured),
    /// Appends to a store once for every line that is read; the group `log` runs it.
    #[command(hide = true)]
    Append {
        /// The store.
        store: Appender,
        /// Bytes of a record's text.
        bytes: usize,
        /// Where to create it.
        directory: PathBuf,
    },
    /// The cost of finding the nearest vectors.
    Vectors(Measured),
    /// The cost of embedding texts.
    Embed(Measured),
    /// The cost of searching, and how much of the evidence is packed.
    Retrieval(Measured),
    /// Asks one question and prints how long that took; the group `retrieval` runs it.
    #[command(hide = true)]
    ColdSearch {
        /// The store.
        store: PathBuf,
        /// The question.
        question: String,
        /// The conversation; all by default.
        conversation: Option<String>,
        /// By words, without a model.
        #[arg(long)]
        by_words: bool,
    },
    /// Prints what searches by words take over so many made-up conversations of 100 messages: 10000 are a million.
    Many {
        /// Conversations.
        conversations: u32,
        /// Where to keep their store for the next run.
        #[arg(long, default_value = "target/bench-stores")]
        kept: PathBuf,
    },
    /// Searches all conversations for each line that is read; the group `retrieval` runs it.
    #[command(hide = true)]
    ServeSearches {
        /// The store.
        store: PathBuf,
        /// By words, without a model.
        #[arg(long)]
        by_words: bool,
    },
    /// Prints the memory of a process that embeds; the group `embed` runs it.
    #[command(hide = true)]
    Resident,
    /// Prints what a message of 5 MB takes in memory; the group `embed` runs it.
    #[command(hide = true)]
    LargestMessage {
        /// Where to make its store.
        store: PathBuf,
    },
    /// The cost of calling strategies behind the plugin interface.
    Plugins(Measured),
    /// Loads one plugin and prints how long it took; the group `plugins` runs it.
    #[command(hide = true)]
    LoadPlugin {
        /// The library.
        library: PathBuf,
    },
    /// The cost of views and compaction.
    Views(Measured),
    /// What programs wait for that use the memory through its binary.
    Tools(Measured),
    /// The memory of a process that runs for long.
    Soak(Measured),
}

#[derive(clap::Args)]
struct Measured {
    /// Where to write the figures.
    #[arg(long)]
    json: PathBuf,
    /// Where to make the stores that are measured, which should be on a disk rather than in memory; by default the
    /// system's directory for temporary files.
    #[arg(long)]
    scratch: Option<PathBuf>,
    /// The directory whose subdirectories hold evaluation data; without it, vectors are generated.
    #[arg(long)]
    eval: Option<PathBuf>,
    /// Where to draw the curves of a group as SVG, if it has any.
    #[arg(long)]
    plot: Option<PathBuf>,
    /// Where to keep stores that take minutes to make for the next run; by default they are not kept.
    #[arg(long)]
    kept: Option<PathBuf>,
    /// A tenth of the traffic of the groups `views`, `tools` and `soak`.
    #[arg(long)]
    short: bool,
    /// The `memory` binary that the group `tools` calls, built for release; by default the one beside this one.
    #[arg(long)]
    memory: Option<PathBuf>,
}

fn main() -> Result<()> {
    match Args::parse().command {
        Command::List => Group::ALL.iter().for_each(|group| println!("{}", group.name())),
        Command::Log(measured) => measure(Group::Log, &measured)?,
        Command::Append { store, bytes, directory } => memory_benches::serve_appends(store, bytes, &directory)?,
        Command::Vectors(measured) => measure(Group::Vectors, &measured)?,
        Command::Embed(measured) => measure(Group::Embed, &measured)?,
        Command::Retrieval(measured) => measure(Group::Retrieval, &measured)?,
        Command::ColdSearch { store, question, conversation, by_words } => {
            memory_benches::print_cold_search(&store, &question, conversation.as_deref(), by_words)?;
        }
        Command::Many { conversations, kept } => {
            for figure in memory_benches::measure_by_words(&kept, conversations)? {
                println!("{}: {:.1} {} ({})", figure.key, figure.value, figure.unit, figure.note);
            }
        }
        Command::ServeSearches { store, by_words } => memory_benches::serve_searches(&store, by_words)?,
        Command::Resident => memory_benches::print_resident()?,
        Command::LargestMessage { store } => memory_benches::print_largest(&store)?,
        Command::Plugins(measured) => measure(Group::Plugins, &measured)?,
        Command::LoadPlugin { library } => memory_benches::print_load(&library)?,
        Command::Views(measured) => measure(Group::Views, &measured)?,
        Command::Tools(measured) => measure(Group::Tools, &measured)?,
        Command::Soak(measured) => measure(Group::Soak, &measured)?,
    }
    Ok(())
}

fn measure(group: Group, Measured { json, scratch, eval, plot, kept, short, memory }: &Measured) -> Result<()> {
    let scratch = match scratch {
        Some(parent) => tempfile::tempdir_in(parent),
        None => tempfile::tempdir(),
    };
    let scratch = scratch.context("making a directory for the stores")?;
    let report = group.report(
        scratch.path(),
        &Inputs { eval: eval.clone(), plot: plot.clone(), kept: kept.clone(), short: *short, memory: memory.clone() },
    )?;
    write(json, &serde_json::to_string_pretty(&report)?)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}
