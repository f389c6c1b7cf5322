//! The programs outside of the workspace: each must build by its own lock file, run, and recall.

use std::fs;

use anyhow::{Context as _, Result, ensure};

use crate::{invocation::Invocation, workspace::Workspace};

/// Programs over the facade alone, and over capture and tools.
const MANIFESTS: [&str; 2] = ["memory/outside/Cargo.toml", "memory-capture/outside/Cargo.toml"];
/// Text that each program puts into a memory and then asks for.
const ANSWER: &str = "7:42 from platform 9";

pub(super) fn run(workspace: &Workspace) -> Result<()> {
    // The programs have their own features and profile, so nothing of the workspace's build would fit.
    let target = workspace.root().join("target").join("outside");
    let store = target.join("store");
    if store.exists() {
        fs::remove_dir_all(&store).with_context(|| format!("cannot remove {}", store.display()))?;
    }
    for manifest in MANIFESTS {
        let printed = Invocation::cargo(workspace, "outside")
            .args(["run", "--locked", "--quiet", "--manifest-path", manifest, "--target-dir"])
            .args([&target])
            .args(["--"])
            .args([&store])
            .capture()?;
        ensure!(printed.contains(ANSWER), "{manifest} does not recall what it was given: {printed}");
    }
    Ok(())
}
