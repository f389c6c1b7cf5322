//! `memory title`: shows or sets the title of a conversation.

use clap::Args as ClapArgs;
use memory_core::Event;
use serde_json::json;

use super::{list, resolve};
use crate::{Access, globals::Globals, open};

/// Shows or sets the title of a conversation.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversation: resolve::First,
    /// The new title; an empty one removes it [default: show the title]
    #[arg(value_name = "TITLE")]
    title: Option<String>,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let access = if args.title.is_some() { Access::Existing } else { Access::Read };
    let runtime = open(&globals.config(access)?.without_model())?;
    let id = args.conversation.id(&runtime).await?;
    if let Some(title) = &args.title {
        runtime.store.record(&id, vec![Event::Title(title.trim().to_owned())]).await?;
    }
    let state = runtime.store.conversation(&id).await?;
    let title = list::title(&state);
    let output = globals.output;
    if output.json {
        return Ok(output.value(&json!({"conversation": id.as_str(), "title": title}))?);
    }
    match title {
        Some(title) => output.line(title)?,
        None => output.note(&format!("`{id}` has no title")),
    }
    Ok(())
}
