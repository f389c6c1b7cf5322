//! `ci`, then the checks that need a tool the build machine may lack.

use anyhow::Result;

use crate::ci;
use crate::invocation::Invocation;
use crate::steps::Steps;
use crate::workspace::Workspace;

/// Pinned because deny.toml is written in this version's format.
const CARGO_DENY: &str = "cargo-deny@0.20.2";

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    ci::run(workspace, &ci::Args::all())?;
    let mut steps = Steps::start();
    steps.run("cargo-deny", || install_deny(workspace))?;
    steps.run("deny", || deny(workspace))?;
    println!("nightly: all well, {}", steps.summary());
    Ok(())
}

fn install_deny(workspace: &Workspace) -> Result<()> {
    let present = Invocation::cargo(workspace, "cargo-deny").args(["deny", "--version"]).succeeds();
    if present {
        return Ok(());
    }
    Invocation::cargo(workspace, "cargo-deny").args(["install", "--locked", CARGO_DENY]).run()
}

/// Offline, so without advisories: their database cannot be had on the build machines.
fn deny(workspace: &Workspace) -> Result<()> {
    // Packages of other platforms count too, and no build has fetched those.
    Invocation::cargo(workspace, "deny").args(["fetch", "--locked"]).run()?;
    Invocation::cargo(workspace, "deny")
        .args(["deny", "--locked", "--offline", "check"])
        .args(["bans", "licenses", "sources"])
        .run()
}
