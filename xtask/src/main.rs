//! Everything a developer runs: `cargo xtask COMMAND`.

mod bench;
mod ci;
mod conformance;
mod document;
mod eval;
mod invocation;
mod nightly;
mod plugin;
mod python;
mod setup;
mod steps;
mod strands;
mod tally;
mod test;
mod tidy;
mod venv;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Everything a developer runs.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build the `memory` binary in release and fetch the runtime, model and tokenizer.
    Setup,
    /// Set up what is missing, then run `memory demo`.
    Demo,
    /// Run `memory demo` and draw its output into docs/demo.svg.
    Picture,
    /// Set up what is missing, then run tidy, the tests and the doctests.
    Test,
    /// Every check that must pass before a change lands.
    Ci(ci::Args),
    /// `ci`, then the long tests and the checks that need a tool installed.
    Nightly,
    /// Import files that real packages write or read, and compare with what those say of them.
    Importers,
    /// Kill erasures and changes of encryption at random points, and look for what must not be in the raw bytes.
    Erasure,
    /// Talk with a small real model in a small window, and kill the binary in the middle of turns.
    AgentTrial {
        /// Number of turns.
        #[arg(long, default_value_t = 12)]
        turns: u32,
    },
    /// Run the adapters of LangChain and of the OpenAI Agents SDK with the real packages.
    Adapters,
    /// Run the tests of Strands Agents through our managers, and an agent of it that is killed and goes on.
    Strands,
    /// Run the official suite of the Model Context Protocol, the Inspector and the Python client against `memory mcp`.
    Conformance,
    /// Check the layer rule, the manifests and the contents of the tree.
    Tidy,
    /// Run the criterion benches, measure against the peers and compare the figures with their bars.
    Bench(bench::Args),
    /// Evaluate recall and contexts on data: runs, fits, contexts for readers, their grades.
    Eval(eval::Args),
    /// Write, build and check strategy plugins in crates of their own.
    #[command(subcommand)]
    Plugin(plugin::Command),
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    let workspace = Workspace::locate()?;
    match command {
        Command::Setup => setup::run(&workspace).map(drop),
        Command::Demo => setup::demo(&workspace),
        Command::Picture => setup::picture(&workspace),
        Command::Test => test::run(&workspace),
        Command::Ci(args) => ci::run(&workspace, &args),
        Command::Nightly => nightly::run(&workspace),
        Command::Importers => python::importers(&workspace),
        Command::AgentTrial { turns } => python::agent_trial(&workspace, turns),
        Command::Adapters => python::adapters(&workspace),
        Command::Erasure => python::erasure(&workspace),
        Command::Strands => strands::run(&workspace),
        Command::Conformance => conformance::run(&workspace),
        Command::Tidy => tidy::run(&workspace),
        Command::Bench(args) => bench::run(&workspace, &args),
        Command::Eval(args) => eval::run(&workspace, &args),
        Command::Plugin(command) => plugin::run(&workspace, &command),
    }
}
