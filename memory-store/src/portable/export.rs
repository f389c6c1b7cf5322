//! From a store to the lines of a file.

use std::io::{self, Write};

use memory_core::{
    ConversationId, Disabling, Hash, NodeRange, NoteId, Summary,
    port::{ConversationState, Note, Progress, Store, StoreError},
    proof::{MerkleFrontier, canonical_bytes, leaf_hash},
};
use serde::Serialize;

use super::{
    ExchangeError, NOTES, RUN, RUN_BYTES,
    line::{Closing, Header, NodeLine, NoteLine, SummaryLine},
    run,
};

/// Result of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Exported {
    /// The conversation.
    pub conversation: ConversationId,
    /// Its messages.
    pub nodes: u64,
    /// Its summaries.
    pub summaries: u64,
    /// Its summaries that cannot be read any more, which are left out.
    pub lost_summaries: u64,
    /// Its notes.
    pub notes: u64,
    /// Its notes that cannot be read any more, which are left out.
    pub lost_notes: u64,
    /// The Merkle root over its messages.
    pub root: Hash,
}

/// Writes a conversation, as far as it reaches when the call begins, as lines of JSON.
///
/// Messages are read in runs, so that memory is bounded. The last line closes the export; without it a reader refuses
/// the file.
///
/// # Errors
/// [`ExchangeError`]; the output is not a valid export then.
pub async fn export(
    store: &dyn Store,
    conversation: &ConversationId,
    out: &mut dyn Write,
    progress: &dyn Progress,
) -> Result<Exported, ExchangeError> {
    let state = store.conversation(conversation).await?;
    let root = root(store, conversation, state.nodes).await?;
    // Read after the nodes were counted; later summaries belong to a later export.
    let mut summaries = store.summaries(conversation).await?;
    let lost_summaries = state.summaries.saturating_sub(summaries.len() as u64);
    summaries.retain(|summary| summary.body.span.last().get() <= state.nodes);
    let mut notes = 0;
    each_note(store, &state, |_| {
        notes += 1;
        Ok(())
    })
    .await?;
    let as_messages = if state.has_notes_as_messages() { state.nodes } else { 0 };
    let lost_notes = state.notes.saturating_sub(as_messages + notes);
    let of_views = summaries.iter().any(|summary| summary.body.for_view);
    let disabled = disabled(store, &state, &mut summaries).await?;
    let has_disabled = state.disabled > 0 || summaries.iter().any(|summary| summary.is_disabled);
    let header = Header::new(&state, [state.nodes, summaries.len() as u64, notes], [of_views, has_disabled], root);

    let mut lines = Lines::new(out);
    lines.push(&header)?;
    let said = nodes(store, &state, &disabled, &mut lines, progress).await?;
    if said != root {
        return Err(ExchangeError::Damaged { conversation: conversation.clone() });
    }
    summaries.iter().try_for_each(|summary| lines.push(&SummaryLine::new(summary)))?;
    let mut number = 0;
    each_note(store, &state, |note| {
        number += 1;
        lines.push(&NoteLine::new(number, note))
    })
    .await?;
    lines.close(root)?;
    let (nodes, summaries) = (header.nodes, header.summaries);
    Ok(Exported { conversation: conversation.clone(), nodes, summaries, lost_summaries, notes, lost_notes, root })
}

/// Reads the texts of disabled summaries, and the changes of what is disabled.
async fn disabled(
    store: &dyn Store,
    state: &ConversationState,
    summaries: &mut [Summary],
) -> Result<Vec<Disabling>, ExchangeError> {
    let ids: Vec<_> = summaries.iter().filter(|summary| summary.is_disabled).map(|summary| summary.id).collect();
    let whole = if ids.is_empty() { Vec::new() } else { store.whole_summaries_of(&state.id, &ids).await? };
    for whole in whole {
        summaries.iter_mut().filter(|summary| summary.id == whole.id).for_each(|summary| *summary = whole.clone());
    }
    Ok(if state.disabled > 0 { store.disablings(&state.id).await? } else { Vec::new() })
}

/// Passes the notes of a conversation to `take`, in order.
async fn each_note(
    store: &dyn Store,
    state: &ConversationState,
    mut take: impl FnMut(&Note) -> Result<(), ExchangeError>,
) -> Result<(), ExchangeError> {
    let mut done = 0;
    while done < state.notes {
        let last = state.notes.min(done + NOTES);
        let read = store.notes(&state.id, NoteId::after(done), NoteId::after(last - 1)).await?;
        read.iter().try_for_each(&mut take)?;
        done = last;
    }
    Ok(())
}

/// The root over the leaves of the first nodes.
async fn root(store: &dyn Store, conversation: &ConversationId, nodes: u64) -> Result<Hash, ExchangeError> {
    let mut frontier = MerkleFrontier::new();
    while let Some(run) = run(frontier.len(), RUN as u64, nodes) {
        let proofs = store.proofs(conversation, run).await.map_err(|error| incomplete(conversation, error))?;
        proofs.iter().for_each(|proof| frontier.push(proof.leaf));
        all_there(conversation, run, proofs.len())?;
    }
    Ok(frontier.root())
}

/// Writes the first nodes and gives the root over their contents.
async fn nodes(
    store: &dyn Store,
    state: &ConversationState,
    disabled: &[Disabling],
    lines: &mut Lines<'_>,
    progress: &dyn Progress,
) -> Result<Hash, ExchangeError> {
    let (conversation, nodes) = (&state.id, state.nodes);
    let mut frontier = MerkleFrontier::new();
    // Grows while messages are short.
    let mut at_once = 16;
    while let Some(run) = run(frontier.len(), at_once as u64, nodes) {
        let mut read =
            store.nodes_with_proofs(conversation, run).await.map_err(|error| incomplete(conversation, error))?;
        if read.iter().any(|(node, _)| node.is_disabled) {
            let whole = store.whole_nodes(conversation, run).await?.nodes;
            read.iter_mut().zip(whole).for_each(|((node, _), whole)| *node = whole);
        }
        all_there(conversation, run, read.len())?;
        let before = lines.bytes;
        for (node, proof) in &read {
            let hashed = || leaf_hash(&proof.salt, &canonical_bytes(&node.message, node.at));
            frontier.push(if node.is_erased { proof.leaf } else { hashed() });
            let changes = || disabled.iter().rev().find(|change| change.nodes.iter().any(|run| run.contains(node.id)));
            let since = if node.is_disabled { Some(changes().map_or(node.at, |change| change.at)) } else { None };
            lines.push(&NodeLine::new(node, *proof, since).map_err(io::Error::from).map_err(ExchangeError::Write)?)?;
        }
        let bytes = usize::try_from(lines.bytes - before).unwrap_or(usize::MAX);
        at_once = (RUN_BYTES / (bytes / read.len().max(1)).max(1)).clamp(1, RUN);
        progress.report(frontier.len(), nodes);
    }
    Ok(frontier.root())
}

fn incomplete(conversation: &ConversationId, source: StoreError) -> ExchangeError {
    if source.is_damage() {
        return ExchangeError::Incomplete { conversation: conversation.clone(), source };
    }
    source.into()
}

fn all_there(conversation: &ConversationId, run: NodeRange, read: usize) -> Result<(), ExchangeError> {
    if read as u64 == run.count() {
        return Ok(());
    }
    Err(ExchangeError::Damaged { conversation: conversation.clone() })
}

/// Lines to be written, hashed as they go.
struct Lines<'w> {
    out: &'w mut dyn Write,
    digest: blake3::Hasher,
    lines: u64,
    bytes: u64,
}

impl<'w> Lines<'w> {
    fn new(out: &'w mut dyn Write) -> Self {
        Self { out, digest: blake3::Hasher::new(), lines: 0, bytes: 0 }
    }

    fn push(&mut self, line: &impl Serialize) -> Result<(), ExchangeError> {
        self.write(line).map_err(ExchangeError::Write)
    }

    fn write(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.digest.update(&text);
        self.lines += 1;
        self.bytes += text.len() as u64;
        self.out.write_all(&text)
    }

    fn close(mut self, root: Hash) -> Result<(), ExchangeError> {
        let digest = Hash::from_bytes(*self.digest.finalize().as_bytes());
        let closing = Closing::new(self.lines, root, digest);
        self.push(&closing)?;
        self.out.flush().map_err(ExchangeError::Write)
    }
}
