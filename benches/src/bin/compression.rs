//! `compression [--data DIR]...`: compresses segments with all options and prints size and time of a read, as Markdown.

use std::{env, path::PathBuf};

use anyhow::Result;
use clap::Parser;
use memory_benches::sweep;

/// Compresses segments with all options: size against the time of a read.
#[derive(Parser)]
struct Args {
    /// A directory with `conversations.jsonl`; may be repeated. All its conversations are stored in one segment.
    #[arg(long)]
    data: Vec<PathBuf>,
    /// Where to make the stores; by default the system's directory for temporary files.
    #[arg(long)]
    scratch: Option<PathBuf>,
}

fn main() -> Result<()> {
    let Args { data, scratch } = Args::parse();
    for sweep in sweep(&scratch.unwrap_or_else(env::temp_dir), &data)? {
        println!("{sweep}");
    }
    Ok(())
}
