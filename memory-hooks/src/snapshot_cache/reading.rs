//! Updates a snapshot from the store.

use std::sync::Arc;

use memory_core::{
    ConversationId, NodeRange,
    plan::Tree,
    port::{Revision, StoreError},
};

use super::Snapshot;
use crate::{kept_out::Redactor, ports::Ports};

impl Snapshot {
    /// The present snapshot of a conversation.
    pub(crate) async fn read(ports: &Ports, conversation: &ConversationId) -> Result<Self, StoreError> {
        let (mut snapshot, mut revision) = ports.snapshots.known(conversation).unwrap_or_default();
        let is_new = revision == Revision::default();
        let changes = ports.store.changes(conversation, revision).await?;
        if is_new || changes.is_whole {
            let redactor = Arc::new(Redactor::of_keys(ports.detector.clone()));
            snapshot = Self { tree: Arc::new(Tree::new(ports.policy)), redactor, ..Self::default() };
        } else if changes.revision == revision {
            return Ok(snapshot);
        }
        let kept_out = snapshot.tree.kept_out_count();
        revision = changes.revision;
        let tree = snapshot.tree_mut();
        changes.revised.into_iter().for_each(|(node, outline)| tree.revise(node, outline));
        changes.nodes.into_iter().for_each(|node| tree.append(node));
        changes.summaries.into_iter().for_each(|summary| tree.add(summary));
        tree.reserve_numbers(changes.last_summary);
        if snapshot.tree.kept_out_count() != kept_out {
            let kept_out = snapshot.tree.kept_out();
            snapshot.redactor = Arc::new(redactor(ports, conversation, kept_out).await?);
        }
        ports.snapshots.keep(conversation, &snapshot, revision);
        Ok(snapshot)
    }

    /// The redactor as it was when the conversation had only `nodes` messages.
    pub(crate) async fn redactor_of(
        &self,
        ports: &Ports,
        conversation: &ConversationId,
        nodes: u64,
    ) -> Result<Arc<Redactor>, StoreError> {
        let all = self.tree.kept_out();
        let Some(then) = NodeRange::first_n(nodes) else {
            return Ok(Arc::new(Redactor::of_keys(ports.detector.clone())));
        };
        if all.last().is_none_or(|last| then.covers(*last)) {
            return Ok(Arc::clone(&self.redactor));
        }
        let part = |run: NodeRange| NodeRange::new(run.first(), run.last().min(then.last()));
        Ok(Arc::new(redactor(ports, conversation, all.into_iter().map_while(part).collect()).await?))
    }
}

/// The redactor of excluded content.
async fn redactor(
    ports: &Ports,
    conversation: &ConversationId,
    kept_out: Vec<NodeRange>,
) -> Result<Redactor, StoreError> {
    let mut messages = Vec::new();
    for run in kept_out {
        // The terms of a lost message are unknown; summaries written before it was lost are clean.
        // Excluded content stays excluded while its message is disabled.
        let read = ports.store.whole_nodes(conversation, run).await?;
        messages.extend(read.nodes.into_iter().map(|node| node.message));
    }
    Ok(Redactor::of_keys(ports.detector.clone()).and_terms(&messages))
}
