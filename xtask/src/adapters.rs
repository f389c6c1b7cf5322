//! The adapters of LangChain and of the OpenAI Agents SDK, with the real packages over the binary.

use anyhow::Result;

use crate::invocation::Invocation;
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
    // A run sends no trace.
    environment.pytest(workspace, "test_items.py", |call| {
        call.env("PYTHONPATH", &adapters.to_string_lossy()).env("OPENAI_AGENTS_DISABLE_TRACING", "1")
    })
}
