//! The program outside of the workspace that uses the facade: it must build by its own lock file, run, and recall.

use std::fs;

use anyhow::{Context as _, Result, ensure};

use crate::invocation::Invocation;
use crate::workspace::Workspace;

const MANIFEST: &str = "memory/outside/Cargo.toml";
/// Text that the program appends and then asks for.
const ANSWER: &str = "7:42 from platform 9";

pub(super) fn run(workspace: &Workspace) -> Result<()> {
    // With the features and the profile of that program: nothing of the workspace's own build would fit.
    let target = workspace.root().join("target").join("outside");
    let store = target.join("store");
    if store.exists() {
        fs::remove_dir_all(&store).with_context(|| format!("cannot remove {}", store.display()))?;
    }
    let printed = Invocation::cargo(workspace, "outside")
        .args(["run", "--locked", "--quiet", "--manifest-path", MANIFEST, "--target-dir"])
        .args([&target])
        .args(["--"])
        .args([&store])
        .capture()?;
    ensure!(printed.contains(ANSWER), "{MANIFEST} does not recall what it appended: {printed}");
    Ok(())
}
