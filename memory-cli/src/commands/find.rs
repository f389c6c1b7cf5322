//! `memory find`: finds text by a regular expression.

use std::{collections::BTreeSet, time::Duration};

use clap::Args as ClapArgs;
use memory_core::{
    ConversationId, Node, NodeId, NodeRange,
    port::{Scope, Store, StoreError},
    text::one_line,
};
use memory_search::{FindError, FindRequest, Found, LeftOut, Match, StoppedAt, find};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    message::{self, Brief},
    resolve,
};
use crate::{
    Access,
    failure::{Picture, Usage},
    globals::Globals,
    news::{self, News},
    open,
    output::{Line, Noted, Output, counted, grouped},
};

/// Finds text by a regular expression.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The regular expression, also after the name of its conversation
    pattern: String,
    #[command(flatten)]
    conversations: resolve::SeveralOrAll,
    /// First node to look at, in one conversation
    #[arg(long, value_name = "NODE", value_parser = resolve::node)]
    from: Option<NodeId>,
    /// Last node to look at, in one conversation
    #[arg(long, value_name = "NODE", value_parser = resolve::node)]
    to: Option<NodeId>,
    /// The most matches
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Messages shown before and after each one that matches, at most 20
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=message::MOST_AROUND))]
    context: u64,
    /// Also search disabled messages
    #[arg(long)]
    disabled: bool,
    /// The time limit of the search, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    max_seconds: u64,
}

/// Matches of a search.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// Conversations that were searched.
    conversations: &'a BTreeSet<ConversationId>,
    #[serde(flatten)]
    found: &'a Found,
    /// Matching messages with those around them, with `--context`.
    excerpts: Vec<Around<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Around<'a> {
    /// Conversation of the messages.
    conversation: ConversationId,
    /// Messages in a row.
    messages: Vec<Brief<'a>>,
}

/// Matching messages, with those around them.
struct Excerpt {
    conversation: ConversationId,
    nodes: Vec<Node>,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let (conversations, pattern) = args.conversations.ids(&runtime, &args.pattern, globals.output).await?;
    let conversations: BTreeSet<_> = conversations.into_iter().collect();
    let range = match (args.from, args.to) {
        (None, None) => None,
        (from, to) => {
            let from = from.unwrap_or(NodeId::FIRST);
            let to = to.or_else(|| NodeId::new(u64::MAX)).unwrap_or(from);
            Some(NodeRange::new(from, to).ok_or_else(|| Usage(format!("--from {from} comes after --to {to}")))?)
        }
    };
    let max_time = Duration::from_secs(args.max_seconds);
    let scope = Scope::only(conversations.iter().cloned().collect());
    let request =
        FindRequest::new(&pattern, scope).range(range).limit(args.limit).max_time(max_time).disabled(args.disabled);
    let mut found = find(&*runtime.store, &request).await.map_err(explained)?;
    let excerpts = excerpts(&*runtime.store, &mut found, args.context).await?;
    let output = globals.output;
    let mut news = news::of(found.losses.iter().filter_map(|(id, losses)| losses.notice(id)));
    if let Some(LeftOut { conversation, node, from, length, .. }) = &found.left_out {
        news.push(News::end_left_out(conversation, *node, *from, *length));
    }
    if let Some(StoppedAt { conversation, node, .. }) = &found.stopped_at {
        news.push(News::out_of_time(conversation, *node, conversations.last() == Some(conversation)));
    }
    if output.json {
        let excerpts = excerpts.iter().map(|Excerpt { conversation, nodes }| Around {
            conversation: conversation.clone(),
            messages: nodes.iter().map(Brief::of).collect(),
        });
        let excerpts = excerpts.collect();
        let answer = Answer { conversations: &conversations, found: &found, excerpts };
        return Ok(output.value(&Noted { answer, notices: &news })?);
    }
    let names = resolve::ShownNames::of(&runtime).await?;
    let prefix = |id: &ConversationId, sign| {
        if conversations.len() > 1 { format!("{}{sign}", names.name(id)) } else { String::new() }
    };
    if args.context == 0 {
        let before = |one: &Match| format!("{}{}:{}: ", prefix(&one.conversation, ":"), one.node, one.line);
        found.matches.iter().try_for_each(|one| mark(output, &before(one), one))?;
    }
    for (place, Excerpt { conversation, nodes }) in excerpts.iter().enumerate() {
        if place > 0 {
            output.line("--")?;
        }
        for node in nodes {
            let mut matches =
                found.matches.iter().filter(|one| one.node == node.id && one.conversation == *conversation).peekable();
            if matches.peek().is_none() {
                output.line(&format!("{}{}- {}", prefix(conversation, "-"), node.id, message::beginning(node)))?;
            }
            let said = |one: &Match| {
                format!("{}{}:{}: {}: ", prefix(conversation, ":"), one.node, one.line, node.message.voice())
            };
            matches.try_for_each(|one| mark(output, &said(one), one))?;
        }
    }
    news::print(output, &news);
    let count = found.matches.len();
    let matches = if count == 1 { "1 match".to_owned() } else { format!("{} matches", grouped(count as u64)) };
    let searched = match found.scanned {
        0 if found.more => String::new(),
        1 => "; 1 message was searched to its end".to_owned(),
        scanned => format!("; {} searched to the end", counted(scanned, "message was", "messages were")),
    };
    let more = if found.more { "; there are more: raise --limit" } else { "" };
    output.note(&format!("{matches}{searched}{more}"));
    Ok(())
}

fn explained(error: FindError) -> anyhow::Error {
    match error {
        // The text marks the place below the pattern; a pattern of several lines is shown with line numbers.
        FindError::Pattern { pattern, why } => {
            Picture(format!("`{}` cannot be searched for: {why}", one_line(&pattern))).into()
        }
        FindError::RangeOfSeveral { conversations } => {
            let why = "--from and --to are nodes of one conversation";
            Usage(format!("{why}, not of {conversations}: say which by --conversation")).into()
        }
        other => other.into(),
    }
}

/// The matching messages, with `context` more on each side; overlapping or touching runs are one excerpt. Empty without
/// context. Messages that cannot be read are added to the losses.
async fn excerpts(store: &dyn Store, found: &mut Found, context: u64) -> Result<Vec<Excerpt>, StoreError> {
    let mut excerpts = Vec::new();
    if context == 0 {
        return Ok(excerpts);
    }
    for matches in found.matches.chunk_by(|a, b| a.conversation == b.conversation) {
        let Some(Match { conversation, .. }) = matches.first() else { continue };
        for run in NodeRange::merge(matches.iter().map(|one| message::around(one.node, context)).collect()) {
            let read = store.readable_nodes(conversation, run).await?;
            if !read.losses.is_empty() {
                found.losses.entry(conversation.clone()).or_default().extend(&read.losses);
            }
            excerpts.push(Excerpt { conversation: conversation.clone(), nodes: read.nodes });
        }
    }
    Ok(excerpts)
}

/// Prints the line of a match after the text `before`.
fn mark(output: Output, before: &str, one: &Match) -> std::io::Result<()> {
    let line = Line::default().plain(&format!("{before}{}", one.before));
    output.marked(&line.highlighted(&one.matched).plain(&one.after))
}
