//! The official suite of the Model Context Protocol, the Inspector and the Python client, against `memory mcp`.

mod environment;
mod suite;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use self::environment::Environment;
use crate::invocation::{Invocation, Running, Stream};
use crate::{steps::Steps, workspace::Workspace};

/// The revisions of the protocol that are served.
const REVISIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];
/// Calls of the load.
const CALLS: &str = "500";

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut steps = Steps::start();
    steps.run("build", || workspace.build("conformance"))?;
    let environment = steps.run("environment", || Environment::prepare(workspace))?;
    let memory = Memory::new(workspace, &environment)?;
    steps.run("store", || memory.fill(workspace))?;
    let shipped = steps.run("suite, as it ships", || {
        let served = Served::start(memory.serving(workspace), Stream::Stderr)?;
        REVISIONS.iter().map(|revision| suite::shipped(workspace, &environment, served.url(), revision)).collect()
    });
    let shipped: Vec<String> = shipped?;
    let fixtures = steps.run("suite, with fixtures", || {
        let served = Served::start(fixtures(workspace), Stream::Stdout)?;
        REVISIONS.iter().map(|revision| suite::required(workspace, &environment, served.url(), revision)).collect()
    });
    let fixtures: Vec<String> = fixtures?;
    let inspector = steps.run("inspector", || inspector(workspace, &environment, &memory))?;
    let python = steps.run("python client", || python(workspace, &environment, &memory))?;
    println!(
        "conformance: as it ships {}; with fixtures {}; {inspector}; {python}; {}",
        shipped.join(", "),
        fixtures.join(", "),
        steps.summary()
    );
    Ok(())
}

fn fixtures(workspace: &Workspace) -> Invocation {
    let example = workspace.target().join("debug").join("examples").join("conformance_fixtures");
    Invocation::program(workspace, "conformance", example)
}

/// The binary and a store for it.
struct Memory {
    binary: PathBuf,
    store: PathBuf,
}

impl Memory {
    /// The binary with a store without data of an earlier run.
    fn new(workspace: &Workspace, environment: &Environment) -> Result<Self> {
        let store = environment.root().join("store");
        if store.exists() {
            fs::remove_dir_all(&store).with_context(|| format!("removing {}", store.display()))?;
        }
        Ok(Self { binary: workspace.memory_binary("debug"), store })
    }

    fn command(&self, workspace: &Workspace) -> Invocation {
        Invocation::program(workspace, "conformance", &self.binary)
            .args(["--words-only", "--store"])
            .args([&self.store])
    }

    /// Puts a conversation into the store.
    fn fill(&self, workspace: &Workspace) -> Result<()> {
        let file = self.store.with_extension("jsonl");
        let line = |number: usize| {
            let role = if number % 2 == 1 { "user" } else { "assistant" };
            let text = match number {
                7 => "The train leaves at 7:42 from platform 9.".to_owned(),
                _ => format!("Remark number {number} about the weather and the museum of day {number}."),
            };
            format!("{{\"role\": \"{role}\", \"content\": \"{text}\"}}\n")
        };
        fs::write(&file, (1..=200).map(line).collect::<String>())
            .with_context(|| format!("writing {}", file.display()))?;
        self.command(workspace).args(["import", "--format", "jsonl", "-c", "trip"]).args([&file]).run()
    }

    fn serving(&self, workspace: &Workspace) -> Invocation {
        self.command(workspace).args(["mcp", "--http", "--port", "0", "--no-token", "--max-rate", "10000"])
    }
}

/// Report of the Inspector about a load.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Loaded {
    requests: u32,
    errors: u32,
    tool_errors: u32,
    latency_ms: Latency,
}

#[derive(Deserialize)]
struct Latency {
    p50: f64,
}

/// The Inspector's command line: schemas that every client can use, and a load of calls.
fn inspector(workspace: &Workspace, environment: &Environment, memory: &Memory) -> Result<String> {
    let store = memory.store.to_string_lossy().into_owned();
    let serving = ["--words-only", "--store", &store, "mcp", "--allow-append", "--memory-tool", "--profile"];
    let inspect = |profile: &str| {
        let server = environment.inspector(workspace)?.args(["--cli"]).args([memory.binary.as_path()]);
        anyhow::Ok(server.args(serving).args([profile]))
    };
    for profile in ["full", "compact"] {
        inspect(profile)?.args(["--method", "tools/list", "--strict"]).capture()?;
    }
    let call =
        ["--method", "tools/call", "--tool-name", "expand_node", "--tool-arg", "conversation_id=trip", "node_id=7"];
    let answered = inspect("full")?.args(call).capture()?;
    ensure!(answered.contains("platform 9"), "the Inspector was answered {answered}");
    let load = ["--method", "tools/call", "--tool-name", "search_memory", "--tool-arg", "query=Which platform?"];
    let load = inspect("full")?.args(load).args(["--load", "--load-requests", CALLS, "--load-concurrency", "10"]);
    let said = load.capture()?;
    let loaded: Loaded = serde_json::from_str(&said).context("reading what the Inspector says of the load")?;
    let is_clean = loaded.errors == 0 && loaded.tool_errors == 0 && loaded.requests.to_string() == CALLS;
    ensure!(is_clean, "the Inspector says of the load: {said}");
    Ok(format!("inspector strict on both profiles, {CALLS} calls at p50 {} ms", loaded.latency_ms.p50))
}

/// The Python client: both transports, each revision.
fn python(workspace: &Workspace, environment: &Environment, memory: &Memory) -> Result<String> {
    let served = Served::start(memory.serving(workspace), Stream::Stderr)?;
    let script = Path::new("xtask/src/conformance/client.py");
    let mut last = String::new();
    environment
        .python(workspace)
        .args([script])
        .args([served.url()])
        .args([&memory.binary, &memory.store])
        .watch(Stream::Stdout, |line| line.clone_into(&mut last))?;
    Ok(last)
}

/// A server that prints its address, running until drop.
struct Served {
    url: String,
    _running: Running,
}

impl Served {
    /// Starts a server that prints its address on `stream`.
    fn start(server: Invocation, stream: Stream) -> Result<Self> {
        let url = |line: &str| line.strip_prefix("serving ").map(str::to_owned);
        let (running, url) = server.start(stream, url)?;
        Ok(Self { url, _running: running })
    }

    fn url(&self) -> &str {
        &self.url
    }
}
