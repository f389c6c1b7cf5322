//! `memory list`: lists the conversations.

use std::num::NonZeroUsize;

use clap::Args as ClapArgs;
use memory::parts::Parts;
use memory_core::{ConversationId, Mark};
use memory_hooks::{ListOptions, ListedConversation, Listing, Title};

use super::resolve::{self, ShownNames};
use crate::{
    Access,
    globals::Globals,
    news, open,
    output::{Noted, grouped},
};

/// Lists the conversations, the last one spoken in first.
///
/// A title that nobody set follows from the first message, and is in brackets.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Only this conversation: its name or the beginning of it, its title, or `last`; also by -c [default: all]
    #[arg(value_name = "CONVERSATION")]
    conversation: Option<String>,
    /// Only conversations with this tag; if several are given, with all of them
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Only those that are marked as important
    #[arg(long)]
    important: bool,
    /// Archived ones as well
    #[arg(long)]
    archived: bool,
    /// The documents that were added instead (`memory add`)
    #[arg(long)]
    documents: bool,
    /// The most conversations
    #[arg(long, value_name = "N", default_value = "50")]
    limit: NonZeroUsize,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let config = globals.config(Access::Read)?.without_model();
    let runtime = open(&config)?;
    resolve::check_readable(&runtime).await?;
    let options = ListOptions::default()
        .tags(args.tag.clone())
        .important(args.important)
        .archived(args.archived)
        .documents(args.documents)
        .limit(args.limit.get());
    let listing = match &args.conversation {
        None => runtime.memory.list(options).await?,
        Some(name) => {
            let id = resolve::conversation(&runtime, Some(name)).await?;
            let mut listing = Listing::default();
            listing.conversations.push(listed(&runtime, &id).await?);
            listing
        }
    };
    let output = globals.output;
    let news = news::of_erasure(&runtime, &config).await;
    if output.json {
        return Ok(output.value(&Noted { answer: &listing, notices: &news })?);
    }
    if listing.conversations.is_empty() {
        output.line(if args.documents {
            "no document yet: `memory add FILE` adds one"
        } else if !args.tag.is_empty() || args.important || listing.archived > 0 {
            "no conversation is so"
        } else {
            "no conversation yet"
        })?;
    } else {
        let names = ShownNames::of(&runtime).await?;
        output.table_without(
            ["conversation", "title", "messages", "tokens", "last said", "tags"],
            listing.conversations.iter().map(|one| row(one, &names)),
            &["tokens", "tags", "messages"],
        )?;
    }
    news::print(output, &news);
    if listing.more > 0 {
        output.note(&format!("{} more: raise --limit", grouped(listing.more)));
    }
    if listing.archived > 0 {
        output.note(&format!("{} archived: --archived lists them as well", grouped(listing.archived)));
    }
    Ok(())
}

/// The title, in brackets if it is derived; empty without one.
pub(super) fn title(listed: &ListedConversation) -> String {
    let shown = |title: &Title| if title.is_derived { format!("[{}]", title.text) } else { title.text.clone() };
    listed.title.as_ref().map(shown).unwrap_or_default()
}

pub(super) fn row(listed: &ListedConversation, names: &ShownNames) -> [String; 6] {
    let state = &listed.state;
    let marks = Mark::ALL.into_iter().filter(|mark| state.is_marked(*mark)).map(|mark| format!("({mark})"));
    let marks = state.is_erased().then(|| "(erased)".to_owned()).into_iter().chain(marks);
    [
        names.name(&state.id),
        title(listed),
        grouped(state.nodes),
        grouped(state.tokens),
        state.last_at.and_then(|at| at.civil(0)).map_or_else(String::new, |at| at.date()),
        marks.chain(state.own_tags()).collect::<Vec<_>>().join(", "),
    ]
}

/// A conversation as listed.
pub(super) async fn listed(runtime: &Parts, id: &ConversationId) -> anyhow::Result<ListedConversation> {
    let title = runtime.memory.conversation(id.clone()).title().await?;
    Ok(ListedConversation::new(runtime.store.conversation(id).await?, title))
}
