//! Strands' own tests through our managers, and an agent of Strands that is killed and goes on.

mod agent;
mod environment;

use anyhow::Result;

use self::environment::Environment;
use crate::invocation::{Invocation, Stream};
use crate::steps::Steps;
use crate::workspace::Workspace;

/// The tests of the package, by file; those of the managers, of what they decide by, and of sessions.
const TESTS: [&str; 5] = [
    "tests/strands/agent/test_conversation_manager.py",
    "tests/strands/agent/test_summarizing_conversation_manager.py",
    "tests/strands/agent/conversation_manager/test_context_compression.py",
    "tests/strands/agent/test_pin_message.py",
    "tests/strands/session/test_repository_session_manager.py",
];

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut steps = Steps::start();
    steps.run("build", || build(workspace))?;
    let environment = steps.run("environment", || Environment::prepare(workspace))?;
    let tests = steps.run("Strands' tests", || official(workspace, &environment))?;
    let hierarchical = steps.run("hierarchical agent", || agent::run(workspace, &environment, "hierarchical"))?;
    let semantic = steps.run("semantic agent", || agent::run(workspace, &environment, "semantic"))?;
    let written = steps.run("agent that writes summaries", || agent::run(workspace, &environment, "written"))?;
    println!("strands: {tests}; {hierarchical}; {semantic}; {written}; {}", steps.summary());
    Ok(())
}

fn build(workspace: &Workspace) -> Result<()> {
    Invocation::cargo(workspace, "strands").args(["build", "--locked", "-p", "memory-cli"]).run()
}

/// Runs the tests of the package over the bridge, and returns pytest's last line.
fn official(workspace: &Workspace, environment: &Environment) -> Result<String> {
    let mut last = String::new();
    environment
        .python(workspace)
        .args([
            "-m",
            "pytest",
            "-q",
            "-o",
            "addopts=",
            "-p",
            "strands_plugin",
            "-p",
            "no:cacheprovider",
            "--timeout",
            "120",
            "-rxX",
        ])
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
