//! `memory expand`: prints a message exactly as it was said.

use anyhow::Context as _;
use clap::Args as ClapArgs;
use memory_core::{NodeId, NodeRange, proof::MessageProof};

use super::{
    message::{self, Detail},
    prove, resolve,
};
use crate::{
    Access,
    failure::{Damage, Usage},
    globals::Globals,
    open,
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
    /// Print the message although it is disabled
    #[arg(long)]
    disabled: bool,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let id = args.conversation.id(&runtime).await?;
    let conversation = runtime.memory.conversation(id.clone());
    let mut node = conversation.expand(args.node).await?;
    if node.is_disabled && args.disabled {
        let whole = conversation.whole_messages(NodeRange::single(args.node)).await?;
        node = whole.into_iter().next().with_context(|| format!("node {} cannot be read", args.node))?;
    } else if node.is_disabled {
        let shown = format!("message {} is disabled: --disabled prints it", args.node);
        if args.proof {
            return Err(Usage(shown).into());
        }
        globals.output.note(&shown);
    }
    if args.proof {
        let proofs = prove::proofs(&*runtime.store, &id).await?;
        let proof = MessageProof::new(id, &node, &proofs)
            .map_err(|error| Damage(format!("node {} is not what was hashed when it was said: {error}", node.id)))?;
        return prove::print(globals.output, &proof.into());
    }
    if globals.output.json && !args.raw {
        let found = conversation.details(NodeRange::single(args.node)).await?;
        let mut details =
            found.nodes.into_iter().next().with_context(|| format!("node {} cannot be read", args.node))?;
        if node.is_disabled {
            details.node = node;
        }
        return Ok(globals.output.value(&Detail::of(&id, &details))?);
    }
    globals.output.note(&format!("{id}, node {}", message::heading(&node)));
    let text = node.message.text();
    if args.raw { globals.output.exactly(&text) } else { Ok(globals.output.text(&text)?) }
}
