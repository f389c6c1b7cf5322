//! `memory show`: prints messages of a conversation verbatim, or its state.

use std::{io, num::NonZeroU64};

use clap::Args as ClapArgs;
use memory::parts::Parts;
use memory_core::{ConversationId, Node, NodeId, NodeRange, RelationKind};
use memory_hooks::{Conversation, DerivedState, DetailedNodes, Link, Statement};
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
    news::{self, News},
    open,
    output::{Noted, Of, Output, grouped, known},
};

/// Most characters of a message that are shown.
const MOST_CHARS: usize = 4_000;

/// Prints messages of a conversation word for word, or its state.
///
/// Without numbers these are the last ones. `memory expand` prints one message for a program, `memory browse` the
/// levels of a conversation with the beginnings of its messages.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversation: resolve::First,
    /// Messages to print: 40-80, or 40 alone [default: the last ones]
    #[arg(value_name = "FIRST-LAST", value_parser = resolve::nodes)]
    nodes: Option<NodeRange>,
    /// The most messages
    #[arg(long, value_name = "N", default_value = "20")]
    limit: NonZeroU64,
    /// Show long messages to their ends, as --json does
    #[arg(long)]
    whole: bool,
    /// Print what the conversation is for instead: its goal, rules, decisions, open questions and subjects, by rules
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
    if args.state {
        return print_state(globals.output, &runtime.memory.conversation(id).state().await?);
    }
    let asked = Asked { nodes: args.nodes, limit: args.limit.get(), whole: args.whole };
    messages(&runtime, &id, asked, globals.output).await
}

/// Messages to print.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// The messages; `None` for the last ones.
    pub(crate) nodes: Option<NodeRange>,
    /// The most messages.
    pub(crate) limit: u64,
    /// True to print long messages to their ends.
    pub(crate) whole: bool,
}

pub(super) async fn messages(runtime: &Parts, id: &ConversationId, args: Asked, output: Output) -> anyhow::Result<()> {
    let conversation = runtime.memory.conversation(id.clone());
    let shown = args.read(&conversation).await?;
    if output.json {
        return Ok(output.value(&shown.answer())?);
    }
    let Shown { total, run, next, read, news, .. } = &shown;
    let asked = args.nodes.map_or(*total, |nodes| nodes.last().get().min(*total));
    let earlier = if args.nodes.is_none() { NodeId::new(run.first().get() - 1) } else { None };
    for (place, details) in read.nodes.iter().enumerate() {
        if place > 0 {
            output.line("")?;
        }
        args.print(output, id, &details.node)?;
    }
    news::print(output, news);
    if let Some(earlier) = earlier {
        let first = earlier.get().saturating_sub(args.limit - 1).max(1);
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

/// Messages that were read.
pub(crate) struct Shown<'a> {
    conversation: &'a ConversationId,
    total: u64,
    run: NodeRange,
    next: Option<NodeId>,
    read: DetailedNodes,
    news: Vec<News>,
}

impl Shown<'_> {
    pub(crate) fn answer(&self) -> Noted<'_, Of<'_, Answer<'_>>> {
        let Self { conversation, total, run, next, read, news } = self;
        let messages = read.nodes.iter().map(|details| Detail::of(conversation, details)).collect();
        let answer = Answer { total: *total, shown: *run, next: *next, messages, lost: read.losses.runs() };
        Noted { answer: Of { conversation, answer }, notices: news }
    }
}

pub(super) fn print_state(output: Output, state: &DerivedState) -> anyhow::Result<()> {
    if output.json {
        return Ok(output.value(state)?);
    }
    print_sections(output, state)?;
    news::print(output, &news::of(state.notices.iter().cloned()));
    Ok(())
}

impl Asked {
    pub(crate) async fn read(self, conversation: &Conversation) -> anyhow::Result<Shown<'_>> {
        let id = conversation.id();
        let total = conversation.overview().await?.nodes;
        let run = self.run(id, total)?;
        let read = conversation.details(run).await?;
        let asked = self.nodes.map_or(total, |nodes| nodes.last().get().min(total));
        let next = Some(run.last().next()).filter(|next| next.get() <= asked);
        let news = news::of(read.losses.notice(id));
        Ok(Shown { conversation: id, total, run, next, read, news })
    }

    /// The messages to show of a conversation of `total` messages.
    fn run(self, id: &ConversationId, total: u64) -> Result<NodeRange, NotFound> {
        let all = NodeRange::first_n(total).ok_or_else(|| NotFound(format!("`{id}` has no message yet")))?;
        let limit = self.limit;
        let shown = match self.nodes {
            None => NodeId::new(total.saturating_sub(limit) + 1).and_then(|first| NodeRange::new(first, all.last())),
            Some(asked) => {
                let last = NodeId::new(asked.first().get().saturating_add(limit - 1)).unwrap_or(asked.last());
                NodeRange::new(asked.first(), last.min(asked.last()).min(all.last()))
            }
        };
        shown.ok_or_else(|| NotFound(format!("`{id}` has messages 1 to {total}")))
    }

    fn print(self, output: Output, id: &ConversationId, node: &Node) -> io::Result<()> {
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

/// Prints a state as sections of lines.
fn print_sections(output: Output, state: &DerivedState) -> io::Result<()> {
    let derived = |is_derived| if is_derived { " (made of its messages)" } else { "" };
    let title = state.title.as_ref().map(|title| format!("{}{}", title.text, derived(title.is_derived)));
    let [full, summary, meta, archive] = state.nodes_per_level.map(grouped);
    let marks = [(state.important, "important"), (state.archived, "archived")];
    let tags: Vec<_> = marks.iter().filter(|(is_set, _)| *is_set).map(|(_, mark)| (*mark).to_owned()).collect();
    let facts = [
        ("title", title),
        ("marks", Some(tags.join(", ")).filter(|marks| !marks.is_empty())),
        ("tags", Some(state.tags.join(", ")).filter(|tags| !tags.is_empty())),
        (
            "messages",
            Some(format!("{} ({full} full, {summary} summary, {meta} meta, {archive} archive)", grouped(state.nodes))),
        ),
        ("first said", state.first_at.and_then(known)),
        ("last said", state.last_at.and_then(known)),
    ];
    for (name, value) in facts {
        if let Some(value) = value {
            output.line(&format!("{name}: {value}"))?;
        }
    }
    section(output, "goal", state.goal.as_slice(), 0)?;
    section(output, "rules", &state.rules, 0)?;
    section(output, "decided", &state.decisions, state.more_decisions)?;
    section(output, "open", &state.open, state.more_open)?;
    if !state.topics.is_empty() {
        output.line("")?;
        let rows = state.topics.iter().map(|topic| {
            let nodes = format!("{}-{}", topic.first, topic.last);
            [topic.name.clone(), grouped(topic.messages), nodes, format!("{:.1}", topic.weight)]
        });
        output.table(["about", "messages", "nodes", "weight"], rows)?;
    }
    if !state.links.is_empty() {
        output.line("")?;
        for link in &state.links {
            output.line(&format!("message {} {} message {}", link.node, verb(link), link.relation.to))?;
        }
    }
    Ok(())
}

fn section(output: Output, name: &str, statements: &[Statement], more: u64) -> io::Result<()> {
    if statements.is_empty() {
        return Ok(());
    }
    output.line("")?;
    output.line(&format!("{name}:"))?;
    for statement in statements {
        let day = statement.at.civil(0).map(|day| format!(", {}", day.date())).unwrap_or_default();
        let Statement { text, node, speaker, .. } = statement;
        output.line(&format!("- {text} (message {node}, {speaker}{day})"))?;
    }
    if more > 0 {
        output.line(&format!("- and {} more", grouped(more)))?;
    }
    Ok(())
}

fn verb(link: &Link) -> &'static str {
    match link.relation.kind {
        RelationKind::FollowUp => "follows up",
        RelationKind::Correction => "corrects",
    }
}
