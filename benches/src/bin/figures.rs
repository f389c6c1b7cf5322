//! `figures list` prints the names of the groups; `figures measure GROUP --json FILE` writes the figures of one.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};
use clap::{Parser, Subcommand, ValueEnum};
use memory_benches::{Group, Inputs, Task};

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
    /// Measures one group.
    Measure {
        /// The group.
        group: Group,
        /// Where to write the figures.
        #[arg(long)]
        json: PathBuf,
        /// Where to make the stores that are measured, which should be on a disk rather than in memory; by default the
        /// system's directory for temporary files.
        #[arg(long)]
        scratch: Option<PathBuf>,
        #[command(flatten)]
        inputs: Inputs,
    },
    #[command(flatten)]
    Task(Task),
}

fn main() -> Result<()> {
    match Args::parse().command {
        Command::List => Group::value_variants().iter().for_each(|group| println!("{}", group.name())),
        Command::Measure { group, json, scratch, inputs } => {
            let scratch = scratch.map_or_else(tempfile::tempdir, tempfile::tempdir_in);
            let scratch = scratch.context("making a directory for the stores")?;
            let report = serde_json::to_string_pretty(&group.report(scratch.path(), &inputs)?)?;
            fs::write(&json, report).with_context(|| format!("writing {}", json.display()))?;
        }
        Command::Task(task) => task.run()?,
    }
    Ok(())
}
