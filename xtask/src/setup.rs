//! Builds the `memory` binary and lets it fetch what it needs at run time.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;

use crate::invocation::Invocation;
use crate::steps;
use crate::workspace::Workspace;

/// Builds the release binary, fetches its model, and returns the binary's path.
pub(crate) fn run(workspace: &Workspace) -> Result<PathBuf> {
    let started = Instant::now();
    Invocation::cargo(workspace, "setup").args(["build", "--release", "--locked", "-p", "memory-cli"]).run()?;
    let memory = workspace.memory_binary("release");
    Invocation::program(workspace, "setup", &memory).args(["model", "fetch"]).run()?;
    println!("setup: ready in {}", steps::shown(started.elapsed()));
    Ok(memory)
}
