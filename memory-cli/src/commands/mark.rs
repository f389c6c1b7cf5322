//! `memory mark`: shows, sets and takes back the marks of a conversation.

use clap::Args as ClapArgs;
use memory_core::Mark;

use super::{list, resolve};
use crate::{Access, globals::Globals, open};

/// Marks a conversation as important or archived, or shows its marks.
///
/// An important one is listed by `memory list --important`. An archived one is left out of lists and of `last`;
/// searches and its name find it as before.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversation: resolve::First,
    /// The mark: important or archived [default: show the marks]
    #[arg(value_name = "MARK")]
    mark: Option<Mark>,
    /// Take the mark back
    #[arg(long, requires = "mark")]
    off: bool,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let access = if args.mark.is_some() { Access::Existing } else { Access::Read };
    let runtime = open(&globals.config(access)?.without_model())?;
    let id = args.conversation.id(&runtime).await?;
    if let Some(mark) = args.mark {
        runtime.memory.conversation(id.clone()).mark(mark, !args.off).await?;
    }
    let state = runtime.store.conversation(&id).await?;
    let output = globals.output;
    if output.json {
        return Ok(output.value(&list::listed(&runtime, &id).await?)?);
    }
    let marks: Vec<_> = Mark::ALL.into_iter().filter(|mark| state.is_marked(*mark)).collect();
    if marks.is_empty() {
        output.note(&format!("`{id}` has no marks"));
    }
    Ok(marks.iter().try_for_each(|mark| output.line(&mark.to_string()))?)
}
