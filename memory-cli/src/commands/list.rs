//! `memory list`: lists the conversations.

use std::{cmp::Reverse, num::NonZeroUsize};

use clap::Args as ClapArgs;
use memory_core::{ConversationState, Filter};
use serde_json::{Value, json};

use super::resolve;
use crate::{
    Access,
    globals::Globals,
    open,
    output::{grouped, known},
};

/// Lists the conversations, the last one spoken in first.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Only conversations with this tag; if several are given, with all of them
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// The most conversations
    #[arg(long, value_name = "N", default_value = "50")]
    limit: NonZeroUsize,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let filter = Filter::default().tags(args.tag.clone());
    let mut states = resolve::states(&runtime).await?;
    states.retain(|state| filter.admits_tags(&state.tags));
    // Those of one time keep the order of their names.
    states.sort_by_key(|state| Reverse(state.last_at));
    let more = states.len().saturating_sub(args.limit.get());
    states.truncate(args.limit.get());
    let output = globals.output;
    if output.json {
        let conversations: Vec<_> = states.iter().map(to_json).collect();
        return Ok(output.value(&json!({"conversations": conversations, "more": more}))?);
    }
    if states.is_empty() {
        output.line(if args.tag.is_empty() { "no conversation yet" } else { "no conversation has these tags" })?;
        return Ok(());
    }
    let rows = states.iter().map(|state| {
        [
            state.id.to_string(),
            title(state).unwrap_or_default().to_owned(),
            grouped(state.nodes),
            grouped(state.tokens),
            state.last_at.and_then(known).unwrap_or_default(),
            state.tags.join(", "),
        ]
    });
    output.table(["conversation", "title", "messages", "tokens", "last said", "tags"], rows)?;
    if more > 0 {
        output.note(&format!("{} more: raise --limit", grouped(more as u64)));
    }
    Ok(())
}

/// Its title; an empty one is none.
pub(super) fn title(state: &ConversationState) -> Option<&str> {
    state.title.as_deref().filter(|title| !title.is_empty())
}

fn to_json(state: &ConversationState) -> Value {
    let forked_from = state.forked_from.as_ref();
    json!({
        "conversation": state.id.as_str(),
        "title": title(state),
        "tags": state.tags,
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
