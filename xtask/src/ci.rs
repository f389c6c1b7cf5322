//! Every check that must pass before a change lands; no check is defined anywhere else.

mod dependencies;
mod outside;

use anyhow::Result;

use crate::{invocation::Invocation, nightly, steps::Steps, test, tidy, workspace::Workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the checks that compile nothing, for a caller that lints and builds with `cargo xtask test`.
    #[arg(long)]
    quick: bool,
}

impl Args {
    /// Runs all checks.
    pub(crate) fn all() -> Self {
        Self { quick: false }
    }
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let mut steps = Steps::start();
    steps.run("fmt", || fmt(workspace))?;
    steps.run("tidy", || tidy::run(workspace))?;
    steps.run("lock", || lock(workspace))?;
    steps.run("dependencies", || dependencies::run(workspace))?;
    if args.quick {
        println!("ci: all well, {}; only what compiles nothing", steps.summary());
        return Ok(());
    }
    steps.run("clippy", || clippy(workspace))?;
    steps.run("features", || dependencies::compile(workspace))?;
    steps.run("rustdoc", || rustdoc(workspace))?;
    steps.run("outside", || outside::run(workspace))?;
    let tally = test::run_tests(workspace, &mut steps)?;
    println!("ci: all well, {}; tests {tally}", steps.summary());
    Ok(())
}

fn fmt(workspace: &Workspace) -> Result<()> {
    Invocation::cargo(workspace, "fmt").args(["fmt", "--all", "--check"]).run()
}

/// Checks that the lock file of the fuzz targets, which are outside of the workspace, still lists all their
/// dependencies. No other check here builds them.
fn lock(workspace: &Workspace) -> Result<()> {
    Invocation::cargo(workspace, "lock")
        .args(["update", "--workspace", "--locked", "--quiet", "--manifest-path", nightly::FUZZ_MANIFEST])
        .run()
}

fn clippy(workspace: &Workspace) -> Result<()> {
    Invocation::cargo(workspace, "clippy")
        .args(["clippy", "--workspace", "--all-targets", "--locked"])
        .args(["--", "-D", "warnings"])
        .run()
}

fn rustdoc(workspace: &Workspace) -> Result<()> {
    Invocation::cargo(workspace, "rustdoc")
        .args(["doc", "--no-deps", "--workspace", "--locked"])
        .env("RUSTDOCFLAGS", "-D warnings")
        .run()
}
