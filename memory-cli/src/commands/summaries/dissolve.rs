//! `memory summaries dissolve`: shows the parts of a summary instead of its words.

use clap::Args as ClapArgs;
use memory_core::SummaryId;

use super::{number, print};
use crate::{Access, commands::resolve, globals::Globals, open};

/// Shows the parts of a META or an ARCHIVE in its place, until it is rewritten.
///
/// For a summary that misleads and is worth no words of your own. A context then shows what it was made from, which takes
/// more tokens. What was made from it stays as it was written. `memory summaries rewrite` puts words there again, and so
/// does `memory resummarize --also-by-person`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The number of the summary, as `memory summaries` lists it
    #[arg(value_name = "NUMBER", value_parser = number)]
    summary: SummaryId,
    #[command(flatten)]
    conversation: resolve::One,
    /// Your name, to be recorded as the author
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    by: String,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Existing)?.without_model())?;
    let id = args.conversation.id(&runtime).await?;
    let repaired = runtime.memory.conversation(id.clone()).dissolve_summary(args.summary, &args.by).await?;
    print(globals.output, &id, &repaired)
}
