//! Strategy plugins in crates of their own: `plugin new`, `plugin build`, `plugin check`.

mod build;
mod check;
mod new;

use anyhow::Result;
use clap::Subcommand;

use crate::workspace::Workspace;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Write a complete plugin crate outside of this workspace.
    New(new::Args),
    /// Test such a crate, build it for release and copy the library to the plugin directory.
    Build(build::Args),
    /// Run a plugin's library against the contract of its kind.
    Check(check::Args),
}

pub(crate) fn run(workspace: &Workspace, command: &Command) -> Result<()> {
    match command {
        Command::New(args) => new::run(workspace, args),
        Command::Build(args) => build::run(workspace, args),
        Command::Check(args) => check::run(workspace, args),
    }
}
