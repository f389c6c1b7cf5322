//! Results of the official suite for a server.

use anyhow::{Result, bail};

use super::environment::Environment;
use crate::{invocation::Stream, workspace::Workspace};

/// Scenarios without fixtures, which any server must pass, as far as a revision has them.
const WITHOUT_FIXTURES: [&str; 12] = [
    "caching",
    "dns-rebinding-protection",
    "http-header-validation",
    "input-required-result-unsupported-methods",
    "ping",
    "prompts-list",
    "resources-list",
    "sep-2164-resource-not-found",
    "server-initialize",
    "server-session-lifecycle",
    "server-sse-multiple-streams",
    "tools-list",
];

/// Line of the summary about a scenario: `✓ ping: 2 passed, 0 failed`.
#[derive(Debug, PartialEq, Eq)]
struct Scenario {
    name: String,
    failed: u32,
}

impl Scenario {
    fn of(line: &str) -> Option<Self> {
        let (name, counts) = line.trim().strip_prefix(['✓', '✗'])?.trim_start().split_once(": ")?;
        let failed = counts.split_once(" passed, ")?.1.strip_suffix(" failed")?.parse().ok()?;
        Some(Self { name: name.to_owned(), failed })
    }
}

/// Runs the scenarios of a revision against the server as it ships; those without fixtures must pass.
pub(super) fn shipped(workspace: &Workspace, environment: &Environment, url: &str, revision: &str) -> Result<String> {
    let mut seen = Vec::new();
    // The suite fails, since scenarios that need fixtures fail.
    drop(run(workspace, environment, url, revision, "shipped", |line| seen.extend(Scenario::of(line))));
    seen.retain(|scenario| WITHOUT_FIXTURES.contains(&&*scenario.name));
    let failed: Vec<_> = seen.iter().filter(|scenario| scenario.failed > 0).map(|scenario| &*scenario.name).collect();
    if seen.is_empty() || !failed.is_empty() {
        bail!("{revision}, as it ships: {} of {} scenarios failed: {}", failed.len(), seen.len(), failed.join(", "));
    }
    Ok(format!("{revision} {0} of {0} scenarios", seen.len()))
}

/// Runs all that a revision requires. The suite also runs scenarios that it does not score: extensions, and pending ones.
pub(super) fn required(workspace: &Workspace, environment: &Environment, url: &str, revision: &str) -> Result<String> {
    let (mut seen, mut unscored) = (Vec::new(), Vec::new());
    run(workspace, environment, url, revision, "fixtures", |line| {
        seen.extend(Scenario::of(line));
        unscored.extend(unscored_in(line).map(str::to_owned));
    })?;
    seen.retain(|scenario| !unscored.contains(&scenario.name));
    let passed = seen.iter().filter(|scenario| scenario.failed == 0).count();
    if seen.is_empty() || passed < seen.len() {
        bail!("{revision}, with fixtures: {passed} of {} required scenarios passed", seen.len());
    }
    Ok(format!("{revision} {passed} of {} required scenarios", seen.len()))
}

/// The scenario in a line of those that are not scored: `  ✗ tasks-lifecycle (extension)`.
fn unscored_in(line: &str) -> Option<&str> {
    let (name, why) = line.trim().strip_prefix(['✓', '✗'])?.trim().split_once(" (")?;
    (why.ends_with(')') && !name.contains(' ')).then_some(name)
}

fn run(
    workspace: &Workspace,
    environment: &Environment,
    url: &str,
    revision: &str,
    name: &str,
    seen: impl FnMut(&str),
) -> Result<()> {
    let output = environment.root().join(format!("{name}-{revision}"));
    environment
        .suite(workspace)?
        .args(["server", "--url", url, "--requirements", revision, "-o"])
        .args([&output])
        .watch(Stream::Stdout, seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_read_line_by_line() {
        let scenario = |line: &str| Scenario::of(line).map(|scenario| (scenario.name, scenario.failed));
        assert_eq!(scenario("✓ ping: 2 passed, 0 failed"), Some(("ping".to_owned(), 0)));
        assert_eq!(scenario("✗ tools-call-image: 1 passed, 1 failed"), Some(("tools-call-image".to_owned(), 1)));
        assert_eq!(scenario("=== SUMMARY ==="), None);
        assert_eq!(scenario("Total: 153 passed, 35 failed"), None);
        assert_eq!(scenario("  ✗ tasks-lifecycle (extension)"), None);
        assert_eq!(unscored_in("  ✗ tasks-lifecycle (extension)"), Some("tasks-lifecycle"));
        assert_eq!(unscored_in("✓ ping: 2 passed, 0 failed"), None);
    }
}
