//! `memory expand`: prints a message exactly as it was said.

use clap::Args as ClapArgs;
use memory_core::{ConversationId, MessageProof, Node, NodeId, message_to_json};
use serde_json::{Value, json};

use super::{prove, resolve};
use crate::{
    Access,
    failure::Damage,
    globals::Globals,
    open,
    output::{decimal, known},
};

/// Prints a message exactly as it was said.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The node's number
    #[arg(value_parser = resolve::node)]
    node: NodeId,
    #[command(flatten)]
    conversation: resolve::One,
    /// Print a proof that it is the message that was said, for `verify-proof`
    #[arg(long)]
    proof: bool,
    /// Print the text exactly, for a program: without this flag, terminal control characters are escaped
    #[arg(long, conflicts_with = "proof")]
    raw: bool,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let id = args.conversation.id(&runtime).await?;
    let node = runtime.memory.conversation(id.clone()).expand(args.node).await?;
    if args.proof {
        let proofs = prove::proofs(&*runtime.store, &id).await?;
        let proof = MessageProof::new(id, &node, &proofs)
            .map_err(|error| Damage(format!("node {} is not what was hashed when it was said: {error}", node.id)))?;
        return prove::print(globals.output, &proof.into());
    }
    if globals.output.json && !args.raw {
        return Ok(globals.output.value(&to_json(&id, &node))?);
    }
    globals.output.note(&format!("{id}, node {}", heading(&node)));
    let text = node.message.text();
    if args.raw { globals.output.exactly(&text) } else { Ok(globals.output.text(&text)?) }
}

/// The number of a message, who said it and when.
pub(super) fn heading(node: &Node) -> String {
    let at = if node.at.is_known() { node.at.to_string() } else { "at no known time".to_owned() };
    let pinned = if node.pinned { ", pinned" } else { "" };
    format!("{}: {}, {at}{pinned}", node.id, node.message.voice())
}

pub(super) fn to_json(id: &ConversationId, node: &Node) -> Value {
    json!({
        "conversation": id.as_str(),
        "node": node.id.get(),
        "at": known(node.at),
        "kind": node.kind().as_str(),
        "tokens": node.tokens,
        "lines": node.line_count,
        "importance": decimal(node.importance),
        "pinned": node.pinned,
        "message": message_to_json(&node.message),
        "text": node.message.text(),
    })
}
