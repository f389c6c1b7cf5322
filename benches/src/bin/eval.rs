//! `eval --data DIR --run FILE [--budget N|tenth]`: runs retrieval on a data directory and writes the run file.

use std::{env, path::PathBuf};

use anyhow::{Context, Result};
use clap::Parser;
use memory_benches::{Budget, EvalOptions, EvalParts, evaluate};
use memory_cli::{Access, Config};

/// Runs retrieval on evaluation data and writes a run file for the scorer.
#[derive(Parser)]
struct Args {
    /// Directory with `conversations.jsonl` and `queries.jsonl`.
    #[arg(long)]
    data: PathBuf,
    /// The run file to write.
    #[arg(long)]
    run: PathBuf,
    /// Tokens that the packed messages may cost, or `tenth` for a tenth of each conversation; without it nothing is
    /// packed.
    #[arg(long)]
    budget: Option<Budget>,
}

fn main() -> Result<()> {
    let Args { data, run, budget } = Args::parse();
    let demand_model = env::var("CI").is_ok_and(|ci| ci == "true");
    let directory = tempfile::tempdir().context("making a directory for the store")?;
    let runtime = memory_cli::open(&Config::new(directory.path().join("store"), Access::Write))?;
    let parts = EvalParts {
        store: runtime.store.clone(),
        retriever: runtime.retriever.clone(),
        counter: runtime.memory.token_counter().clone(),
    };
    pollster::block_on(evaluate(&parts, &EvalOptions { data, run, budget, demand_model }))
}
