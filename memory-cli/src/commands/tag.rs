//! `memory tag`: shows, adds and removes the tags of a conversation.

use std::collections::BTreeSet;

use clap::Args as ClapArgs;
use memory::parts::Conversation;
use memory_core::Mark;

use super::{list, resolve};
use crate::{Access, globals::Globals, open};

/// Shows, adds and removes the tags of a conversation.
///
/// `memory search --tag` and `memory list --tag` choose conversations by them.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversation: resolve::First,
    /// A tag to add
    #[arg(value_name = "WORDS", value_parser = named)]
    tag: Option<String>,
    /// Add a tag; several may be given
    #[arg(long, value_name = "TAG", value_parser = named)]
    add: Vec<String>,
    /// Remove a tag; several may be given
    #[arg(long, value_name = "TAG")]
    remove: Vec<String>,
}

/// Adds tags to those of a conversation and removes others; returns those before and those now.
pub(super) async fn change(
    conversation: &Conversation,
    add: impl Iterator<Item = &String>,
    remove: &[String],
) -> anyhow::Result<[BTreeSet<String>; 2]> {
    let had: BTreeSet<_> = conversation.tags().await?.into_iter().collect();
    let mut tags = had.clone();
    tags.extend(add.cloned());
    tags.retain(|tag| !remove.contains(tag));
    if tags != had {
        conversation.set_tags(&tags.iter().cloned().collect::<Vec<_>>()).await?;
    }
    Ok([had, tags])
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let changes = args.tag.is_some() || !args.add.is_empty() || !args.remove.is_empty();
    let access = if changes { Access::Existing } else { Access::Read };
    let runtime = open(&globals.config(access)?.without_model())?;
    let id = args.conversation.id(&runtime).await?;
    let conversation = runtime.memory.conversation(id.clone());
    let [had, tags] = change(&conversation, args.tag.iter().chain(&args.add), &args.remove).await?;
    let output = globals.output;
    if output.json {
        return Ok(output.value(&list::listed(&runtime, &id).await?)?);
    }
    for missing in args.remove.iter().filter(|tag| !had.contains(*tag)) {
        output.note(&format!("`{id}` had no tag `{missing}`"));
    }
    if tags.is_empty() {
        output.note(&format!("`{id}` has no tags"));
    }
    Ok(tags.iter().try_for_each(|tag| output.line(tag))?)
}

pub(super) fn named(tag: &str) -> Result<String, String> {
    if tag.trim().is_empty() {
        return Err("the tag is empty".to_owned());
    }
    if Mark::reserves(tag) {
        return Err(format!("tags that begin with `{}` are marks: `memory mark` sets them", Mark::PREFIX));
    }
    Ok(tag.to_owned())
}
