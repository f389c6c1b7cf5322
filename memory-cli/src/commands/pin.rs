//! `memory pin`: keeps a message verbatim in every view that it fits.

use clap::Args as ClapArgs;
use memory_core::{ConversationId, NodeId};
use schemars::JsonSchema;
use serde::Serialize;

use super::resolve;
use crate::{Access, globals::Globals, open};

/// Keeps a message word for word in every view that it fits, or no longer.
#[derive(Debug, ClapArgs)]
#[command(allow_missing_positional = true)]
pub(crate) struct Args {
    #[command(flatten)]
    conversation: resolve::First,
    /// The message's number
    #[arg(value_name = "NODE", value_parser = resolve::node, required = true)]
    node: NodeId,
    /// Pin it no longer
    #[arg(long)]
    off: bool,
}

/// A pinned or unpinned message.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// Conversation of the message.
    conversation: &'a ConversationId,
    /// Number of the message.
    node: NodeId,
    /// True if the message is pinned now.
    pinned: bool,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Existing)?.without_model())?;
    let id = args.conversation.id(&runtime).await?;
    let (node, pinned) = (args.node, !args.off);
    runtime.memory.conversation(id.clone()).pin(node, pinned).await?;
    let output = globals.output;
    if output.json {
        return Ok(output.value(&Answer { conversation: &id, node, pinned })?);
    }
    let now = if pinned { "pinned" } else { "no longer pinned" };
    Ok(output.line(&format!("message {node} of `{id}` is {now}"))?)
}
