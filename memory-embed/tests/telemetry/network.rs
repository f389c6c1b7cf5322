//! Runs a program without a network and with an empty home, and reports its network calls and its files.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which the lints do not know as tests")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

/// An empty home, and a preloaded library that logs each look-up and connection.
pub(crate) struct Watch {
    directory: TempDir,
    shim: PathBuf,
}

impl Watch {
    /// Compiles the library with the C compiler that the workspace needs anyway.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let shim = directory.path().join("shim.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../memory-embed/tests/telemetry/shim.c");
        let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&shim).arg(source).arg("-ldl").output();
        let compiled = compiled.unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        for name in ["home", "tmp", "here"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        Self { directory, shim }
    }

    /// Sets `command` up to run in the empty home with an otherwise empty environment: ONNX Runtime sends no telemetry
    /// if the environment names a CI system.
    pub(crate) fn over<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        command
            .env_clear()
            .current_dir(self.path("here"))
            .env("PATH", path)
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("NETWORK_LOG", self.path("network.log"))
            .env("LD_PRELOAD", &self.shim)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The logged network calls.
    pub(crate) fn asked(&self) -> Vec<String> {
        let log = fs::read_to_string(self.path("network.log")).unwrap_or_default();
        assert!(log.contains("watched"), "the program ran without the library before it");
        log.lines().filter(|line| line.trim() != "watched").map(str::to_owned).collect()
    }

    /// Files in the home, the temporary and the current directory, by their relative paths.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        for name in ["home", "tmp", "here"] {
            let top = self.path(name);
            list(&top, &mut files);
        }
        let inner = |path: PathBuf| path.strip_prefix(self.directory.path()).unwrap().to_str().unwrap().to_owned();
        files.into_iter().map(inner).collect()
    }
}

fn list(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() { list(&path, files) } else { files.push(path) }
    }
}
