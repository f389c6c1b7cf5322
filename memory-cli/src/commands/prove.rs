//! `memory prove`: proves that nothing was changed since an earlier root.

use anyhow::Context as _;
use clap::Args as ClapArgs;
use memory_core::{
    ConversationId, Hash, NodeRange,
    port::{NodeProof, Store},
    proof::{HistoryProof, Proof, ProofError, TreeHead},
};

use super::resolve;
use crate::{
    Access,
    failure::{Damage, NotFound, Usage},
    globals::Globals,
    open,
    output::Output,
};

/// Proves that nothing was changed since an earlier root.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversation: resolve::First,
    /// The earlier root, as `verify` printed it
    #[arg(long, value_name = "ROOT")]
    from: Hash,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let id = args.conversation.id(&runtime).await?;
    if args.from == TreeHead::of(&[]).root {
        let why = "--from is the root of no nodes, with which every conversation begins: there is nothing to prove";
        return Err(Usage(why.to_owned()).into());
    }
    // A leaf is stored next to its message: only a new hash of the message shows that they still match.
    let verification = runtime.store.verify(Some(&id)).await?;
    if !verification.is_whole() {
        let why = format!("`{id}` is damaged, so nothing can be proven about it; `memory verify` reports where");
        return Err(Damage(why).into());
    }
    let leaves: Vec<Hash> = proofs(&*runtime.store, &id).await?.iter().map(|proof| proof.leaf).collect();
    let proof = HistoryProof::new(id.clone(), &leaves, &args.from).map_err(|error| match error {
        ProofError::NeverHad { root, size } => anyhow::Error::new(NotFound(format!(
            "`{id}` has {size} nodes and at none of them had the root {root}: that is the root of another \
             conversation or of several together, or an earlier message was changed"
        ))),
        other => other.into(),
    })?;
    let (earlier, nodes) = (proof.earlier.nodes, proof.tree.nodes);
    print(globals.output, &proof.into())?;
    globals.output.note(&format!("the first {earlier} of the {nodes} nodes of `{id}` are as they were"));
    Ok(())
}

/// Salts and leaves of all nodes of a conversation.
pub(super) async fn proofs(store: &dyn Store, id: &ConversationId) -> anyhow::Result<Vec<NodeProof>> {
    Ok(match NodeRange::first_n(store.conversation(id).await?.nodes) {
        Some(all) => store.proofs(id, all).await?,
        None => Vec::new(),
    })
}

/// Prints the document, which is JSON with and without `--json`.
pub(super) fn print(output: Output, proof: &Proof) -> anyhow::Result<()> {
    let document = proof.to_json();
    Proof::parse(document.to_string().as_bytes()).context("`verify-proof` could not read this proof")?;
    Ok(output.value(&document)?)
}
