//! `memory disable` and `memory enable`: keep messages and summaries out of every view and search, and bring them back.

use std::collections::BTreeMap;

use clap::Args as ClapArgs;
use memory::parts::{Conversation, Parts};
use memory_core::{ConversationId, Disabling, NodeId, NodeRange, SummaryId, port::Scope};
use memory_search::{FindRequest, TextPattern};
use schemars::JsonSchema;
use serde::Serialize;

use super::resolve;
use crate::{
    Access,
    failure::Usage,
    globals::Globals,
    open,
    output::{Output, counted, known},
};

/// Keeps messages out of every view and search until they are enabled; nothing is lost.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    what: What,
    /// Show what was disabled and enabled, when and by whom
    #[arg(long, conflicts_with_all = ["nodes", "from", "matching", "summary"])]
    list: bool,
}

/// Brings disabled messages back.
#[derive(Debug, ClapArgs)]
pub(crate) struct EnableArgs {
    #[command(flatten)]
    what: What,
    /// All that is disabled in the conversation
    #[arg(long, conflicts_with_all = ["nodes", "from", "matching", "summary"])]
    all: bool,
}

#[derive(Debug, ClapArgs)]
struct What {
    /// A conversation: its name or the beginning of it, its title, or `last`
    #[arg(long, short, value_name = "ID", required_unless_present = "matching")]
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
    /// Every message in which this regular expression matches, in the conversation or in all
    #[arg(long, value_name = "PATTERN", conflicts_with_all = ["nodes", "from"])]
    matching: Option<String>,
    /// A summary by its number, as `memory summaries` lists it; may be repeated
    #[arg(long, value_name = "N", value_parser = resolve::summary, conflicts_with_all = ["nodes", "from", "matching"])]
    summary: Vec<SummaryId>,
    /// Name recorded with the change; `memory disable --list` shows it
    #[arg(long, value_name = "NAME", default_value = "")]
    by: String,
}

/// Changes that were made, or all of them with `--list`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// Changes by conversation, in order.
    conversations: Vec<Changed>,
}

/// Changes of what is disabled in a conversation.
#[derive(Debug, Serialize, JsonSchema)]
struct Changed {
    /// The conversation.
    conversation: ConversationId,
    /// Changes in the order in which they were made; none where it was so already.
    changes: Vec<Disabling>,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let access = if args.list { Access::Read } else { Access::Existing };
    let parts = open(&globals.config(access)?.without_model())?;
    if args.list {
        let id = resolve::conversation(&parts, args.what.conversation.as_deref()).await?;
        let changes = parts.memory.conversation(id.clone()).disablings().await?;
        return print(globals.output, vec![Changed { conversation: id, changes }], "nothing was ever disabled");
    }
    let changed = change(&parts, &args.what, true).await?;
    print(globals.output, changed, "nothing to disable: it is disabled or erased already, or nothing matches")
}

pub(crate) async fn enable(args: &EnableArgs, globals: &Globals) -> anyhow::Result<()> {
    let parts = open(&globals.config(Access::Existing)?.without_model())?;
    let changed = match args.all {
        true => {
            let id = resolve::conversation(&parts, args.what.conversation.as_deref()).await?;
            all(&parts.memory.conversation(id), &args.what.by).await?
        }
        false => change(&parts, &args.what, false).await?,
    };
    print(globals.output, changed, "nothing to enable: it is not disabled, or nothing matches")
}

/// Enables all that is disabled in a conversation.
async fn all(conversation: &Conversation, by: &str) -> anyhow::Result<Vec<Changed>> {
    let changes = conversation.disablings().await?;
    let nodes: Vec<_> = changes.iter().flat_map(|change| change.nodes.iter().copied()).collect();
    let summaries: Vec<_> = changes.iter().flat_map(|change| change.summaries.iter().copied()).collect();
    let mut done = Vec::new();
    if !nodes.is_empty() {
        done.push(conversation.enable(nodes, by).await?);
    }
    if !summaries.is_empty() {
        done.push(conversation.enable_summaries(summaries, by).await?);
    }
    done.retain(|change| !change.is_empty());
    Ok(vec![Changed { conversation: conversation.id().clone(), changes: done }])
}

async fn change(parts: &Parts, what: &What, is_disabled: bool) -> anyhow::Result<Vec<Changed>> {
    let named = match &what.conversation {
        Some(name) => Some(resolve::conversation(parts, Some(name)).await?),
        None => None,
    };
    let mut nodes: BTreeMap<ConversationId, Vec<NodeRange>> = BTreeMap::new();
    match (&what.matching, named) {
        (Some(pattern), named) => {
            if let Err(error) = TextPattern::compile(pattern)
                && let Some(fault) = error.pattern_fault()
            {
                let pattern = memory_core::text::one_line(pattern);
                return Err(Usage(format!("`{pattern}` is not a regular expression: {fault}")).into());
            }
            let scope = named.map_or_else(Scope::all, |one| Scope::one(&one));
            // Messages that forks share are disabled in each of them, and a search of all finds them in one.
            for state in scope.states(&*parts.store).await? {
                let request = FindRequest::new(pattern, Scope::one(&state.id)).disabled(true);
                let found = parts.memory.find(request).await?.matches;
                if !found.is_empty() {
                    nodes.insert(state.id, found.into_iter().map(|found| NodeRange::single(found.node)).collect());
                }
            }
        }
        (None, Some(id)) if !what.summary.is_empty() => {
            let conversation = parts.memory.conversation(id);
            let change = match is_disabled {
                true => conversation.disable_summaries(what.summary.clone(), &what.by).await?,
                false => conversation.enable_summaries(what.summary.clone(), &what.by).await?,
            };
            let changes = Some(change).filter(|change| !change.is_empty()).into_iter().collect();
            return Ok(vec![Changed { conversation: conversation.id().clone(), changes }]);
        }
        (None, Some(id)) => {
            let mut runs = what.nodes.clone();
            if let (Some(from), Some(to)) = (what.from, what.to) {
                runs.push(NodeRange::new(from, to).ok_or_else(|| Usage("--to comes before --from".to_owned()))?);
            }
            if runs.is_empty() {
                let why = "say which: messages by their numbers or --from and --to, --matching a pattern, or --summary";
                return Err(Usage(why.to_owned()).into());
            }
            nodes.insert(id, runs);
        }
        (None, None) => return Err(Usage("name a conversation, or give --matching".to_owned()).into()),
    }
    let mut changed = Vec::new();
    for (id, runs) in nodes {
        let conversation = parts.memory.conversation(id.clone());
        let change = match is_disabled {
            true => conversation.disable(runs, &what.by).await?,
            false => conversation.enable(runs, &what.by).await?,
        };
        let changes = Some(change).filter(|change| !change.is_empty()).into_iter().collect();
        changed.push(Changed { conversation: id, changes });
    }
    Ok(changed)
}

fn print(output: Output, conversations: Vec<Changed>, nothing: &str) -> anyhow::Result<()> {
    if output.json {
        return Ok(output.value(&Answer { conversations })?);
    }
    if conversations.iter().all(|changed| changed.changes.is_empty()) {
        return Ok(output.line(nothing)?);
    }
    for Changed { conversation, changes } in &conversations {
        for change in changes {
            let what = if change.is_disabled { "disabled" } else { "enabled" };
            let runs: Vec<_> = change.nodes.iter().map(ToString::to_string).collect();
            let summaries: Vec<_> = change.summaries.iter().map(|id| format!("summary {id}")).collect();
            let count = change.nodes.iter().map(|run| run.count()).sum();
            let messages = format!("{} {}", counted(count, "message", "messages"), runs.join(", "));
            let which =
                Some(messages).filter(|_| count > 0).into_iter().chain(summaries).collect::<Vec<_>>().join(", ");
            let by = if change.by.is_empty() { String::new() } else { format!(" by {}", change.by) };
            let at = known(change.at).map_or_else(String::new, |at| format!(", {at}"));
            output.line(&format!("{what} in {conversation}: {which}{by}{at}"))?;
        }
    }
    Ok(())
}
