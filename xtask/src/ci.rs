//! Every check that must pass before a change lands; no check is defined anywhere else.

mod features;
mod outside;

use anyhow::Result;

use crate::{invocation::Invocation, nightly, steps::Steps, tally::Tally, test, tidy, workspace::Workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Leave out the build, the tests and the doctests, for a caller that runs `cargo xtask test` itself.
    #[arg(long)]
    skip_test: bool,
}

impl Args {
    /// Runs all checks.
    pub(crate) fn all() -> Self {
        Self { skip_test: false }
    }
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let mut steps = Steps::start();
    steps.run("fmt", || fmt(workspace))?;
    steps.run("tidy", || tidy::run(workspace))?;
    steps.run("lock", || lock(workspace))?;
    steps.run("clippy", || clippy(workspace))?;
    steps.run("features", || features::run(workspace))?;
    steps.run("rustdoc", || rustdoc(workspace))?;
    steps.run("outside", || outside::run(workspace))?;
    let tally = if args.skip_test { None } else { Some(test::run_tests(workspace, &mut steps)?) };
    println!("{}", summary(&steps, tally));
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

fn summary(steps: &Steps, tally: Option<Tally>) -> String {
    match tally {
        Some(tally) => format!("ci: all well, {}; tests {tally}", steps.summary()),
        None => format!("ci: all well, {}; tests left out", steps.summary()),
    }
}
