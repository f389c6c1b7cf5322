//! `memory list`: lists the conversations.

use std::num::NonZeroUsize;

use clap::Args as ClapArgs;
use memory_core::Mark;
use memory_hooks::{ListOptions, ListedConversation};
use serde_json::{Value, json};

use super::resolve;
use crate::{
    Access,
    globals::Globals,
    open,
    output::{grouped, known},
};

/// Lists the conversations, the last one spoken in first.
///
/// A title that nobody set follows from the first message, and is in brackets.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Only conversations with this tag; if several are given, with all of them
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Only those that are marked as important
    #[arg(long)]
    important: bool,
    /// Archived ones as well
    #[arg(long)]
    archived: bool,
    /// The most conversations
    #[arg(long, value_name = "N", default_value = "50")]
    limit: NonZeroUsize,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    resolve::check_readable(&runtime).await?;
    let options = ListOptions::default()
        .tags(args.tag.clone())
        .important(args.important)
        .archived(args.archived)
        .limit(args.limit.get());
    let listing = runtime.memory.list(options).await?;
    let output = globals.output;
    if output.json {
        let conversations: Vec<_> = listing.conversations.iter().map(to_json).collect();
        return Ok(output.value(&json!({
            "conversations": conversations,
            "more": listing.more,
            "archived": listing.archived,
        }))?);
    }
    if listing.conversations.is_empty() {
        output.line(if args.is_narrowed() || listing.archived > 0 {
            "no conversation is so"
        } else {
            "no conversation yet"
        })?;
    } else {
        output.table(
            ["conversation", "title", "messages", "tokens", "last said", "tags"],
            listing.conversations.iter().map(row),
        )?;
    }
    if listing.more > 0 {
        output.note(&format!("{} more: raise --limit", grouped(listing.more)));
    }
    if listing.archived > 0 {
        output.note(&format!("{} archived: --archived lists them as well", grouped(listing.archived)));
    }
    Ok(())
}

impl Args {
    fn is_narrowed(&self) -> bool {
        !self.tag.is_empty() || self.important
    }
}

pub(super) fn row(ListedConversation { state, title, .. }: &ListedConversation) -> [String; 6] {
    let title =
        title.as_ref().map(|title| if title.is_derived { format!("[{}]", title.text) } else { title.text.clone() });
    let marks = Mark::ALL.into_iter().filter(|mark| state.is_marked(*mark)).map(|mark| format!("({mark})"));
    [
        state.id.to_string(),
        title.unwrap_or_default(),
        grouped(state.nodes),
        grouped(state.tokens),
        state.last_at.and_then(known).unwrap_or_default(),
        marks.chain(state.own_tags()).collect::<Vec<_>>().join(", "),
    ]
}

pub(super) fn to_json(ListedConversation { state, title, .. }: &ListedConversation) -> Value {
    let forked_from = state.forked_from.as_ref();
    json!({
        "conversation": state.id.as_str(),
        "title": title.as_ref().map(|title| &title.text),
        "title_derived": title.as_ref().is_some_and(|title| title.is_derived),
        "tags": state.own_tags(),
        "important": state.is_marked(Mark::Important),
        "archived": state.is_marked(Mark::Archived),
        "nodes": state.nodes,
        "tokens": state.tokens,
        "summaries": state.summaries,
        "views": state.views,
        "first_at": state.first_at.and_then(known),
        "last_at": state.last_at.and_then(known),
        "owner": state.owner.as_ref().map(ToString::to_string),
        "forked_from": forked_from.map(|from| json!({"conversation": from.conversation.as_str(), "node": from.node.get()})),
    })
}
