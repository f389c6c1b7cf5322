//! Strands' own tests through our managers, and an agent of Strands that is killed and continues.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::invocation::{Invocation, Stream};
use crate::{steps::Steps, venv::Venv, workspace::Workspace};

/// Test files of the package: for managers, their decisions, sessions, and the context manager with its storage.
const TESTS: [&str; 10] = [
    "tests/strands/agent/test_conversation_manager.py",
    "tests/strands/agent/test_summarizing_conversation_manager.py",
    "tests/strands/agent/conversation_manager/test_context_compression.py",
    "tests/strands/agent/test_pin_message.py",
    "tests/strands/session/test_repository_session_manager.py",
    "tests/strands/_context_manager/test_context_manager.py",
    "tests/strands/_context_manager/test_retrieval_tool.py",
    "tests/strands/_context_manager/test_stash.py",
    "tests/strands/_context_manager/test_stash_integration.py",
    "tests/strands/storage/test_in_memory_storage.py",
];

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut steps = Steps::start();
    steps.run("build", || workspace.build("strands"))?;
    let environment = steps.run("environment", || Environment::prepare(workspace))?;
    let tests = steps.run("Strands' tests", || official(workspace, &environment))?;
    let ours = steps.run("our tests", || ours(workspace, &environment))?;
    let hierarchical = steps.run("hierarchical agent", || agent(workspace, &environment, "hierarchical"))?;
    let semantic = steps.run("semantic agent", || agent(workspace, &environment, "semantic"))?;
    let written = steps.run("agent that writes summaries", || agent(workspace, &environment, "written"))?;
    println!("strands: {tests}; {ours}; {hierarchical}; {semantic}; {written}; {}", steps.summary());
    Ok(())
}

/// Runs the tests of the package over the bridge, and returns pytest's last line.
fn official(workspace: &Workspace, environment: &Environment) -> Result<String> {
    let mut last = String::new();
    environment
        .python(workspace)
        .args(["-m", "pytest", "-q", "-o", "addopts=", "-p", "strands_plugin", "-p", "no:cacheprovider"])
        .args(["--timeout", "120", "-rxX"])
        .args(["--rootdir"])
        .args([environment.package()])
        .args(TESTS.map(|test| environment.package().join(test)))
        .watch(Stream::Stdout, |line| {
            if line.contains(" passed") {
                last = line.trim_matches(['=', ' ']).to_owned();
            }
        })?;
    Ok(last)
}

/// Runs our tests with agents of the package, and returns pytest's last line.
fn ours(workspace: &Workspace, environment: &Environment) -> Result<String> {
    environment.venv.pytest(workspace, "test_strands.py", |call| environment.set(call))
}

const TURNS: &str = "60";
/// The turns after which the agent and its bridge are killed: plain ones, and one right before a tool is called.
const KILLED_AFTER: [&str; 3] = ["turn 17", "turn 34", "turn 48"];

/// Runs 60 turns over a new store, and returns the verdict of the final check.
fn agent(workspace: &Workspace, environment: &Environment, manager: &str) -> Result<String> {
    let store = environment.scratch().join(format!("{manager}.memory"));
    if store.exists() {
        fs::remove_dir_all(&store).with_context(|| format!("removing {}", store.display()))?;
    }
    let script = environment.tests().join("agent_run.py");
    let python = |command: &str| {
        let place = store.to_string_lossy().into_owned();
        environment.python(workspace).args([script.as_os_str()]).args([command, manager, &place, TURNS])
    };
    for after in KILLED_AFTER {
        if !killed(workspace, python("run"), after)? {
            bail!("the agent ended before it could be killed after {after}");
        }
    }
    python("run").run()?;
    let mut verdict = String::new();
    python("check").watch(Stream::Stdout, |line| line.clone_into(&mut verdict))?;
    Ok(verdict)
}

/// Runs the agent until it prints `after`, and then kills it and its bridge; `false` if the agent ended before.
fn killed(workspace: &Workspace, agent: Invocation, after: &str) -> Result<bool> {
    let mut bridge = String::new();
    let reached = agent.watch_and_kill(|line| {
        if let Some(pid) = line.strip_prefix("bridge ") {
            pid.clone_into(&mut bridge);
        }
        line == after
    })?;
    if reached {
        // The bridge may have ended by itself, at the end of its input.
        Invocation::program(workspace, "strands", "kill").args(["-9", bridge.as_str()]).succeeds();
    }
    Ok(reached)
}

const PACKAGE: &str = "strands-agents==1.62.0";
/// The directory that the package's sources unpack to.
const SOURCES: &str = "strands_agents-1.62.0";
/// The package, and the dependencies of its tests.
const PACKAGES: [&str; 5] = [PACKAGE, "pytest<10", "pytest-asyncio<1.5", "moto", "pytest-timeout"];

/// Location of the interpreter and of the package's sources.
struct Environment {
    venv: Venv,
    adapters: PathBuf,
    memory: PathBuf,
}

impl Environment {
    /// Installs missing parts.
    fn prepare(workspace: &Workspace) -> Result<Self> {
        let sources = |venv: &Venv| venv.sources(workspace, "strands-agents", PACKAGE, SOURCES);
        Ok(Self {
            venv: Venv::prepare(workspace, "strands", &PACKAGES, &[], sources)?,
            adapters: workspace.root().join("python"),
            memory: workspace.memory_binary("debug"),
        })
    }

    /// The interpreter, which finds the adapter, its tests and the package's tests.
    fn python(&self, workspace: &Workspace) -> Invocation {
        self.set(self.venv.python(workspace))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("MEMORY_BINARY", &self.memory.to_string_lossy())
    }

    /// Gives a call the adapter, its tests and the package's tests.
    fn set(&self, call: Invocation) -> Invocation {
        let paths = env::join_paths([self.adapters.clone(), self.tests(), self.package()]).unwrap_or_default();
        // No test may look for credentials or send a trace.
        call.env("PYTHONPATH", &paths.to_string_lossy()).env("AWS_EC2_METADATA_DISABLED", "true")
    }

    /// The package's sources.
    fn package(&self) -> PathBuf {
        self.venv.root().join(SOURCES)
    }

    /// Our own tests in Python.
    fn tests(&self) -> PathBuf {
        self.adapters.join("tests")
    }

    /// A directory for the stores of the runs.
    fn scratch(&self) -> &Path {
        self.venv.root()
    }
}
