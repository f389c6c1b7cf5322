//! `memory fork`: continues a conversation from one of its messages as a new one.

use clap::Args as ClapArgs;
use memory::parts::Parts;
use memory_core::{
    ConversationId, NodeId,
    port::{ConversationState, StoreError},
};

use super::{list, resolve};
use crate::{
    Access,
    failure::{NotFound, Usage},
    globals::Globals,
    open,
    output::counted,
};

/// Continues a conversation from one of its messages as a new one.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversation: resolve::First,
    /// The last message that both have in common [default: the last one]
    #[arg(long, value_name = "NODE", value_parser = resolve::node)]
    at: Option<NodeId>,
    /// The name of the new conversation [default: ID-fork-1, or the next number that is free]
    #[arg(long = "as", value_name = "NEW_ID")]
    name: Option<String>,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Existing)?.without_model())?;
    let store = runtime.store.as_ref();
    let parent = args.conversation.id(&runtime).await?;
    let last = || async { anyhow::Ok(NodeId::new(store.conversation(&parent).await?.nodes)) };
    let node = match args.at {
        Some(node) => node,
        None => last().await?.ok_or_else(|| NotFound(format!("`{parent}` has no message to fork it at")))?,
    };
    let state = match &args.name {
        Some(name) => store.fork(&parent, node, &named(name)?).await?,
        None => under_a_free_name(&runtime, &parent, node).await?,
    };
    let output = globals.output;
    if output.json {
        return Ok(output.value(&list::listed(&runtime, &state.id).await?)?);
    }
    let (nodes, summaries) =
        (counted(state.nodes, "message", "messages"), counted(state.summaries, "summary", "summaries"));
    let child = &state.id;
    output.line(&format!("{child} continues {parent} after node {node}: {nodes} and {summaries} shared"))?;
    Ok(())
}

fn named(name: &str) -> anyhow::Result<ConversationId> {
    ConversationId::new(name).map_err(|invalid| Usage(invalid.to_string()).into())
}

async fn under_a_free_name(
    runtime: &Parts,
    parent: &ConversationId,
    node: NodeId,
) -> anyhow::Result<ConversationState> {
    let taken = resolve::every(runtime).await?;
    let mut number = 1u64;
    loop {
        let name = named(&format!("{parent}-fork-{number}"))?;
        number += 1;
        if taken.contains(&name) {
            continue;
        }
        match runtime.store.fork(parent, node, &name).await {
            // Another process took the name first.
            Err(StoreError::NameTaken { .. }) => {}
            forked => return Ok(forked?),
        }
    }
}
