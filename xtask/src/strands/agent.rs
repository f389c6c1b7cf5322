//! An agent of Strands over a store: killed in the middle of its turns, with its bridge, and begun again.

use std::fs;

use anyhow::{Context, Result, bail};

use super::environment::Environment;
use crate::invocation::{Invocation, Stream};
use crate::workspace::Workspace;

const TURNS: &str = "60";
/// The turns after which the agent and its bridge are killed: plain ones, and one right before a tool is called.
const KILLED_AFTER: [&str; 3] = ["turn 17", "turn 34", "turn 48"];

/// Runs 60 turns over a new store, and returns what the check at the end says.
pub(super) fn run(workspace: &Workspace, environment: &Environment, manager: &str) -> Result<String> {
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

/// Runs the agent until it prints `after`, and kills it and its bridge there; whether it came so far.
fn killed(workspace: &Workspace, agent: Invocation, after: &str) -> Result<bool> {
    let mut bridge = String::new();
    let reached = agent.watch_and_kill(|line| {
        if let Some(pid) = line.strip_prefix("bridge ") {
            pid.clone_into(&mut bridge);
        }
        line == after
    })?;
    if reached {
        // It may have ended by itself, when its input did.
        Invocation::program(workspace, "strands", "kill").args(["-9", bridge.as_str()]).succeeds();
    }
    Ok(reached)
}
