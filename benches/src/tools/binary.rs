//! The `memory` binary, called as users and agents call it.

use std::{
    env,
    env::consts::EXE_SUFFIX,
    ffi::OsStr,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use anyhow::{Context as _, Result, ensure};

/// The binary.
#[derive(Clone, Debug)]
pub(super) struct Binary(PathBuf);

/// The binary and a store.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    binary: PathBuf,
    store: PathBuf,
}

impl Binary {
    /// At `path`, or beside the binary that runs.
    pub(super) fn find(path: Option<&Path>) -> Result<Self> {
        let own = env::current_exe()?;
        let path = path.map_or_else(|| own.with_file_name(format!("memory{EXE_SUFFIX}")), Path::to_owned);
        ensure!(path.is_file(), "no binary at {}: cargo build --release -p memory-cli --bin memory", path.display());
        Ok(Self(path))
    }

    /// Called with a store.
    pub(super) fn with_store(&self, store: &Path) -> Memory {
        Memory { binary: self.0.clone(), store: store.to_owned() }
    }
}

impl Memory {
    /// A call with these arguments, and nothing of the caller's settings.
    pub(super) fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(&self.binary);
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("MEMORY_")) {
            command.env_remove(name);
        }
        command.env("MEMORY_CONFIG", "none").arg("--store").arg(&self.store).args(args);
        command
    }

    /// Its output for an input, when it has ended.
    pub(super) fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>, input: &[u8]) -> Result<Output> {
        let piped = Stdio::piped;
        let mut child = self.command(args).stdin(piped()).stdout(piped()).stderr(piped()).spawn()?;
        child.stdin.take().context("no standard input")?.write_all(input)?;
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
        Ok(output)
    }
}
