//! A virtual environment under `target/` with the pinned package, and the package's sources for their tests.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::invocation::Invocation;
use crate::workspace::Workspace;

const PACKAGE: &str = "strands-agents==1.62.0";
/// The directory that the package's sources unpack to.
const SOURCES: &str = "strands_agents-1.62.0";
/// What its tests need.
const BESIDE: [&str; 4] = ["pytest<10", "pytest-asyncio<1.5", "moto", "pytest-timeout"];

/// Where the interpreter and the package's sources are.
pub(super) struct Environment {
    root: PathBuf,
    adapters: PathBuf,
    memory: PathBuf,
}

impl Environment {
    /// Makes what is missing. A marker that names what was installed comes last.
    pub(super) fn prepare(workspace: &Workspace) -> Result<Self> {
        let environment = Self {
            root: workspace.target().join("strands"),
            adapters: workspace.root().join("memory-cli").join("python"),
            memory: workspace.memory_binary("debug"),
        };
        let (marker, wanted) = (environment.root.join("installed"), format!("{PACKAGE} {}", BESIDE.join(" ")));
        if fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted) {
            return Ok(environment);
        }
        environment.install(workspace)?;
        fs::write(&marker, wanted).with_context(|| format!("writing {}", marker.display()))?;
        Ok(environment)
    }

    fn install(&self, workspace: &Workspace) -> Result<()> {
        fs::create_dir_all(&self.root).with_context(|| format!("making {}", self.root.display()))?;
        let venv = self.root.join("venv");
        Invocation::program(workspace, "strands", "python3").args(["-m", "venv", "--clear"]).args([&venv]).run()?;
        let pip = || self.interpreter(workspace).args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
        pip().args(["install", PACKAGE]).args(BESIDE).run()?;
        pip()
            .args(["download", "--no-deps", "--no-binary", "strands-agents", PACKAGE, "--dest"])
            .args([&self.root])
            .run()?;
        let archive = self.root.join(format!("{SOURCES}.tar.gz"));
        let unpack = "import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2], filter='data')";
        self.interpreter(workspace).args(["-c", unpack]).args([&archive, &self.root]).run()
    }

    fn interpreter(&self, workspace: &Workspace) -> Invocation {
        let python = self.root.join("venv").join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
        Invocation::program(workspace, "strands", python)
    }

    /// The interpreter, which finds the adapter, its tests and the package's tests.
    pub(super) fn python(&self, workspace: &Workspace) -> Invocation {
        let paths = [self.adapters.clone(), self.tests(), self.package()];
        let paths = env::join_paths(paths).unwrap_or_default();
        self.interpreter(workspace)
            .env("PYTHONPATH", &paths.to_string_lossy())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("MEMORY_BINARY", &self.memory.to_string_lossy())
            // No test may look for credentials or send a trace.
            .env("AWS_EC2_METADATA_DISABLED", "true")
    }

    /// The package's sources.
    pub(super) fn package(&self) -> PathBuf {
        self.root.join(SOURCES)
    }

    /// Our own tests in Python.
    pub(super) fn tests(&self) -> PathBuf {
        self.adapters.join("tests")
    }

    /// A directory for the stores of the runs.
    pub(super) fn scratch(&self) -> &Path {
        &self.root
    }
}
