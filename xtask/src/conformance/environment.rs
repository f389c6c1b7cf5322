//! The suites under `target/`: the Python client from pinned wheels, the others from npm.

use std::path::Path;

use anyhow::Result;

use crate::{invocation::Invocation, venv::Venv, workspace::Workspace};

/// Node and the Python client of the protocol.
const WHEELS: [&str; 2] = [Venv::NODE, "mcp==2.3.0"];
/// Packages of npm.
const PACKAGES: [&str; 2] =
    ["@modelcontextprotocol/conformance@0.2.0-alpha.12", "@modelcontextprotocol/inspector@2.12.0"];
const SUITE: &str = "@modelcontextprotocol/conformance/dist/index.js";
const INSPECTOR: &str = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";

/// Location of interpreters and suites.
pub(super) struct Environment(Venv);

impl Environment {
    /// Installs missing parts.
    pub(super) fn prepare(workspace: &Workspace) -> Result<Self> {
        let suites = |venv: &Venv| venv.npm(workspace, &PACKAGES);
        Ok(Self(Venv::prepare(workspace, "conformance", &WHEELS, &PACKAGES, suites)?))
    }

    /// The directory of all parts.
    pub(super) fn root(&self) -> &Path {
        self.0.root()
    }

    fn script(&self, workspace: &Workspace, script: &str) -> Result<Invocation> {
        Ok(Invocation::program(workspace, "conformance", self.0.node()?).args([self.0.module(script)]))
    }

    /// The official suite.
    pub(super) fn suite(&self, workspace: &Workspace) -> Result<Invocation> {
        self.script(workspace, SUITE)
    }

    /// The Inspector.
    pub(super) fn inspector(&self, workspace: &Workspace) -> Result<Invocation> {
        self.script(workspace, INSPECTOR)
    }

    /// Python with the client of the protocol.
    pub(super) fn python(&self, workspace: &Workspace) -> Invocation {
        self.0.python(workspace)
    }
}
