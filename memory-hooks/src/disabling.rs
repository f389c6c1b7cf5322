//! Messages and summaries that are disabled: not shown and not recalled, and kept.

use memory_core::{
    Disabling, Node, NodeId, NodeRange, SummaryId,
    plan::turns,
    port::{Event, StoreError},
};

use crate::{Conversation, MemoryError};

impl Conversation {
    /// Disables messages: no prompt shows them, no summary is made of them, and nothing recalls or finds them, until they
    /// are [enabled](Self::enable). A line says where they were. They stay in the log, with their leaves and keys;
    /// [`whole_messages`](Self::whole_messages) reads them. A call of a tool goes with its results. What was recorded of
    /// earlier prompts stays, and is shown again as it was.
    ///
    /// Returns what changed: without those that are disabled or erased already. `by` is the person or program, for
    /// [`disablings`](Self::disablings).
    ///
    /// # Errors
    /// If a run begins after the last message, the conversation does not exist, or the store fails.
    pub async fn disable(&self, nodes: Vec<NodeRange>, by: &str) -> Result<Disabling, MemoryError> {
        self.change_messages(nodes, by, true).await
    }

    /// Enables disabled messages again, with the summaries that were made of them.
    ///
    /// # Errors
    /// As for [`Self::disable`].
    pub async fn enable(&self, nodes: Vec<NodeRange>, by: &str) -> Result<Disabling, MemoryError> {
        self.change_messages(nodes, by, false).await
    }

    /// Disables summaries. In the place of a META or an ARCHIVE its parts are shown, and `[disabled]` in that of a
    /// SUMMARY. Summaries that were made from them are made again.
    ///
    /// # Errors
    /// If a summary is not there, the conversation does not exist, or the store fails.
    pub async fn disable_summaries(&self, summaries: Vec<SummaryId>, by: &str) -> Result<Disabling, MemoryError> {
        self.change_summaries(summaries, by, true).await
    }

    /// Enables disabled summaries again.
    ///
    /// # Errors
    /// As for [`Self::disable_summaries`].
    pub async fn enable_summaries(&self, summaries: Vec<SummaryId>, by: &str) -> Result<Disabling, MemoryError> {
        self.change_summaries(summaries, by, false).await
    }

    /// All changes of what is disabled, in order: what, when and by whom.
    ///
    /// # Errors
    /// If the conversation does not exist, or the store fails.
    pub async fn disablings(&self) -> Result<Vec<Disabling>, MemoryError> {
        self.call(|this| async move { Ok(this.parts.store.disablings(&this.id).await?) }).await
    }

    /// The existing messages of a run, verbatim, also disabled ones.
    ///
    /// # Errors
    /// If one of them cannot be read, or the conversation does not exist.
    pub async fn whole_messages(&self, range: NodeRange) -> Result<Vec<Node>, MemoryError> {
        self.call(move |this| async move {
            let read = this.parts.store.whole_nodes(&this.id, range).await?;
            if read.losses.is_empty() {
                return Ok(read.nodes);
            }
            // The store says why.
            Ok(this.parts.store.nodes(&this.id, range).await?)
        })
        .await
    }

    async fn change_messages(
        &self,
        nodes: Vec<NodeRange>,
        by: &str,
        is_disabled: bool,
    ) -> Result<Disabling, MemoryError> {
        let by = by.to_owned();
        self.call(move |this| async move {
            let outlines = this.parts.store.outline(&this.id).await?;
            let all = outlines.len() as u64;
            if let Some(beyond) = nodes.iter().find(|run| run.first().get() > all) {
                let (conversation, node) = (this.id.clone(), beyond.first());
                return Err(StoreError::UnknownNode { conversation, node, nodes: all }.into());
            }
            let turns = turns(&outlines);
            // A result without its call, or a call without its result, is refused by every provider.
            let turn_of = |node: NodeId| {
                let turn = turns.partition_point(|turn| turn.last() < node);
                turns.get(turn).copied().unwrap_or(NodeRange::single(node))
            };
            let there = nodes.iter().filter_map(|run| run.common(NodeRange::first_n(all)?));
            let asked = NodeRange::merge(there.flat_map(NodeRange::iter).map(turn_of).collect());
            let changes = |node: &NodeId| {
                let outline = outlines.get(node.index());
                outline.is_some_and(|outline| !outline.is_erased && outline.is_disabled != is_disabled)
            };
            let changed = asked.into_iter().flat_map(NodeRange::iter).filter(changes).map(NodeRange::single).collect();
            let change = Disabling::new(this.parts.clock.now(), is_disabled).by(by).nodes(changed);
            this.changed(change).await
        })
        .await
    }

    async fn change_summaries(
        &self,
        summaries: Vec<SummaryId>,
        by: &str,
        is_disabled: bool,
    ) -> Result<Disabling, MemoryError> {
        let by = by.to_owned();
        self.call(move |this| async move {
            let there = this.parts.store.whole_summaries_of(&this.id, &summaries).await?;
            let is_there = |id: &&SummaryId| there.iter().any(|summary| summary.id == **id);
            if let Some(summary) = summaries.iter().find(|id| !is_there(id)) {
                let (conversation, summary) = (this.id.clone(), *summary);
                return Err(crate::RepairError::NoSummary { conversation, summary }.into());
            }
            let changed = there.iter().filter(|summary| summary.is_disabled != is_disabled);
            let changed = changed.map(|summary| summary.id).collect();
            let change = Disabling::new(this.parts.clock.now(), is_disabled).by(by).summaries(changed);
            this.changed(change).await
        })
        .await
    }

    async fn changed(&self, change: Disabling) -> Result<Disabling, MemoryError> {
        if !change.is_empty() {
            self.parts.store.record(&self.id, vec![Event::Disabled(Box::new(change.clone()))]).await?;
            self.parts.grew(&self.id);
        }
        Ok(change)
    }
}
