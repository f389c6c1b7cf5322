//! Runs `memory demo` on the sample conversation, from nothing.

use anyhow::Result;

use crate::invocation::Invocation;
use crate::setup;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let memory = setup::run(workspace)?;
    Invocation::program(workspace, "demo", memory).args(["demo"]).run()
}
