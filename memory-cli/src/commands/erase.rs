//! `memory erase` and `memory forget`: remove messages for good, with a receipt.

use std::{
    io::{self, BufRead, IsTerminal},
    path::PathBuf,
};

use clap::{Args as ClapArgs, ValueHint};
use memory::{
    erasing::{self, EraseError, EraseOptions, EraseRequest, ErasurePlan, ErasureTarget, Receipt},
    parts::Parts,
};
use memory_core::{NodeId, NodeRange, port::Scope};
use memory_search::FindRequest;
use schemars::JsonSchema;
use serde::Serialize;

use super::{message, receipt, resolve};
use crate::{
    Access,
    failure::{Listed, NotFound, Usage},
    globals::Globals,
    open,
    output::{Output, counted, shorten},
};

/// Removes messages for good, and what came from them, and writes a receipt.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// A conversation: its name or the beginning of it, its title, or `last`
    #[arg(long, short, value_name = "ID")]
    conversation: Option<String>,
    /// Numbers of messages, such as 5 or 7-12
    #[arg(value_name = "NODE", value_parser = resolve::nodes, requires = "conversation")]
    nodes: Vec<NodeRange>,
    /// The first message of a run
    #[arg(long, value_name = "NODE", value_parser = resolve::node, requires = "to")]
    from: Option<NodeId>,
    /// The last message of a run
    #[arg(long, value_name = "NODE", value_parser = resolve::node, requires = "from")]
    to: Option<NodeId>,
    /// The whole conversation, with title, tags, notes and recorded views; without --conversation, every conversation of
    /// --owner
    #[arg(long, conflicts_with_all = ["nodes", "from", "document", "matching"])]
    all: bool,
    /// A named text of the conversation, with all its earlier versions
    #[arg(long, value_name = "NAME", requires = "conversation", conflicts_with_all = ["nodes", "from", "matching"])]
    document: Option<String>,
    /// Every message, title, tag and named text in which this regular expression matches, in the conversation or in all
    #[arg(long, value_name = "PATTERN", conflicts_with_all = ["nodes", "from"])]
    matching: Option<String>,
    #[command(flatten)]
    how: How,
}

/// Forgets a conversation, or what a search finds: another name of `memory erase`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ForgetArgs {
    /// The conversation: its name or the beginning of it, its title, or `last`
    #[arg(value_name = "CONVERSATION", required_unless_present = "matching")]
    conversation: Option<String>,
    /// Every message, title, tag and named text in which this regular expression matches, in the conversation or in all
    #[arg(long, value_name = "PATTERN")]
    matching: Option<String>,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, ClapArgs)]
pub(super) struct How {
    /// Erase without a question
    #[arg(long, short)]
    yes: bool,
    /// A directory that `memory backup` was given: the backup is brought up to date; may be repeated
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    backup: Vec<PathBuf>,
    /// Person or program that erases, for the receipt
    #[arg(long, value_name = "NAME", default_value = "")]
    by: String,
}

/// Plan of an erasure, or its receipt.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// Counts of the plan.
    plan: &'a ErasurePlan,
    /// The receipt, once it is erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<&'a Receipt>,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let config = globals.config(Access::Existing)?.without_model();
    let parts = open(&config)?;
    let named = match &args.conversation {
        Some(name) => Some(resolve::conversation(&parts, Some(name)).await?),
        None => None,
    };
    let mut nodes = args.nodes.clone();
    if let (Some(from), Some(to)) = (args.from, args.to) {
        nodes.push(NodeRange::new(from, to).ok_or_else(|| Usage("--to comes before --from".to_owned()))?);
    }
    let owner = config.owner.as_ref().filter(|_| args.all);
    let request = match (named, &args.matching, owner, &args.document) {
        (named, Some(pattern), _, None) => matching(pattern, named),
        (None, None, Some(owner), None) => EraseRequest::Owner(owner.clone()),
        (Some(conversation), None, _, Some(name)) => {
            // The memory tool shows its files below the root.
            EraseRequest::Document { conversation, name: name.trim_start_matches('/').to_owned() }
        }
        (Some(conversation), None, _, None) if args.all && nodes.is_empty() => EraseRequest::Conversation(conversation),
        (Some(conversation), None, _, None) if !nodes.is_empty() => EraseRequest::Nodes { conversation, nodes },
        _ => {
            let why = "say what to erase: messages of a conversation by their numbers or --from and --to, --all of it, \
                       --document of it, --all of an --owner, or --matching a pattern";
            return Err(Usage(why.to_owned()).into());
        }
    };
    erase(&parts, &config, request, &args.how, globals.output).await
}

pub(crate) async fn forget(args: &ForgetArgs, globals: &Globals) -> anyhow::Result<()> {
    let config = globals.config(Access::Existing)?.without_model();
    let parts = open(&config)?;
    let named = match &args.conversation {
        Some(name) => Some(resolve::conversation(&parts, Some(name)).await?),
        None => None,
    };
    let request = match (&args.matching, named) {
        (Some(pattern), named) => matching(pattern, named),
        (None, Some(conversation)) => EraseRequest::Conversation(conversation),
        (None, None) => return Err(Usage("name a conversation, or give --matching".to_owned()).into()),
    };
    erase(&parts, &config, request, &args.how, globals.output).await
}

fn matching(pattern: &str, named: Option<memory_core::ConversationId>) -> EraseRequest {
    let scope = named.map_or_else(Scope::all, |one| Scope::only(vec![one]));
    EraseRequest::Matching(FindRequest::new(pattern, scope))
}

pub(super) async fn erase(
    parts: &Parts,
    config: &memory::Config,
    request: EraseRequest,
    how: &How,
    output: Output,
) -> anyhow::Result<()> {
    let plan = erasing::plan(parts, &request).await?;
    if let EraseRequest::Document { conversation, name } = &request
        && plan.is_empty()
    {
        let name = memory_core::text::one_line(name);
        return Err(NotFound(format!("`{conversation}` has no text named `{name}`")).into());
    }
    let options = EraseOptions::default().by(how.by.clone()).backups(how.backup.clone());
    if plan.is_empty() {
        let mut done = match request {
            // Reads find neither.
            EraseRequest::Matching(_) => {
                "nothing to erase; of titles and tags that were replaced, `memory vacuum --seal` removes the bytes"
            }
            _ => "nothing to erase",
        };
        if !how.backup.is_empty() {
            // A backup may hold what was erased before.
            if !how.yes && !is_agreed(output)? {
                return Err(unagreed());
            }
            match erasing::erase(parts, config, plan.clone(), options).await {
                Err(EraseError::Nothing) => {
                    done = "nothing to erase in the store, and the backups hold nothing more than it";
                }
                erased => drop(erased?),
            }
        }
        if output.json {
            return Ok(output.value(&Answer { plan: &plan, receipt: None })?);
        }
        output.line(done)?;
        return Ok(held(output, &plan)?);
    }
    if !how.yes {
        if output.json {
            output.value(&Answer { plan: &plan, receipt: None })?;
        } else {
            preview(output, &plan)?;
            beginnings(parts, &plan, output).await?;
        }
        if !is_agreed(output)? {
            return Err(unagreed());
        }
    }
    let receipt = erasing::erase(parts, config, plan.clone(), options).await?;
    if output.json {
        return Ok(output.value(&Answer { plan: &plan, receipt: Some(&receipt) })?);
    }
    receipt::print(output, &receipt)?;
    held(output, &plan)?;
    Ok(output.line(&format!("`memory receipt show {}` shows this again, and `verify` checks it", receipt.id))?)
}

/// The error for a question that was not answered with yes.
fn unagreed() -> anyhow::Error {
    let text = "nothing was erased: --yes erases it without a question".to_owned();
    Listed { text, is_missing: false }.into()
}

/// Prints the title and the first words of each conversation that is erased as a whole.
async fn beginnings(parts: &Parts, plan: &ErasurePlan, output: Output) -> anyhow::Result<()> {
    for target in plan.conversations.iter().filter(|target| target.is_whole) {
        let conversation = parts.memory.conversation(target.conversation.clone());
        if let Some(title) = conversation.title().await?.filter(|title| !title.is_derived) {
            output.line(&format!("  title: {}", title.text))?;
        }
        let first = parts.store.readable_nodes(&target.conversation, NodeRange::single(NodeId::FIRST)).await?;
        for node in &first.nodes {
            output.line(&format!("  begins: {}", shorten(&message::beginning(node), MOST_BEGINNING)))?;
        }
    }
    Ok(())
}

/// Most characters of the first message.
const MOST_BEGINNING: usize = 100;

/// Asks on a terminal; without one the answer is no.
fn is_agreed(output: Output) -> io::Result<bool> {
    if output.json || !io::stdin().is_terminal() {
        return Ok(false);
    }
    output.line("This cannot be undone. Type `erase` to erase it:")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(answer.trim() == "erase")
}

pub(super) fn preview(output: Output, plan: &ErasurePlan) -> io::Result<()> {
    for target in &plan.conversations {
        let ErasureTarget { conversation, nodes, messages, summaries, views, notes, is_whole, .. } = target;
        let runs: Vec<_> = nodes.iter().take(12).map(ToString::to_string).collect();
        let more = if nodes.len() > runs.len() { ", …" } else { "" };
        let which = if runs.is_empty() { String::new() } else { format!(" ({}{more})", runs.join(", ")) };
        let what = if *is_whole { "all of " } else { "" };
        output.line(&format!(
            "{what}{conversation}: {}{which}, {}, {}, {}",
            counted(*messages, "message", "messages"),
            counted(*summaries, "summary", "summaries"),
            counted(*notes, "note", "notes"),
            counted(*views, "recorded view", "recorded views")
        ))?;
        if target.with_title && !is_whole {
            output.line("  its title, whose words are those of an erased message or the pattern")?;
        }
        if !target.tags.is_empty() {
            output.line(&format!("  its tags {}", target.tags.join(", ")))?;
        }
        for document in target.documents.iter().filter(|_| !is_whole) {
            output.line(&format!("  the text `{document}`, with all its versions"))?;
        }
        for other in &target.shared_with {
            output.line(&format!("  {other} shares some of these messages: they are erased there as well"))?;
        }
        if target.kept > 0 {
            output.line(&format!("  messages 1-{} are shared with its parent, and stay", target.kept))?;
        }
    }
    held(output, plan)
}

/// Places that hold the pattern and stay.
fn held(output: Output, plan: &ErasurePlan) -> io::Result<()> {
    plan.held.iter().try_for_each(|held| output.line(&format!("note: {held}")))
}
