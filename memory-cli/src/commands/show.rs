//! `memory show`: prints messages of a conversation verbatim, or its state.

mod state;

use std::num::NonZeroU64;

use clap::Args as ClapArgs;
use memory_core::{ConversationId, Node, NodeId, NodeRange};
use memory_hooks::DerivedState;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    message::{self, Detail},
    resolve,
};
use crate::{
    Access,
    failure::NotFound,
    globals::Globals,
    news, open,
    output::{Noted, Of, Output, grouped},
};

/// Most characters of a message that are shown.
const MOST_CHARS: usize = 4_000;

/// Prints messages of a conversation word for word, or its state.
///
/// Without numbers these are the last ones. `memory expand` prints one message for a program, `memory browse` the levels
/// of a conversation with the beginnings of its messages.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversation: resolve::First,
    /// Which messages: 40-80, or 40 alone [default: the last ones]
    #[arg(value_name = "FIRST-LAST", value_parser = resolve::nodes)]
    nodes: Option<NodeRange>,
    /// The most messages
    #[arg(long, value_name = "N", default_value = "20")]
    limit: NonZeroU64,
    /// Show long messages to their ends, as --json does
    #[arg(long)]
    whole: bool,
    /// Print what the conversation is for instead: its goal, decisions, open questions and subjects, by rules
    #[arg(long, conflicts_with_all = ["nodes", "limit", "whole"])]
    state: bool,
}

/// Messages of a conversation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// Number of messages in the conversation.
    total: u64,
    /// Requested messages, within the limit.
    shown: NodeRange,
    /// First requested message after them.
    next: Option<NodeId>,
    messages: Vec<Detail<'a>>,
    /// Messages that cannot be read.
    lost: &'a [NodeRange],
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let id = args.conversation.id(&runtime).await?;
    let conversation = runtime.memory.conversation(id.clone());
    if args.state {
        return print_state(globals.output, &conversation.state().await?);
    }
    let total = runtime.store.conversation(&id).await?.nodes;
    let run = args.run(&id, total)?;
    let read = conversation.details(run).await?;
    let asked = args.nodes.map_or(total, |nodes| nodes.last().get().min(total));
    let next = run.last().next();
    let next = (next.get() <= asked).then_some(next);
    let earlier = if args.nodes.is_none() { NodeId::new(run.first().get() - 1) } else { None };
    let output = globals.output;
    let news = news::of(read.losses.notice(&id));
    if output.json {
        let messages = read.nodes.iter().map(|details| Detail::of(&id, details)).collect();
        let lost = read.losses.runs();
        let answer = Of { conversation: &id, answer: Answer { total, shown: run, next, messages, lost } };
        return Ok(output.value(&Noted { answer, notices: &news })?);
    }
    for (place, details) in read.nodes.iter().enumerate() {
        if place > 0 {
            output.line("")?;
        }
        args.print(output, &id, &details.node)?;
    }
    news::print(output, &news);
    if let Some(earlier) = earlier {
        let first = earlier.get().saturating_sub(args.limit.get() - 1).max(1);
        output.note(&format!(
            "{} earlier messages; the ones before: memory show {id} {first}-{earlier}",
            grouped(earlier.get())
        ));
    }
    if let Some(next) = next {
        output.note(&format!("{} more: memory show {id} {next}-{asked}", grouped(asked - run.last().get())));
    }
    Ok(())
}

pub(super) fn print_state(output: Output, state: &DerivedState) -> anyhow::Result<()> {
    if output.json {
        return Ok(output.value(state)?);
    }
    state::print(output, state)?;
    news::print(output, &news::of(state.notices.iter().cloned()));
    Ok(())
}

impl Args {
    /// The messages to show of a conversation of `total` messages.
    fn run(&self, id: &ConversationId, total: u64) -> Result<NodeRange, NotFound> {
        let all = NodeRange::first_n(total).ok_or_else(|| NotFound(format!("`{id}` has no message yet")))?;
        let limit = self.limit.get();
        let shown = match self.nodes {
            None => NodeId::new(total.saturating_sub(limit) + 1).and_then(|first| NodeRange::new(first, all.last())),
            Some(asked) => {
                let last = NodeId::new(asked.first().get().saturating_add(limit - 1)).unwrap_or(asked.last());
                NodeRange::new(asked.first(), last.min(asked.last()).min(all.last()))
            }
        };
        shown.ok_or_else(|| NotFound(format!("`{id}` has messages 1 to {total}")))
    }

    fn print(&self, output: Output, id: &ConversationId, node: &Node) -> std::io::Result<()> {
        output.line(&message::heading(node))?;
        let text = node.message.text();
        match text.char_indices().nth(MOST_CHARS).filter(|_| !self.whole) {
            None => output.text(&text),
            Some((end, _)) => {
                output.text(text.get(..end).unwrap_or_default())?;
                let left = text.get(end..).unwrap_or_default().chars().count();
                let of = grouped(left as u64);
                output.line(&format!("… and {of} characters more: --whole, or memory expand -c {id} {}", node.id))
            }
        }
    }
}
