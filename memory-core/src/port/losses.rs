//! Unreadable nodes of a damaged store.

use super::{Notice, Store, StoreError};
use crate::{ConversationId, Node, NodeId, NodeRange};

/// The answer to [`Source::readable_nodes`](super::Source::readable_nodes).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ReadNodes {
    /// The nodes that can be read, in order.
    pub nodes: Vec<Node>,
    /// The nodes that cannot be read.
    pub losses: Losses,
}

impl ReadNodes {
    /// The nodes that were read, and those that were not.
    #[must_use]
    pub fn new(nodes: Vec<Node>, losses: Losses) -> Self {
        Self { nodes, losses }
    }

    /// Reads the nodes of a run; reads them one by one if the store cannot return all of them.
    ///
    /// # Errors
    /// If the conversation does not exist, or the store fails for another reason than damage.
    pub async fn of<S: Store + ?Sized>(
        store: &S,
        conversation: &ConversationId,
        range: NodeRange,
    ) -> Result<Self, StoreError> {
        let mut read = Self::default();
        match store.nodes(conversation, range).await {
            Ok(nodes) => read.nodes = nodes,
            Err(error) if error.is_damage() => {
                let last = store.conversation(conversation).await?.nodes;
                for id in range.iter().take_while(|id| id.get() <= last) {
                    match store.node(conversation, id).await {
                        Ok(node) => read.nodes.push(node),
                        Err(error) if error.is_damage() => read.losses.add(id, &error),
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) => return Err(error),
        }
        Ok(read)
    }
}

/// Nodes of one conversation that exist but cannot be read.
///
/// Kept as runs, with a reason only for the first node, because a salvaged store may lack millions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct Losses {
    /// Runs in order; no two overlap or touch.
    #[cfg_attr(feature = "serde", serde(rename = "nodes"))]
    runs: Vec<NodeRange>,
    /// Why the first node cannot be read.
    why: String,
}

impl Losses {
    /// Adds an unreadable node.
    pub fn add(&mut self, node: NodeId, why: &StoreError) {
        if self.first().is_none_or(|first| node < first) {
            self.why = why.to_string();
        }
        self.add_runs(&[NodeRange::single(node)]);
    }

    /// Adds all nodes of `other`.
    pub fn extend(&mut self, other: &Self) {
        if other.first().is_some_and(|node| self.first().is_none_or(|first| node < first)) {
            self.why.clone_from(&other.why);
        }
        self.add_runs(&other.runs);
    }

    fn add_runs(&mut self, more: &[NodeRange]) {
        for run in more {
            match self.runs.last_mut() {
                Some(last) if last.is_followed_by(*run) => *last = last.hull(*run),
                Some(last) if run.first() <= last.last() => {
                    self.runs.push(*run);
                    self.runs = NodeRange::merge(std::mem::take(&mut self.runs));
                }
                _ => self.runs.push(*run),
            }
        }
    }

    fn first(&self) -> Option<NodeId> {
        self.runs.first().map(|run| run.first())
    }

    /// True if all nodes can be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Number of unreadable nodes.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.runs.iter().map(|run| run.count()).sum()
    }

    /// True if a node is unreadable.
    #[must_use]
    pub fn contains(&self, node: NodeId) -> bool {
        self.runs_from(node).first().is_some_and(|run| run.contains(node))
    }

    /// Unreadable nodes as runs, in order; no two overlap or touch.
    #[must_use]
    pub fn runs(&self) -> &[NodeRange] {
        &self.runs
    }

    /// Unreadable nodes within a run, as runs in order.
    pub fn within(&self, run: NodeRange) -> impl Iterator<Item = NodeRange> {
        let cut = move |lost: &NodeRange| NodeRange::new(lost.first().max(run.first()), lost.last().min(run.last()));
        self.runs_from(run.first()).iter().map_while(cut)
    }

    /// Readable nodes within a run, as runs in order.
    #[must_use]
    pub fn rest_of(&self, run: NodeRange) -> Vec<NodeRange> {
        let mut rest = Vec::new();
        let mut next = run.first();
        for lost in self.within(run) {
            rest.extend(lost.first().previous().and_then(|last| NodeRange::new(next, last)));
            next = lost.last().next();
        }
        rest.extend(NodeRange::new(next, run.last()));
        rest
    }

    /// Runs that contain or follow `node`.
    fn runs_from(&self, node: NodeId) -> &[NodeRange] {
        let from = self.runs.partition_point(|run| run.last() < node);
        self.runs.get(from..).unwrap_or_default()
    }

    /// [`Notice::Unreadable`] for a conversation; `None` if all nodes can be read.
    #[must_use]
    pub fn notice(&self, conversation: &ConversationId) -> Option<Notice> {
        Some(Notice::Unreadable {
            conversation: conversation.clone(),
            nodes: self.count(),
            first: self.first()?,
            why: self.why.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pollster::block_on;
    use proptest::prelude::*;

    use super::*;
    use crate::{
        Message, NodeDraft, Timestamp,
        port::{Place, Source},
        testing::MemoryStore,
    };

    fn id() -> ConversationId {
        ConversationId::new("talk").unwrap()
    }

    fn node(position: u64) -> NodeId {
        NodeId::new(position).unwrap()
    }

    fn lost(offset: u64) -> StoreError {
        StoreError::Lost { place: Place::new("0001.seg").offset(offset) }
    }

    fn store(count: usize) -> MemoryStore {
        let store = MemoryStore::default();
        let draft = |number| NodeDraft::new(Message::user(format!("line {number}")), Timestamp::from_millis(0), 2);
        block_on(store.append(&id(), (1..=count).map(draft).collect())).unwrap();
        store
    }

    proptest! {
        #[test]
        fn losses_are_the_set_that_was_added(
            first in prop::collection::vec(1u64..60, 0..30),
            second in prop::collection::vec(1u64..60, 0..30),
            run in (1u64..60, 0u64..20),
        ) {
            let mut losses = Losses::default();
            let mut others = Losses::default();
            first.iter().for_each(|&position| losses.add(node(position), &lost(position)));
            second.iter().for_each(|&position| others.add(node(position), &lost(position)));
            losses.extend(&others);
            let all: BTreeSet<_> = first.iter().chain(&second).copied().collect();
            prop_assert_eq!(losses.count(), all.len() as u64);
            prop_assert_eq!(losses.is_empty(), all.is_empty());
            let runs: Vec<_> = losses.runs().iter().flat_map(|run| run.iter()).map(NodeId::get).collect();
            prop_assert!(runs.iter().eq(&all));
            prop_assert!((1..80).all(|position| losses.contains(node(position)) == all.contains(&position)));
            let run = NodeRange::new(node(run.0), node(run.0 + run.1)).unwrap();
            let within: Vec<_> = losses.within(run).flat_map(|run| run.iter()).collect();
            prop_assert_eq!(within, run.iter().filter(|node| all.contains(&node.get())).collect::<Vec<_>>());
            let rest: Vec<_> = losses.rest_of(run).iter().flat_map(|run| run.iter()).collect();
            prop_assert_eq!(rest, run.iter().filter(|node| !all.contains(&node.get())).collect::<Vec<_>>());
            match losses.notice(&id()) {
                Some(notice) => {
                    let notice = notice.to_string();
                    let first = all.first().unwrap();
                    let begin = format!("node {first} (");
                    let begin = if all.len() == 1 { format!("node {first} of `talk`") } else { begin };
                    prop_assert!(notice.contains(&begin) && notice.contains(&format!("at byte {first})")), "{}", notice);
                }
                None => prop_assert!(all.is_empty()),
            }
        }

        #[test]
        fn what_can_be_read_is_read_and_the_rest_is_named(
            count in 1usize..30,
            gone in prop::collection::btree_set(1u64..30, 0..8),
            range in (1u64..30, 0u64..40),
        ) {
            let store = store(count);
            gone.iter().for_each(|&position| store.lose_node(&id(), node(position)));
            let range = NodeRange::new(node(range.0), node(range.0 + range.1)).unwrap();
            let read = block_on(store.readable_nodes(&id(), range)).unwrap();
            let there = |position: &u64| *position <= count as u64 && range.contains(node(*position));
            let expected: Vec<_> = (1..=count as u64).filter(|p| there(p) && !gone.contains(p)).collect();
            prop_assert_eq!(read.nodes.iter().map(|node| node.id.get()).collect::<Vec<_>>(), expected);
            let expected: Vec<_> = gone.iter().copied().filter(there).map(node).collect();
            let lost: Vec<_> = read.losses.runs().iter().flat_map(|run| run.iter()).collect();
            prop_assert_eq!(lost, expected);
        }
    }

    #[test]
    fn what_is_no_damage_stays_an_error() {
        let unknown = ConversationId::new("none").unwrap();
        let all = NodeRange::first_n(9).unwrap();
        assert!(block_on(store(1).readable_nodes(&unknown, all)).unwrap_err().is_not_found());
    }
}
