//! `ci`, then the long tests of the log, and the checks that need a tool the build machine may lack.

use anyhow::Result;

use crate::{ci, conformance, invocation::Invocation, python, steps::Steps, strands, workspace::Workspace};

/// Pinned because deny.toml is written in this version's format.
const CARGO_DENY: &str = "cargo-deny@0.20.2";
/// Pinned so that no release of the tool changes the check.
const CARGO_HACK: &str = "cargo-hack@0.6.44";

/// The fuzz targets, which only a nightly toolchain runs.
pub(crate) const FUZZ_MANIFEST: &str = "memory-store/fuzz/Cargo.toml";

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    ci::run(workspace, &ci::Args::all())?;
    let mut steps = Steps::start();
    steps.run("every feature", || every_feature(workspace))?;
    steps.run("package", || package(workspace))?;
    steps.run("log", || log(workspace))?;
    steps.run("mpnet", || mpnet(workspace))?;
    steps.run("fuzz", || fuzz(workspace))?;
    steps.run("strands", || strands::run(workspace))?;
    steps.run("adapters", || python::adapters(workspace))?;
    steps.run("agent trial", || python::agent_trial(workspace, 300))?;
    steps.run("importers", || python::importers(workspace))?;
    steps.run("erasure", || python::erasure(workspace))?;
    steps.run("conformance", || conformance::run(workspace))?;
    steps.run("deny", || deny(workspace))?;
    println!("nightly: all well, {}", steps.summary());
    Ok(())
}

/// Compiles each library without features, with each of them alone, by default, and with all.
fn every_feature(workspace: &Workspace) -> Result<()> {
    install(workspace, "hack", CARGO_HACK)?;
    let libraries = workspace.libraries();
    let names = libraries.iter().flat_map(|library| ["-p", library.name.as_str()]);
    Invocation::cargo(workspace, "every feature")
        .args(["hack", "check", "--locked", "--each-feature"])
        .args(names)
        .run()
}

/// Packages the libraries as for a registry, and builds each from its package.
fn package(workspace: &Workspace) -> Result<()> {
    let names = workspace.libraries().into_iter().flat_map(|library| ["-p", library.name.as_str()]);
    // A nightly run may check a tree before it is committed.
    Invocation::cargo(workspace, "package").args(["package", "--locked", "--allow-dirty"]).args(names).run()
}

/// The tests of the log that run a bounded number of rounds in `ci`, here with all rounds.
fn log(workspace: &Workspace) -> Result<()> {
    const TESTS: [&str; 2] = ["processes", "fuzz_smoke"];
    let whole = || {
        Invocation::cargo(workspace, "log")
            .env("MEMORY_CRASH_ROUNDS", "200")
            .env("MEMORY_WRECK_ROUNDS", "10000")
            .env("MEMORY_SOAK_SECONDS", "30")
            .env("MEMORY_FUZZ_MUTATIONS", "5000")
            .args(["test", "--locked", "-p", "memory-store"])
    };
    TESTS.iter().try_for_each(|test| whole().args(["--test", test]).run())?;
    whole().args(["--lib", "--", "wrecked_at_random"]).run()
}

/// The test of a model that `setup` does not fetch, since it takes 438 MB.
fn mpnet(workspace: &Workspace) -> Result<()> {
    let memory = workspace.memory_binary("debug");
    Invocation::program(workspace, "mpnet", memory).args(["model", "fetch", "all-mpnet-base-v2"]).run()?;
    Invocation::cargo(workspace, "mpnet")
        .env("MEMORY_DEMAND_MPNET", "1")
        .args(["test", "--locked", "-p", "memory-embed", "--test", "real_model", "nightly_both_graphs_of_mpnet"])
        .run()
}

/// Checks that the fuzz targets still build; running one needs a nightly toolchain and cargo-fuzz.
fn fuzz(workspace: &Workspace) -> Result<()> {
    let target = workspace.root().join("target").join("fuzz");
    Invocation::cargo(workspace, "fuzz")
        .args(["check", "--locked", "--manifest-path", FUZZ_MANIFEST, "--target-dir"])
        .args([target])
        .run()
}

/// Installs a missing subcommand of cargo.
fn install(workspace: &Workspace, command: &str, package: &str) -> Result<()> {
    if Invocation::cargo(workspace, "install").args([command, "--version"]).succeeds() {
        return Ok(());
    }
    Invocation::cargo(workspace, "install").args(["install", "--locked", package]).run()
}

/// Runs cargo-deny offline and without advisories, since their database is not available on the build machines.
fn deny(workspace: &Workspace) -> Result<()> {
    install(workspace, "deny", CARGO_DENY)?;
    // Packages for other platforms are checked too, and no build has fetched those.
    Invocation::cargo(workspace, "deny").args(["fetch", "--locked"]).run()?;
    Invocation::cargo(workspace, "deny")
        .args(["deny", "--locked", "--offline", "check"])
        .args(["bans", "licenses", "sources"])
        .run()
}
