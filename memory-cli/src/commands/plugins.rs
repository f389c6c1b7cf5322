//! `memory plugins`: strategies that write summaries and score messages, built in and from plugins.

pub(crate) mod check;
pub(crate) mod list;

use clap::{Args as ClapArgs, Subcommand};
use memory_plugins::{LoadError, Registry};

use crate::globals::Globals;

/// Strategies that write summaries and score messages, built in and from plugins.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show all strategies with their versions, and the files that could not be loaded
    List(list::Args),
    /// Show one strategy, including the schema of its configuration
    Info(list::Info),
    /// Run a plugin's file against the contract of its kind, in a process of its own
    Check(check::Args),
}

pub(crate) fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    match &args.command {
        None => list::run(&list::Args {}, globals),
        Some(Command::List(args)) => list::run(args, globals),
        Some(Command::Info(args)) => list::info(args, globals),
        Some(Command::Check(args)) => check::run(args, globals),
    }
}

/// The registry with the plugins of the given directories, and the errors of those that could not be loaded.
pub(crate) fn registry(globals: &Globals) -> (Registry, Vec<LoadError>) {
    let (options, directories) = globals.plugins();
    let mut registry = Registry::with_options(options);
    let mut refused = Vec::new();
    for directory in directories {
        refused.extend(registry.load_dir(directory).into_iter().filter_map(Result::err));
    }
    (registry, refused)
}
