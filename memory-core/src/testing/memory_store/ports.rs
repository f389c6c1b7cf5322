//! The ports of the store in memory.

use std::sync::atomic::Ordering;

use crate::{
    ConversationId, Disabling, MessageKey, Node, NodeDraft, NodeId, NodeOutline, NodeRange, NoteId, OwnerId, Summary,
    SummaryId, ViewId,
    port::{
        Appended, BoxFuture, Changes, ConversationState, Event, Lease, NodeProof, Note, Place, ReadNodes, Recorded,
        Revision, Source, Store, StoreError, Verification, VerifiedConversation,
    },
    proof::MerkleFrontier,
    view::View,
};

use super::{Conversation, MemoryStore};

impl Source for MemoryStore {
    fn outline<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Vec<NodeOutline>, StoreError>> {
        Box::pin(async move {
            self.with(conversation, |c| {
                c.outlines_read += 1;
                Ok(c.outline())
            })
        })
    }

    fn summaries<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        Box::pin(async move { self.with(conversation, |c| Ok(c.readable_summaries().collect())) })
    }

    fn conversation<'a>(
        &'a self,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<ConversationState, StoreError>> {
        Box::pin(async move { self.with(conversation, |c| Ok(c.state(conversation))) })
    }

    fn conversations(&self) -> BoxFuture<'_, Result<Vec<ConversationState>, StoreError>> {
        Box::pin(async move { Ok(self.lock().iter().map(|(id, c)| c.state(id)).collect()) })
    }

    fn readable_nodes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<ReadNodes, StoreError>> {
        Box::pin(ReadNodes::of(self, conversation, range))
    }

    fn whole_nodes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<ReadNodes, StoreError>> {
        Box::pin(async move {
            let mut read = ReadNodes::of(self, conversation, range).await?;
            for node in read.nodes.iter_mut().filter(|node| node.is_disabled) {
                let whole = self.with(conversation, |c| c.read(NodeRange::single(node.id), true))?;
                whole.into_iter().for_each(|whole| *node = whole);
            }
            Ok(read)
        })
    }
}

impl Store for MemoryStore {
    fn append_for<'a>(
        &'a self,
        owner: Option<&'a OwnerId>,
        conversation: &'a ConversationId,
        batch: Vec<NodeDraft>,
    ) -> BoxFuture<'a, Result<Vec<Appended>, StoreError>> {
        Box::pin(async move {
            if batch.is_empty() {
                return Ok(Vec::new());
            }
            self.with_or_new(owner, conversation, false, |there| there.append(conversation, batch))
        })
    }

    fn record_for<'a>(
        &'a self,
        owner: Option<&'a OwnerId>,
        conversation: &'a ConversationId,
        events: Vec<Event>,
    ) -> BoxFuture<'a, Result<Vec<Recorded>, StoreError>> {
        Box::pin(async move {
            let erasures: Vec<_> = events
                .iter()
                .filter_map(|event| if let Event::Erased(erasure) = event { Some(erasure.clone()) } else { None })
                .collect();
            if !erasures.is_empty() {
                let recorded = self.with(conversation, |there| there.record(conversation, events))?;
                erasures.iter().for_each(|erasure| self.erase(conversation, erasure));
                return Ok(recorded);
            }
            if matches!(events.first(), Some(Event::Note(_))) {
                return self.with_or_new(owner, conversation, true, |there| there.record(conversation, events));
            }
            self.with(conversation, |there| there.record(conversation, events))
        })
    }

    fn fork<'a>(
        &'a self,
        parent: &'a ConversationId,
        node: NodeId,
        child: &'a ConversationId,
    ) -> BoxFuture<'a, Result<ConversationState, StoreError>> {
        Box::pin(async move {
            let mut all = self.lock();
            let there = all.get(parent).ok_or_else(|| StoreError::unknown_conversation(parent, all.keys()))?;
            if there.nodes.len() <= node.index() {
                return Err(there.unknown_node(parent, node));
            }
            if all.contains_key(child) {
                return Err(StoreError::NameTaken { id: child.clone() });
            }
            child.check_beginning(there.owner.as_ref(), false)?;
            let fork = there.fork(parent, node);
            let state = fork.state(child);
            all.insert(child.clone(), fork);
            Ok(state)
        })
    }

    fn node<'a>(&'a self, conversation: &'a ConversationId, node: NodeId) -> BoxFuture<'a, Result<Node, StoreError>> {
        Box::pin(async move {
            self.with(conversation, |c| {
                c.read(NodeRange::single(node), false)?.pop().ok_or_else(|| c.unknown_node(conversation, node))
            })
        })
    }

    fn nodes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<Node>, StoreError>> {
        Box::pin(async move { self.with(conversation, |c| c.read(range, false)) })
    }

    fn whole_summaries_of<'a>(
        &'a self,
        conversation: &'a ConversationId,
        ids: &'a [SummaryId],
    ) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        Box::pin(async move { self.with(conversation, |c| Ok(c.whole_summaries(ids))) })
    }

    fn disablings<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Vec<Disabling>, StoreError>> {
        Box::pin(async move {
            self.with(conversation, |c| Ok(c.disablings.iter().map(|(_, change)| change.clone()).collect()))
        })
    }

    fn views<'a>(
        &'a self,
        conversation: &'a ConversationId,
        first: ViewId,
        last: ViewId,
    ) -> BoxFuture<'a, Result<Vec<View>, StoreError>> {
        Box::pin(async move {
            self.with(conversation, |c| {
                let wanted = |view: &&View| (first..=last).contains(&view.id);
                Ok(c.views.iter().filter(wanted).cloned().collect())
            })
        })
    }

    fn notes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        first: NoteId,
        last: NoteId,
    ) -> BoxFuture<'a, Result<Vec<Note>, StoreError>> {
        Box::pin(async move {
            self.with(conversation, |c| {
                let wanted = |note: &&Note| (first..=last).contains(&note.id);
                Ok(c.notes.iter().filter(wanted).cloned().collect())
            })
        })
    }

    fn changes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        since: Revision,
    ) -> BoxFuture<'a, Result<Changes, StoreError>> {
        Box::pin(async move { self.with(conversation, |c| Ok(c.changes(since))) })
    }

    fn find_key<'a>(
        &'a self,
        conversation: &'a ConversationId,
        key: &'a MessageKey,
    ) -> BoxFuture<'a, Result<Option<NodeId>, StoreError>> {
        Box::pin(async move { self.with(conversation, |c| Ok(c.by_key(key).map(|node| node.id))) })
    }

    fn proofs<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<NodeProof>, StoreError>> {
        Box::pin(async move {
            self.with(conversation, |c| {
                c.all_readable(range)?;
                c.count(range);
                Ok(c.proofs_of(range).collect())
            })
        })
    }

    fn nodes_with_proofs<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<(Node, NodeProof)>, StoreError>> {
        Box::pin(async move {
            self.with(conversation, |c| Ok(c.read(range, false)?.into_iter().zip(c.proofs_of(range)).collect()))
        })
    }

    fn verify<'a>(
        &'a self,
        conversation: Option<&'a ConversationId>,
    ) -> BoxFuture<'a, Result<Verification, StoreError>> {
        Box::pin(async move {
            let all = self.lock();
            let verified = |id: &ConversationId, c: &Conversation| {
                let root = c.proofs().map(|(_, proof)| proof.leaf).collect::<MerkleFrontier>().root();
                let nodes = c.nodes.len() as u64;
                let lost = c.nodes.iter().filter(|node| c.lost.contains(&node.id)).count() as u64;
                let erased = c.erased.len() as u64;
                VerifiedConversation { id: id.clone(), nodes, verified: nodes - lost - erased, erased, root }
            };
            let verified = match conversation {
                None => all.iter().map(|(id, c)| verified(id, c)).collect(),
                Some(id) => match all.get(id) {
                    Some(c) => vec![verified(id, c)],
                    None => return Err(StoreError::unknown_conversation(id, all.keys())),
                },
            };
            Ok(Verification::of(verified, Vec::new()))
        })
    }

    fn lease(&self) -> BoxFuture<'_, Result<Lease, StoreError>> {
        let lease = match self.is_leased_away.load(Ordering::Relaxed) {
            true => Err(StoreError::Locked { place: Place::new("memory"), pid: 1, host: "elsewhere".to_owned() }),
            false => Ok(Lease::unshared()),
        };
        Box::pin(async { lease })
    }
}
