//! The ports of the core over the log.

use std::{collections::BTreeSet, sync::Arc, thread};

use futures_channel::oneshot;
use memory_core::{
    ConversationId, Disabling, MessageKey, Node, NodeDraft, NodeId, NodeOutline, NodeRange, NoteId, OwnerId, Summary,
    SummaryId, SummaryOutline, ViewId,
    port::{
        Appended, BoxFuture, Changes, ConversationState, Event, Lease, NodeProof, Note, ReadNodes, Recorded, Revision,
        Source, Store, StoreError, Verification,
    },
    view::View,
};

use super::{
    super::{
        read::reader::Reader,
        state::{conversation::Conversation, nodes::ReadRequest},
        upkeep::{
            shred::{erasures, shred},
            verify::verify,
        },
        write::{lock::HeldTurn, request::Request},
    },
    LogStore, prepare, read_records,
};

impl Source for LogStore {
    fn outline<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Vec<NodeOutline>, StoreError>> {
        Box::pin(async move { self.read(conversation, |there| Ok(there.nodes.outlines())) })
    }

    fn summaries<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        Box::pin(async move {
            let (summaries, disabled) = self.known_summaries(conversation)?;
            let read = |summary: &Summary| match disabled.contains(&summary.id) {
                true => summary.clone().disabled(),
                false => summary.clone(),
            };
            Ok(summaries.iter().map(read).collect())
        })
    }

    fn conversation<'a>(
        &'a self,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<ConversationState, StoreError>> {
        Box::pin(async move {
            let state = self.shared.current()?;
            Ok(state.overview(state.conversation(conversation)?))
        })
    }

    fn conversations(&self) -> BoxFuture<'_, Result<Vec<ConversationState>, StoreError>> {
        Box::pin(async move {
            let state = self.shared.current()?;
            Ok(state.conversations().map(|conversation| state.overview(conversation)).collect())
        })
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
            if read.nodes.iter().any(|node| node.is_disabled) {
                let (segments, wanted) = self.wanted(conversation, range)?;
                let mut reader = Reader::of_run(&segments, &wanted);
                for wanted in wanted.into_iter().filter(|wanted| wanted.is_disabled) {
                    if let Ok(place) = read.nodes.binary_search_by_key(&wanted.node, |node| node.id)
                        && let Some(node) = read.nodes.get_mut(place)
                    {
                        *node = reader.node(&ReadRequest { whole: true, ..wanted })?;
                    }
                }
            }
            Ok(read)
        })
    }
}

impl Store for LogStore {
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
            let batch = prepare(conversation, batch, &self.shared.buffers)?;
            let bytes = batch.bytes();
            let (owner, conversation) = (owner.cloned(), conversation.clone());
            self.write(bytes, |reply| Request::Append { owner, conversation, batch, reply }).await
        })
    }

    fn record_for<'a>(
        &'a self,
        owner: Option<&'a OwnerId>,
        conversation: &'a ConversationId,
        events: Vec<Event>,
    ) -> BoxFuture<'a, Result<Vec<Recorded>, StoreError>> {
        Box::pin(async move {
            let bytes = events.iter().map(event_bytes).sum();
            let (owner, conversation) = (owner.cloned(), conversation.clone());
            let erasures = erasures(&self.shared, &events);
            let recorded = self.write(bytes, |reply| Request::Record { owner, conversation, events, reply }).await?;
            shred(&self.shared, &erasures)?;
            Ok(recorded)
        })
    }

    fn fork<'a>(
        &'a self,
        parent: &'a ConversationId,
        node: NodeId,
        child: &'a ConversationId,
    ) -> BoxFuture<'a, Result<ConversationState, StoreError>> {
        Box::pin(async move {
            let (from, to) = (parent.clone(), child.clone());
            self.write(0, |reply| Request::Fork { parent: from, node, child: to, reply }).await?;
            self.conversation(child).await
        })
    }

    fn node<'a>(&'a self, conversation: &'a ConversationId, node: NodeId) -> BoxFuture<'a, Result<Node, StoreError>> {
        Box::pin(async move {
            let (segments, wanted) = {
                let state = self.shared.current()?;
                let there = state.conversation(conversation)?;
                let wanted = there.nodes.wanted(node).ok_or_else(|| there.unknown_node(node))?;
                (Arc::clone(&state.segments), wanted)
            };
            Reader::new(&segments).node(&wanted)
        })
    }

    fn nodes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<Node>, StoreError>> {
        Box::pin(async move { self.read_nodes(conversation, range) })
    }

    fn summaries_of<'a>(
        &'a self,
        conversation: &'a ConversationId,
        ids: &'a [SummaryId],
    ) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        Box::pin(async move {
            let (segments, locations) = {
                let state = self.shared.current()?;
                let there = state.conversation(conversation)?;
                let mut ids = ids.to_vec();
                ids.sort_unstable();
                ids.dedup();
                let location = |id: &SummaryId| Some((there.summaries.location(*id)?, there.disabled.has_summary(*id)));
                let locations: Vec<_> = ids.iter().filter_map(location).collect();
                (Arc::clone(&state.segments), locations)
            };
            let mut summaries = Vec::with_capacity(locations.len());
            for (location, is_disabled) in locations {
                read_records(conversation, &segments, [location], Reader::summary, |summary| {
                    summaries.push(if is_disabled { summary.disabled() } else { summary });
                })?;
            }
            Ok(summaries)
        })
    }

    fn whole_summaries_of<'a>(
        &'a self,
        conversation: &'a ConversationId,
        ids: &'a [SummaryId],
    ) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        Box::pin(async move {
            let ids: BTreeSet<SummaryId> = ids.iter().copied().collect();
            let (segments, locations, disabled) = {
                let state = self.shared.current()?;
                let there = state.conversation(conversation)?;
                let locations: Vec<_> = ids.iter().filter_map(|id| there.summaries.location_of_any(*id)).collect();
                (Arc::clone(&state.segments), locations, there.disabled_summaries())
            };
            let mut summaries = Vec::with_capacity(locations.len());
            read_records(conversation, &segments, locations, Reader::summary, |mut summary| {
                summary.is_disabled = disabled.contains(&summary.id);
                summaries.push(summary);
            })?;
            Ok(summaries)
        })
    }

    fn disablings<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Vec<Disabling>, StoreError>> {
        Box::pin(async move {
            self.read(conversation, |there| Ok(there.disabled.iter().map(|(_, change)| change.clone()).collect()))
        })
    }

    fn views<'a>(
        &'a self,
        conversation: &'a ConversationId,
        first: ViewId,
        last: ViewId,
    ) -> BoxFuture<'a, Result<Vec<View>, StoreError>> {
        let places = move |there: &Conversation| there.views.locations(first.get(), last.get());
        Box::pin(async move {
            let read = |reader: &mut Reader<'_>, place| Ok((reader.view(place)?, place));
            let mut views = self.read_all(conversation, places, read)?;
            // Content that was erased since is hidden, also before its bytes are gone from the log.
            let state = self.shared.current()?;
            if state.has_erasures() {
                let there = state.conversation(conversation)?;
                views.iter_mut().for_each(|(view, place)| state.erase_hidden(there, view, *place));
            }
            Ok(views.into_iter().map(|(view, _)| view).collect())
        })
    }

    fn notes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        first: NoteId,
        last: NoteId,
    ) -> BoxFuture<'a, Result<Vec<Note>, StoreError>> {
        let places = move |there: &Conversation| there.notes.locations(first.get(), last.get());
        Box::pin(async move {
            let read = |reader: &mut Reader<'_>, place| Ok(reader.note(place)?.map(|note| (note, place)));
            let notes = self.read_all(conversation, places, read)?;
            let state = self.shared.current()?;
            let erased = &state.conversation(conversation)?.erased;
            let notes = notes.into_iter().flatten().filter(|(note, place)| !erased.hides_note(note, *place));
            Ok(notes.map(|(note, _)| note).collect())
        })
    }

    fn changes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        since: Revision,
    ) -> BoxFuture<'a, Result<Changes, StoreError>> {
        Box::pin(async move {
            let (segments, (mut changes, locations), disabled) = {
                let state = self.shared.current()?;
                let there = state.conversation(conversation)?;
                (Arc::clone(&state.segments), there.changes(state.epoch, since), there.disabled_summaries())
            };
            let summaries = &mut changes.summaries;
            read_records(conversation, &segments, locations, Reader::summary, |summary| {
                let outline = SummaryOutline::of(summary.id, &summary.body);
                summaries.push(if disabled.contains(&summary.id) { outline.disabled() } else { outline });
            })?;
            Ok(changes)
        })
    }

    fn find_key<'a>(
        &'a self,
        conversation: &'a ConversationId,
        key: &'a MessageKey,
    ) -> BoxFuture<'a, Result<Option<NodeId>, StoreError>> {
        Box::pin(async move {
            let (segments, candidates) = {
                let state = self.shared.current()?;
                let candidates = state.key_candidates(state.conversation(conversation)?, key);
                (Arc::clone(&state.segments), candidates)
            };
            let found = Reader::new(&segments).with_key(key, &candidates)?;
            Ok(found.map(|found| found.node))
        })
    }

    fn proofs<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<NodeProof>, StoreError>> {
        Box::pin(async move {
            let (segments, wanted) = self.wanted(conversation, range)?;
            let mut reader = Reader::of_run(&segments, &wanted);
            wanted.iter().map(|wanted| reader.proof(wanted)).collect()
        })
    }

    fn nodes_with_proofs<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<(Node, NodeProof)>, StoreError>> {
        Box::pin(async move {
            let (segments, wanted) = self.wanted(conversation, range)?;
            Reader::of_run(&segments, &wanted).nodes_with_proofs(&wanted)
        })
    }

    fn verify<'a>(
        &'a self,
        conversation: Option<&'a ConversationId>,
    ) -> BoxFuture<'a, Result<Verification, StoreError>> {
        Box::pin(async move {
            // Reads every byte: too long for the thread that polls.
            let (reply, answer) = oneshot::channel();
            let (shared, only) = (Arc::clone(&self.shared), conversation.cloned());
            let thread = thread::Builder::new().name("memory-verify".into());
            let spawned = thread.spawn(move || reply.send(verify(&shared, only.as_ref())));
            spawned.map_err(|source| StoreError::Io { action: "verify", place: self.path().into(), source })?;
            let panicked = || StoreError::Backend { backend: "verification", source: "its thread panicked".into() };
            answer.await.unwrap_or_else(|_| Err(panicked()))
        })
    }

    fn lease(&self) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move {
            if !self.may_write() {
                return Ok(Lease::unshared());
            }
            Ok(Lease::holding(self.shared_lease()?))
        })
    }

    fn turn_lease<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Lease, StoreError>> {
        Box::pin(async move {
            if !self.may_write() {
                return Ok(Lease::unshared());
            }
            Ok(Lease::holding(HeldTurn::take(&self.shared.media, &self.cache_dir(), conversation)?))
        })
    }
}

/// About how many bytes the event takes in the log.
fn event_bytes(event: &Event) -> usize {
    const FIXED: usize = 64;
    FIXED
        + match event {
            Event::Summary(draft) => draft.text.len() + draft.children.len() * 3,
            Event::Title(title) => title.len(),
            Event::View(draft) => {
                let elsewhere = draft.elsewhere.iter();
                let elsewhere =
                    elsewhere.map(|other| 64 + other.title.as_ref().map_or(0, String::len) + other.runs.len() * 16);
                draft.question.len() + (draft.history.len() + draft.recalled.len()) * 16 + elsewhere.sum::<usize>()
            }
            Event::Note(note) => note.change.bytes() + note.sources.len() * 4,
            Event::Erased(erasure) => erasure.by.len() + erasure.nodes.len() * 8,
            Event::Disabled(change) => change.by.len() + change.nodes.len() * 8 + change.summaries.len() * 4,
            Event::Tags(tags) => tags.iter().map(String::len).sum(),
            _ => 0,
        }
}
