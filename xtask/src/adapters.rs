//! The adapters of LangChain and of the OpenAI Agents SDK, with the real packages over the binary.

use anyhow::Result;

use crate::invocation::{Invocation, Stream};
use crate::steps::Steps;
use crate::venv::Venv;
use crate::workspace::Workspace;

const PACKAGES: [&str; 3] = ["langchain-core==1.8.3", "openai-agents==0.24.0", "pytest<10"];

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut steps = Steps::start();
    let build = || Invocation::cargo(workspace, "adapters").args(["build", "--locked", "-p", "memory-cli"]).run();
    steps.run("build", build)?;
    let environment = steps.run("environment", || Venv::prepare(workspace, "adapters", &PACKAGES, &[], |_| Ok(())))?;
    let tested = steps.run("tests", || test(workspace, &environment))?;
    println!("adapters: {tested}; {}", steps.summary());
    Ok(())
}

/// Runs our tests in Python, and returns pytest's last line.
fn test(workspace: &Workspace, environment: &Venv) -> Result<String> {
    let adapters = workspace.root().join("memory-cli").join("python");
    let mut last = String::new();
    environment
        .python(workspace)
        .env("PYTHONPATH", &adapters.to_string_lossy())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("MEMORY_BINARY", &workspace.memory_binary("debug").to_string_lossy())
        // A run sends no trace.
        .env("OPENAI_AGENTS_DISABLE_TRACING", "1")
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .args([adapters.join("tests").join("test_items.py")])
        .watch(Stream::Stdout, |line| {
            if line.contains(" passed") {
                last = line.trim_matches(['=', ' ']).to_owned();
            }
        })?;
    Ok(last)
}
