//! `memory title`: shows or sets the title of a conversation.

use clap::Args as ClapArgs;

use super::{list, resolve};
use crate::{Access, globals::Globals, open};

/// Shows or sets the title of a conversation.
///
/// One that nobody set follows from the first message.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversation: resolve::First,
    /// The new title; an empty one takes back what was set [default: show the title]
    #[arg(value_name = "TITLE")]
    title: Option<String>,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let access = if args.title.is_some() { Access::Existing } else { Access::Read };
    let runtime = open(&globals.config(access)?.without_model())?;
    let id = args.conversation.id(&runtime).await?;
    let conversation = runtime.memory.conversation(id.clone());
    if let Some(title) = &args.title {
        conversation.set_title(title).await?;
    }
    let title = conversation.title().await?;
    let output = globals.output;
    if output.json {
        return Ok(output.value(&list::listed(&runtime, &id).await?)?);
    }
    match title {
        Some(title) => {
            output.line(&title.text)?;
            if title.is_derived {
                output.note("made of its messages: `memory title ID TITLE` sets another");
            }
        }
        None => output.note(&format!("`{id}` has no title")),
    }
    Ok(())
}
