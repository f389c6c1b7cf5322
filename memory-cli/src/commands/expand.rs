//! `memory expand`: prints a message exactly as it was said.

use anyhow::Context as _;
use clap::Args as ClapArgs;
use memory_core::{NodeRange, SummaryId, proof::MessageProof};

use super::{
    message::{self, Detail},
    prove, resolve, show, summaries,
};
use crate::{
    Access,
    failure::{Damage, NotFound, Usage},
    globals::Globals,
    open,
};

/// Prints a message exactly as it was said, several of them, or the words of a summary.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The message's number, a run of them such as 5-7, or a summary by its number, such as s5
    #[arg(value_name = "NODE", value_parser = place)]
    place: Place,
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

/// Things to print.
#[derive(Clone, Copy, Debug)]
enum Place {
    Messages(NodeRange),
    Summary(SummaryId),
}

fn place(text: &str) -> Result<Place, String> {
    match text.starts_with('s') {
        true => resolve::summary(text).map(Place::Summary),
        false => resolve::nodes(text).map(Place::Messages),
    }
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let id = args.conversation.id(&runtime).await?;
    let conversation = runtime.memory.conversation(id.clone());
    let asked = match args.place {
        Place::Messages(nodes) if nodes.count() == 1 => nodes.first(),
        _ if args.proof || args.disabled => {
            return Err(Usage("--proof and --disabled are about one message".to_owned()).into());
        }
        Place::Summary(summary) => {
            return summaries::print_whole(&conversation, summary, args.raw, globals.output).await;
        }
        Place::Messages(_) if args.raw => {
            return Err(Usage("--raw prints one message or summary".to_owned()).into());
        }
        Place::Messages(nodes) => {
            let asked = show::Asked { nodes: Some(nodes), limit: nodes.count(), whole: true };
            return show::messages(&runtime, &id, asked, globals.output).await;
        }
    };
    let mut node = conversation.expand(asked).await?;
    if node.is_disabled && args.disabled {
        let whole = conversation.whole_messages(NodeRange::single(asked)).await?;
        node = whole.into_iter().next().with_context(|| format!("node {asked} cannot be read"))?;
    } else if node.is_disabled {
        let shown = format!("message {asked} is disabled: --disabled prints it");
        if args.proof {
            return Err(Usage(shown).into());
        }
        globals.output.note(&shown);
    }
    if args.proof && node.is_erased {
        return Err(NotFound(format!("message {asked} is erased: nothing is left to prove")).into());
    }
    if args.proof {
        let proofs = prove::proofs(&*runtime.store, &id).await?;
        let proof = MessageProof::new(id, &node, &proofs)
            .map_err(|error| Damage(format!("node {} is not what was hashed when it was said: {error}", node.id)))?;
        return prove::print(globals.output, &proof.into());
    }
    if globals.output.json && !args.raw {
        let found = conversation.details(NodeRange::single(asked)).await?;
        let mut details = found.nodes.into_iter().next().with_context(|| format!("node {asked} cannot be read"))?;
        if node.is_disabled {
            details.node = node;
        }
        return Ok(globals.output.value(&Detail::of(&id, &details))?);
    }
    globals.output.note(&format!("{id}, node {}", message::heading(&node)));
    let text = node.message.text();
    if args.raw { globals.output.exactly(&text) } else { Ok(globals.output.text(&text)?) }
}
