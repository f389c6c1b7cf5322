//! Strategy plugins in crates of their own: `plugin new`, `plugin build`, `plugin check`.

mod new;

use std::env::consts::DLL_EXTENSION;
use std::fs;
use std::path::{Path, PathBuf, absolute};

use anyhow::{Context, Result, ensure};
use cargo_metadata::Message;
use clap::Subcommand;

use crate::{invocation::Invocation, workspace::Workspace};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Write a complete plugin crate outside of this workspace.
    New(new::Args),
    /// Test such a crate, build it for release and copy the library to the plugin directory.
    Build(BuildArgs),
    /// Run a plugin's library against the contract of its kind.
    Check(CheckArgs),
}

pub(crate) fn run(workspace: &Workspace, command: &Command) -> Result<()> {
    match command {
        Command::New(args) => new::run(workspace, args),
        Command::Build(args) => build(workspace, args),
        Command::Check(args) => check(workspace, args),
    }
}

#[derive(clap::Args)]
pub(crate) struct CheckArgs {
    /// The library.
    file: PathBuf,
    /// Its configuration, JSON text.
    #[arg(long, value_name = "JSON")]
    configuration: Option<String>,
}

fn check(workspace: &Workspace, args: &CheckArgs) -> Result<()> {
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
    workspace.build("build")?;
    Ok(workspace.memory_binary("debug"))
}

#[derive(clap::Args)]
pub(crate) struct BuildArgs {
    /// The plugin's crate.
    directory: PathBuf,
    /// The directory to copy the library to, created if it is missing.
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
}

fn build(workspace: &Workspace, args: &BuildArgs) -> Result<()> {
    let directory =
        fs::canonicalize(&args.directory).with_context(|| format!("no crate {}", args.directory.display()))?;
    let manifest = directory.join("Cargo.toml");
    // All plugins share a directory, so that their dependencies are compiled once.
    let target = workspace.target().join("plugin-crates");
    cargo_of(workspace, "test", &manifest, &target).run()?;
    let built = cargo_of(workspace, "build", &manifest, &target).args(["--message-format", "json"]).capture()?;
    let library = library(&built, &manifest).with_context(|| format!("{} builds no cdylib", directory.display()))?;
    let name = library.file_name().context("the library has no name")?;
    let into = absolute(&args.into)?;
    fs::create_dir_all(&into).with_context(|| format!("making {}", into.display()))?;
    let place = into.join(name);
    // The copy is atomic: a host that starts in the meantime sees the old file or the new one, and a running host keeps
    // its own.
    let partial = place.with_extension("partial");
    fs::copy(&library, &partial)
        .and_then(|_| fs::rename(&partial, &place))
        .with_context(|| format!("copying {} to {}", library.display(), into.display()))?;
    println!("{}", place.display());
    Ok(())
}

fn cargo_of(workspace: &Workspace, command: &str, manifest: &Path, target: &Path) -> Invocation {
    // Paths in panic messages are the same on every machine. Panics unwind, whatever the crate's profile states: the
    // host refuses a plugin whose panics cannot be caught.
    Invocation::cargo(workspace, "plugin")
        .args([command, "--release", "--offline", "--quiet"])
        .env("CARGO_PROFILE_RELEASE_PANIC", "unwind")
        .args(["--manifest-path"])
        .args([manifest])
        .args(["--target-dir"])
        .args([target])
}

/// The library that cargo reports for the crate with that manifest.
fn library(messages: &str, manifest: &Path) -> Option<PathBuf> {
    Message::parse_stream(messages.as_bytes())
        .filter_map(Result::ok)
        .filter_map(|message| match message {
            Message::CompilerArtifact(artifact) if artifact.manifest_path == manifest => Some(artifact.filenames),
            _ => None,
        })
        .flatten()
        .map(PathBuf::from)
        .find(|file| file.extension().is_some_and(|extension| extension == DLL_EXTENSION))
}
