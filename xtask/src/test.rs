//! Builds, fetches the test models, then runs tidy, the tests and the doctests.

use anyhow::{Result, ensure};

use crate::invocation::{Invocation, Stream};
use crate::{steps::Steps, tally::Tally, tidy, workspace::Workspace};

/// The models of the tests: the default one, and the one of many languages, which is another 91 MB.
const MODELS: [&str; 2] = ["all-MiniLM-L6-v2", "multilingual-e5-small"];

const ALL_BUT_XTASK: [&str; 3] = ["--workspace", "--exclude", "xtask"];

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut steps = Steps::start();
    steps.run("tidy", || tidy::run(workspace))?;
    let tally = run_tests(workspace, &mut steps)?;
    println!("{}", steps.summary());
    println!("test: {tally}");
    Ok(())
}

/// Runs the tests and doctests, without tidy.
///
/// xtask is tested in a separate build: it depends on crates that procedural macros also use, and a common build would
/// unify their features and recompile everything.
///
/// The dev binary fetches the models. This build has the same packages, profile and features as the test runs, so that
/// nothing is compiled twice; `setup` would add a release build of the whole tree, which no test runs. It also puts the
/// plugin libraries where the host's tests load them.
pub(crate) fn run_tests(workspace: &Workspace, steps: &mut Steps) -> Result<Tally> {
    // The tests of xtask come first, because they take seconds: they need only the build that runs now.
    let tests = steps.run("xtask", || unit_and_integration(workspace, &["-p", "xtask"]))?;
    steps.run("build", || {
        Invocation::cargo(workspace, "build")
            .args(["build", "--locked"])
            .args(ALL_BUT_XTASK)
            .args(["--lib", "--bins", "--tests", "--examples"])
            .run()
    })?;
    steps.run("model", || {
        let fetch = |model| {
            let memory = workspace.memory_binary("debug");
            Invocation::program(workspace, "model", memory).args(["model", "fetch", model]).run()
        };
        MODELS.into_iter().try_for_each(fetch)
    })?;
    let tests = tests.and(steps.run("tests", || unit_and_integration(workspace, &ALL_BUT_XTASK))?);
    let doctests = steps.run("doctests", || doctests(workspace))?;
    Ok(tests.and(doctests))
}

fn unit_and_integration(workspace: &Workspace, packages: &[&str]) -> Result<Tally> {
    let mut tally = Tally::default();
    let cargo = Invocation::cargo(workspace, "tests");
    if has_nextest(workspace) {
        // Nextest reports on standard error.
        cargo
            .args(["nextest", "run", "--locked"])
            .args(packages)
            .args(["--color", "never"])
            .watch(Stream::Stderr, |line| tally.read(line))?;
    } else {
        cargo
            // Includes the unit tests of libraries and binaries.
            .args(["test", "--locked", "--tests"])
            .args(packages)
            .watch(Stream::Stdout, |line| tally.read(line))?;
    }
    ensure!(tally.passed > 0, "the test runner counted no test");
    Ok(tally)
}

fn has_nextest(workspace: &Workspace) -> bool {
    Invocation::cargo(workspace, "tests").args(["nextest", "--version"]).succeeds()
}

fn doctests(workspace: &Workspace) -> Result<Tally> {
    let mut tally = Tally::default();
    Invocation::cargo(workspace, "doctests")
        .args(["test", "--doc", "--locked"])
        .args(ALL_BUT_XTASK)
        .watch(Stream::Stdout, |line| tally.read(line))?;
    Ok(tally)
}
