//! Runs a plugin's library against the contract of its kind, with the `memory` binary.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::invocation::Invocation;
use crate::workspace::Workspace;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The library.
    file: PathBuf,
    /// Its configuration, JSON text.
    #[arg(long, value_name = "JSON")]
    configuration: Option<String>,
}

pub(super) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    ensure!(args.file.is_file(), "no library {}", args.file.display());
    let file = fs::canonicalize(&args.file)?;
    let memory = memory(workspace)?;
    let check = Invocation::program(workspace, "check", memory).args(["plugins", "check"]).args([file]);
    match &args.configuration {
        Some(configuration) => check.args(["--configuration"]).args([configuration]).run(),
        None => check.run(),
    }
}

/// The binary that was built last; builds it if there is none.
fn memory(workspace: &Workspace) -> Result<PathBuf> {
    let built = |profile| {
        let path = workspace.memory_binary(profile);
        let when = fs::metadata(&path).and_then(|metadata| metadata.modified()).ok()?;
        Some((when, path))
    };
    if let Some((_, newest)) = ["debug", "release"].into_iter().filter_map(built).max() {
        return Ok(newest);
    }
    Invocation::cargo(workspace, "build").args(["build", "--locked", "-p", "memory-cli"]).run()?;
    Ok(workspace.memory_binary("debug"))
}
