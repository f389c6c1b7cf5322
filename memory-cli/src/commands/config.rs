//! `memory config`: the configuration file.

mod check;
mod init;
mod path;
mod show;

use clap::{Args as ClapArgs, Subcommand};

use crate::globals::Globals;

/// The configuration file: what holds and where it comes from, what is wrong, a template.
///
/// docs/configuration.md lists its keys. A flag comes before an environment variable, that before the file, and the file
/// before what is built in.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show every setting, its value and where that comes from
    Show(show::Args),
    /// Read a file and report all that is wrong, each with its line
    Check(check::Args),
    /// Write a file with every key, its meaning and its default
    Init(init::Args),
    /// Print where the file is
    Path(path::Args),
}

pub(crate) fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    match &args.command {
        Command::Show(args) => show::run(args, globals),
        Command::Check(args) => check::run(args, globals),
        Command::Init(args) => init::run(args, globals),
        Command::Path(args) => path::run(args, globals),
    }
}
