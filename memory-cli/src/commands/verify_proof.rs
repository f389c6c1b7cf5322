//! `memory verify-proof`: checks a proof, without any store.

use std::{
    fs::File,
    io::{self, Read},
};

use anyhow::Context as _;
use clap::Args as ClapArgs;
use memory_core::{
    ConversationId, Hash, NodeId, Timestamp,
    proof::{HistoryProof, MessageProof, Proof, TreeHead},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    failure::Damage,
    globals::Globals,
    output::{Output, moment},
};

/// Checks a proof, without any store.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The proof that `expand --proof` or `prove` printed; `-` is standard input
    file: String,
    /// A root that you trust: the proof must be about it
    #[arg(long, value_name = "ROOT")]
    root: Option<Hash>,
    /// The number of nodes of that root
    #[arg(long, value_name = "N", requires = "root")]
    nodes: Option<u64>,
}

/// A valid proof of a message.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Inclusion<'a> {
    /// Always true.
    holds: bool,
    /// Kind of the proof: `inclusion`.
    proof: &'static str,
    /// Name of the conversation, which the proof does not cover.
    conversation: &'a ConversationId,
    /// The number of the message.
    node: NodeId,
    /// Number of messages under the root.
    nodes: u64,
    /// Root of the conversation.
    root: Hash,
    /// True if you gave the root, and so trust it.
    root_given: bool,
    /// Time of the message.
    at: Timestamp,
    /// Message, verbatim.
    message: Value,
    /// Text of the message.
    text: String,
}

/// A valid proof of a history.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Consistency<'a> {
    /// Always true.
    holds: bool,
    /// Kind of the proof: `consistency`.
    proof: &'static str,
    /// Name of the conversation, which the proof does not cover.
    conversation: &'a ConversationId,
    /// Earlier root.
    from: Head,
    /// Later root.
    to: Head,
    /// True if you gave one of the roots, and so trust it.
    root_given: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Head {
    /// Number of messages under the root.
    nodes: u64,
    /// Root of the conversation.
    root: Hash,
}

pub(crate) fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let name = if args.file == "-" { "standard input" } else { &args.file };
    let bytes = read(&args.file).with_context(|| format!("cannot read {name}"))?;
    let proof = Proof::parse(&bytes).with_context(|| format!("{name} is not a proof"))?;
    proof.verify().map_err(|error| Damage(format!("the proof does not hold: {error}")))?;
    match &proof {
        Proof::Message(proof) => {
            args.check(&[proof.tree])?;
            print_message(globals.output, proof, args.root.is_some())?;
        }
        Proof::History(proof) => {
            args.check(&[proof.earlier, proof.tree])?;
            print_history(globals.output, proof, args.root.is_some())?;
        }
        _ => anyhow::bail!("{name}: this version cannot check such a proof"),
    }
    if args.root.is_none() {
        globals.output.note(
            "a proof is worth what its root is: compare it with one that you know from `memory verify`, or give that \
             by --root; the conversation's name is not covered by it",
        );
    }
    Ok(())
}

/// Reads one byte more than a proof may have, so that a larger one is detected.
fn read(file: &str) -> io::Result<Vec<u8>> {
    let source: Box<dyn Read> = if file == "-" { Box::new(io::stdin().lock()) } else { Box::new(File::open(file)?) };
    let mut bytes = Vec::new();
    source.take(Proof::MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Args {
    /// Checks that the trusted root is a root of the proof.
    fn check(&self, heads: &[TreeHead]) -> Result<(), Damage> {
        let Some(root) = self.root else { return Ok(()) };
        let trusted = |head: &TreeHead| head.root == root && self.nodes.is_none_or(|nodes| head.nodes == nodes);
        if heads.iter().any(trusted) {
            return Ok(());
        }
        let about: Vec<_> = heads.iter().map(|head| format!("{} over {} nodes", head.root, head.nodes)).collect();
        let over = self.nodes.map(|nodes| format!(" over {nodes} nodes")).unwrap_or_default();
        Err(Damage(format!("the proof is about the root {}, not about {root}{over}", about.join(" and "))))
    }
}

fn print_message(output: Output, proof: &MessageProof, trusted: bool) -> io::Result<()> {
    let MessageProof { conversation, node, tree, at, message, .. } = proof;
    if output.json {
        return output.value(&Inclusion {
            holds: true,
            proof: "inclusion",
            conversation,
            node: *node,
            nodes: tree.nodes,
            root: tree.root,
            root_given: trusted,
            at: *at,
            message: memory_transcripts::exact::message(message),
            text: message.text(),
        });
    }
    output.line(&format!("the proof holds: node {node} of the {} of `{conversation}`, under the root", tree.nodes))?;
    output.line(&format!("  {}", tree.root))?;
    output.line(&format!("is what {} said at {}:", message.speaker_or_role(), moment(*at)))?;
    output.text(&message.text())
}

fn print_history(output: Output, proof: &HistoryProof, trusted: bool) -> io::Result<()> {
    let HistoryProof { conversation, earlier, tree, .. } = proof;
    if output.json {
        let head = |head: &TreeHead| Head { nodes: head.nodes, root: head.root };
        return output.value(&Consistency {
            holds: true,
            proof: "consistency",
            conversation,
            from: head(earlier),
            to: head(tree),
            root_given: trusted,
        });
    }
    output.line(&format!("the proof holds: the {} nodes of `{conversation}` under the root", earlier.nodes))?;
    output.line(&format!("  {}", earlier.root))?;
    output.line(&format!("are, unchanged and in their places, the first of the {} under the root", tree.nodes))?;
    output.line(&format!("  {}", tree.root))
}
