//! `figures list` names the groups that are built; `figures GROUP --json FILE` measures one and writes its figures.

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
    /// Prints the groups that are built, one a line.
    List,
    /// What appending and reading records costs.
    Log(Measured),
    /// Appends to a store for every line that is read; the group `log` runs it.
    #[command(hide = true)]
    Append {
        /// The store.
        store: Appender,
        /// Bytes of a record's text.
        bytes: usize,
        /// Where to make it.
        directory: PathBuf,
    },
    /// What finding the nearest vectors costs.
    Vectors(Measured),
    /// What embedding texts costs.
    Embed(Measured),
    /// What searching costs, and how much of the evidence is packed.
    Retrieval(Measured),
    /// Asks a conversation one question and prints how long that took; the group `retrieval` runs it.
    #[command(hide = true)]
    ColdSearch {
        /// The store.
        store: PathBuf,
        /// The conversation.
        conversation: String,
        /// The question.
        question: String,
    },
    /// Prints the memory of a process that embeds; the group `embed` runs it.
    #[command(hide = true)]
    Resident,
    /// What calling strategies behind the plugin interface costs.
    Plugins(Measured),
    /// Loads one plugin and prints how long it took; the group `plugins` runs it.
    #[command(hide = true)]
    LoadPlugin {
        /// The library.
        library: PathBuf,
    },
    /// What views and compaction cost.
    Views(Measured),
}

#[derive(clap::Args)]
struct Measured {
    /// Where to write the figures.
    #[arg(long)]
    json: PathBuf,
    /// Where to make the stores that are measured, on a disk rather than in memory; by default the system's directory
    /// for temporary files.
    #[arg(long)]
    scratch: Option<PathBuf>,
    /// The directory whose subdirectories hold evaluation data; without it, vectors are made up.
    #[arg(long)]
    eval: Option<PathBuf>,
    /// Where to draw the curves of a group that has any, as SVG.
    #[arg(long)]
    plot: Option<PathBuf>,
}

fn main() -> Result<()> {
    match Args::parse().command {
        Command::List => Group::ALL.iter().for_each(|group| println!("{}", group.name())),
        Command::Log(measured) => measure(Group::Log, &measured)?,
        Command::Append { store, bytes, directory } => memory_benches::serve_appends(store, bytes, &directory)?,
        Command::Vectors(measured) => measure(Group::Vectors, &measured)?,
        Command::Embed(measured) => measure(Group::Embed, &measured)?,
        Command::Retrieval(measured) => measure(Group::Retrieval, &measured)?,
        Command::ColdSearch { store, conversation, question } => {
            memory_benches::print_cold_search(&store, &conversation, &question)?;
        }
        Command::Resident => memory_benches::print_resident()?,
        Command::Plugins(measured) => measure(Group::Plugins, &measured)?,
        Command::LoadPlugin { library } => memory_benches::print_load(&library)?,
        Command::Views(measured) => measure(Group::Views, &measured)?,
    }
    Ok(())
}

fn measure(group: Group, Measured { json, scratch, eval, plot }: &Measured) -> Result<()> {
    let scratch = match scratch {
        Some(parent) => tempfile::tempdir_in(parent),
        None => tempfile::tempdir(),
    };
    let scratch = scratch.context("making a directory for the stores")?;
    let report = group.report(scratch.path(), &Inputs { eval: eval.clone(), plot: plot.clone() })?;
    write(json, &serde_json::to_string_pretty(&report)?)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}
