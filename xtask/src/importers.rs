//! What `memory import` says of files that real packages write or read, against what those packages say.

use anyhow::Result;

use crate::invocation::Invocation;
use crate::steps::Steps;
use crate::venv::Venv;
use crate::workspace::Workspace;

/// The reader of Claude Code's files, and the directory that its sources unpack to. Those have sample files.
const CLAUDE_CODE_LOG: &str = "claude-code-log==1.7.0";
const SOURCES: &str = "claude_code_log-1.7.0";
/// The packages whose files are imported. `cc-session-core` is not offered for the Python that is here.
const PACKAGES: [&str; 6] = [
    CLAUDE_CODE_LOG,
    "anthropic==2.12.0",
    "langchain-core==1.8.3",
    "openai==3.54.0",
    "strands-agents==1.62.0",
    "pytest<10",
];

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut steps = Steps::start();
    let build = || Invocation::cargo(workspace, "importers").args(["build", "--locked", "-p", "memory-cli"]).run();
    steps.run("build", build)?;
    let environment = steps.run("environment", || {
        Venv::prepare(workspace, "importers", &PACKAGES, &[], |venv| {
            venv.sources(workspace, "claude-code-log", CLAUDE_CODE_LOG, SOURCES)
        })
    })?;
    let tested = steps.run("tests", || test(workspace, &environment))?;
    println!("importers: {tested}; {}", steps.summary());
    Ok(())
}

/// Runs our tests in Python, and returns pytest's last line.
fn test(workspace: &Workspace, environment: &Venv) -> Result<String> {
    let samples = environment.root().join(SOURCES).join("dev-docs").join("messages");
    environment
        .pytest(workspace, "test_importers.py", |call| call.env("CLAUDE_CODE_SAMPLES", &samples.to_string_lossy()))
}
