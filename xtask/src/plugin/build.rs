//! Tests a plugin's crate, builds it for release and copies the library to the plugin directory.

use std::env::consts::DLL_EXTENSION;
use std::fs;
use std::path::{Path, PathBuf, absolute};

use anyhow::{Context, Result};
use cargo_metadata::Message;

use crate::invocation::Invocation;
use crate::workspace::Workspace;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The plugin's crate.
    directory: PathBuf,
    /// The directory to copy the library to, created if it is missing.
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
}

pub(super) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let directory =
        fs::canonicalize(&args.directory).with_context(|| format!("no crate {}", args.directory.display()))?;
    let manifest = directory.join("Cargo.toml");
    // All plugins share a directory, so that their dependencies are compiled once.
    let target = workspace.target().join("plugin-crates");
    cargo(workspace, "test", &manifest, &target).run()?;
    let built = cargo(workspace, "build", &manifest, &target).args(["--message-format", "json"]).capture()?;
    let library = library(&built, &manifest).with_context(|| format!("{} builds no cdylib", directory.display()))?;
    let name = library.file_name().context("the library has no name")?;
    let into = absolute(&args.into)?;
    fs::create_dir_all(&into).with_context(|| format!("making {}", into.display()))?;
    let place = into.join(name);
    // Atomically: a host that starts in the meantime sees the old file or the new one, and a running host keeps its
    // own.
    let partial = place.with_extension("partial");
    fs::copy(&library, &partial)
        .and_then(|_| fs::rename(&partial, &place))
        .with_context(|| format!("copying {} to {}", library.display(), into.display()))?;
    println!("{}", place.display());
    Ok(())
}

fn cargo(workspace: &Workspace, command: &str, manifest: &Path, target: &Path) -> Invocation {
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
