//! A virtual environment with the pinned package, and the package's sources for their tests.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::invocation::Invocation;
use crate::venv::Venv;
use crate::workspace::Workspace;

const PACKAGE: &str = "strands-agents==1.62.0";
/// The directory that the package's sources unpack to.
const SOURCES: &str = "strands_agents-1.62.0";
/// The package, and what its tests need.
const PACKAGES: [&str; 5] = [PACKAGE, "pytest<10", "pytest-asyncio<1.5", "moto", "pytest-timeout"];

/// Where the interpreter and the package's sources are.
pub(super) struct Environment {
    venv: Venv,
    adapters: PathBuf,
    memory: PathBuf,
}

impl Environment {
    /// Makes what is missing.
    pub(super) fn prepare(workspace: &Workspace) -> Result<Self> {
        let sources = |venv: &Venv| venv.sources(workspace, "strands-agents", PACKAGE, SOURCES);
        Ok(Self {
            venv: Venv::prepare(workspace, "strands", &PACKAGES, &[], sources)?,
            adapters: workspace.root().join("memory-cli").join("python"),
            memory: workspace.memory_binary("debug"),
        })
    }

    /// The interpreter, which finds the adapter, its tests and the package's tests.
    pub(super) fn python(&self, workspace: &Workspace) -> Invocation {
        let paths = [self.adapters.clone(), self.tests(), self.package()];
        let paths = env::join_paths(paths).unwrap_or_default();
        self.venv
            .python(workspace)
            .env("PYTHONPATH", &paths.to_string_lossy())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("MEMORY_BINARY", &self.memory.to_string_lossy())
            // No test may look for credentials or send a trace.
            .env("AWS_EC2_METADATA_DISABLED", "true")
    }

    /// The package's sources.
    pub(super) fn package(&self) -> PathBuf {
        self.venv.root().join(SOURCES)
    }

    /// Our own tests in Python.
    pub(super) fn tests(&self) -> PathBuf {
        self.adapters.join("tests")
    }

    /// A directory for the stores of the runs.
    pub(super) fn scratch(&self) -> &Path {
        self.venv.root()
    }
}
