//! Reads the messages of an answer, each once.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use memory_core::{
    ConversationId, Node, NodeId, NodeRange,
    port::{Hit, Losses, Source, StoreError},
};

use crate::ranking::{Candidate, Pool};

/// Messages that one search has read, so that a message that was read to rerank or measure it is not read again to
/// return it.
#[derive(Debug)]
pub(crate) struct Reads<'a> {
    source: &'a dyn Source,
    /// True to read disabled messages as they were said.
    whole: bool,
    read: HashMap<ConversationId, HashMap<NodeId, Arc<Node>>>,
}

impl<'a> Reads<'a> {
    pub(crate) fn new(source: &'a dyn Source) -> Self {
        Self { source, whole: false, read: HashMap::new() }
    }

    /// The same reads, with disabled messages as they were said if `whole`.
    pub(crate) fn whole(mut self, whole: bool) -> Self {
        self.whole = whole;
        self
    }

    /// A node that was read before.
    pub(crate) fn get(&self, conversation: &ConversationId, node: NodeId) -> Option<&Arc<Node>> {
        self.read.get(conversation)?.get(&node)
    }

    /// A candidate as a hit, if its message was read before. One that was erased since it was indexed is no hit.
    pub(crate) fn hit(&self, candidate: &Candidate) -> Option<Hit> {
        let Candidate { conversation, node, score, relevance, signals, .. } = candidate;
        let message = self.get(conversation, *node).filter(|message| !message.is_erased).map(Arc::clone)?;
        Some(Hit::new(conversation.clone(), message, *score).relevance(*relevance).signals(signals.clone()))
    }

    /// Nodes of a run that were read before, in order.
    pub(crate) fn run(&self, conversation: &ConversationId, run: NodeRange) -> impl Iterator<Item = &Arc<Node>> {
        run.iter().filter_map(move |node| self.get(conversation, node))
    }

    /// Reads the nodes of a run that were not read before; returns the unreadable ones.
    pub(crate) async fn read(&mut self, conversation: &ConversationId, run: NodeRange) -> Result<Losses, StoreError> {
        let is_missing = |node: &NodeId| self.get(conversation, *node).is_none();
        let missing = NodeRange::merge(run.iter().filter(is_missing).map(NodeRange::single).collect());
        let mut losses = Losses::default();
        for run in missing {
            let read = match self.whole {
                true => self.source.whole_nodes(conversation, run).await?,
                false => self.source.readable_nodes(conversation, run).await?,
            };
            losses.extend(&read.losses);
            let nodes = read.nodes.into_iter().map(|node| (node.id, Arc::new(node)));
            self.read.entry(conversation.clone()).or_default().extend(nodes);
        }
        Ok(losses)
    }

    /// Reads runs of a pool's nodes. If a node has become unreadable since it was indexed, reads all nodes of its
    /// conversation that this process has never read, updates the pool's losses and returns `false`: the caller must
    /// then choose other nodes.
    pub(crate) async fn are_there(
        &mut self,
        pool: &mut Pool,
        runs: impl Iterator<Item = (&ConversationId, NodeRange)>,
    ) -> Result<bool, StoreError> {
        let mut damaged = HashSet::new();
        for (conversation, run) in runs {
            let losses = self.read(conversation, run).await?;
            let Some(part) = pool.parts().iter().find(|part| part.conversation == *conversation) else { continue };
            if losses.runs().iter().any(|lost| !part.losses.rest_of(*lost).is_empty()) {
                part.indexed.lose(&losses);
                damaged.insert(conversation);
            }
        }
        for part in pool.parts().iter().filter(|part| damaged.contains(&part.conversation)) {
            part.indexed.check(self.source, &part.conversation).await?;
        }
        if !damaged.is_empty() {
            pool.refresh();
        }
        Ok(damaged.is_empty())
    }
}
