//! Requests checked against the log and turned into frames, before anything is written.

use std::collections::HashMap;

use memory_core::{
    ConversationId, Message, MessageKey, NodeId, NodeRange, NoteId, OwnerId, Summary, SummaryDraft, SummaryId, ViewId,
    plan::check_summary,
    port::{Appended, Event, Note, Recorded, StoreError},
    view::check_view,
};

use super::prepared::{Prepared, PreparedMessage, check_weight};
use crate::log::{
    format::{
        Location,
        codec::{CodecError, Past, encode_event, encode_opened, encode_view},
        frame::{MAX_PAYLOAD, Payload},
    },
    keys::MOST_ADDED,
    read::reader::Reader,
    state::{
        State,
        conversation::{Change, Conversation},
        nodes::{Nodes, ReadRequest},
    },
};

/// A frame that may be written.
#[derive(Debug)]
pub(crate) struct PlannedFrame {
    pub(crate) payload: Payload,
    /// The conversation's number; `None` when the frame opens it.
    pub(crate) number: Option<u64>,
    pub(crate) id: ConversationId,
    /// Owner of the conversation that the frame opens, if it opens one.
    pub(crate) owner: Option<OwnerId>,
    /// Past shared with the parent, when the frame opens a fork.
    pub(crate) past: Option<Past>,
    pub(crate) nodes_before: u64,
    /// The changes that it makes. Locations are offsets in the frame until it has its place.
    pub(crate) changes: Vec<Change>,
}

impl PlannedFrame {
    /// Turns offsets in the frame into locations in the log.
    pub(crate) fn locate(&mut self, frame: Location) {
        self.changes.iter_mut().for_each(|change| change.locate(frame));
    }
}

/// The frame that opens `child` as a fork of `parent` at `node`. Nothing may be pending.
pub(crate) fn plan_fork(
    state: &State,
    parent: &ConversationId,
    node: NodeId,
    child: &ConversationId,
) -> Result<PlannedFrame, StoreError> {
    let there = state.conversation(parent)?;
    if node.get() > there.nodes() {
        return Err(there.unknown_node(node));
    }
    if state.find(child).is_some() {
        return Err(StoreError::NameTaken { id: child.clone() });
    }
    state.check_may_open(child, there.owner.as_ref(), false)?;
    let refused = |why: &str| StoreError::Invalid { conversation: parent.clone(), why: why.to_owned() };
    state.check_may_fork(there, node.get()).map_err(refused)?;
    let past = Some(there.past_until(node));
    let mut payload = Payload::default();
    let owner = there.owner.clone();
    payload.push(&encode_opened(child, owner.as_ref(), past).map_err(|error| invalid(child, error))?);
    Ok(PlannedFrame { payload, number: None, id: child.clone(), owner, past, nodes_before: 0, changes: Vec::new() })
}

/// The changes that earlier requests will have made once they are on disk.
///
/// All of it is absolute, so that it stays true while parts of it are published.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    conversations: HashMap<ConversationId, Overlay>,
}

#[derive(Debug, Default)]
struct Overlay {
    number: Option<u64>,
    /// Owner of the conversation, where the group opens it.
    owner: Option<OwnerId>,
    nodes: u64,
    keys: HashMap<MessageKey, (NodeId, Message)>,
    summaries: Vec<Summary>,
    /// The number of the last view, where there are new ones.
    last_view: Option<ViewId>,
    /// The number of the last note, where there are new ones.
    last_note: Option<NoteId>,
}

/// Additions of one request; none counts before the whole request is found valid.
#[derive(Debug, Default)]
struct Trial {
    more_nodes: u64,
    keys: HashMap<MessageKey, (NodeId, Message)>,
    summaries: Vec<Summary>,
    last_view: Option<ViewId>,
    last_note: Option<NoteId>,
}

impl Pending {
    /// Notes the number of a conversation that the group opens.
    pub(crate) fn opened(&mut self, id: &ConversationId, number: u64) {
        if let Some(overlay) = self.conversations.get_mut(id) {
            overlay.number = Some(number);
        }
    }

    /// Checks a batch of messages, for an owner if there is one. No frame when all of them are stored already.
    pub(crate) fn plan_append(
        &mut self,
        state: &State,
        owner: Option<OwnerId>,
        id: &ConversationId,
        batch: Prepared,
    ) -> Result<(Option<PlannedFrame>, Vec<Appended>), StoreError> {
        let mut view = View::new(state, id, self.conversations.get(id))?;
        let nodes_before = view.nodes();
        let Prepared { payload: prepared, messages } = batch;
        // If all messages are new, the frame is the prepared one.
        let mut rewritten = None;
        if let Some(opening) = view.opening(owner.as_ref(), false)? {
            let mut payload = Payload::with_capacity(prepared.frame_bytes());
            payload.push(&opening);
            rewritten = Some(payload);
        }
        let (mut changes, mut appended) = (Vec::with_capacity(messages.len()), Vec::with_capacity(messages.len()));
        for PreparedMessage { record, outline, importance, keyed, erased_key } in messages {
            if let Some((key, message)) = keyed.as_deref()
                && let Some(existing) = view.keyed(key, message)?
            {
                rewritten.get_or_insert_with(|| prepared.until(record.start));
                appended.push(existing);
                continue;
            }
            let start = record.start;
            let location = within_frame(rewritten.as_mut().map_or(start, |payload| payload.push(prepared.get(record))));
            let key = keyed.as_ref().map(|keyed| state.key_hash(keyed.0.as_str()));
            changes.push(if outline.is_erased {
                let key = erased_key.map(|key| (state.erased_key_hash(&key), key.salt));
                Change::ErasedNode { outline, location, key }
            } else {
                Change::Node { outline, importance, location, key }
            });
            let node = view.add_node(keyed.map(|keyed| *keyed));
            appended.push(Appended::new(node));
        }
        if changes.is_empty() {
            return Ok((None, appended));
        }
        let payload = rewritten.unwrap_or(prepared);
        check_size(id, state, &payload, changes.len())?;
        if view.nodes() > Nodes::MOST {
            let why = format!("a conversation has at most {} messages", Nodes::MOST);
            return Err(StoreError::Invalid { conversation: id.clone(), why });
        }
        let (number, nodes, trial) = (view.number(), view.nodes(), view.trial);
        self.accept(id, owner.as_ref(), number, nodes, trial);
        let id = id.clone();
        Ok((Some(PlannedFrame { payload, number, id, owner, past: None, nodes_before, changes }), appended))
    }

    /// Checks events, for an owner if there is one. No frame when all are summaries that are stored already.
    pub(crate) fn plan_record(
        &mut self,
        state: &State,
        owner: Option<OwnerId>,
        id: &ConversationId,
        events: Vec<Event>,
    ) -> Result<(Option<PlannedFrame>, Vec<Recorded>), StoreError> {
        let overlay = self.conversations.get(id);
        if overlay.is_none() && !matches!(events.first(), Some(Event::Note(_))) {
            state.conversation(id)?;
        }
        let mut view = View::new(state, id, overlay)?;
        let mut payload = Payload::default();
        if let Some(opening) = view.opening(owner.as_ref(), true)? {
            payload.push(&opening);
        }
        let (mut changes, mut recorded) = (Vec::new(), Vec::new());
        for event in events {
            let event = normalized(event);
            view.check_event(&event)?;
            let next = view.next_summary();
            if let Event::Summary(draft) = &event
                && let Some(there) = view.same_summary(draft)?
            {
                recorded.push(Recorded::Summary(there));
                continue;
            }
            let next_view = view.next_view();
            let record = match &event {
                Event::View(draft) => encode_view(draft, next_view),
                other => encode_event(other, next),
            };
            let location = within_frame(payload.push(&record.map_err(|error| invalid(id, error))?));
            match event {
                Event::Summary(body) => {
                    let summary = Summary::new(next, body);
                    let (level, span) = (summary.body.level, summary.body.span);
                    changes.push(Change::Summary { id: next, level, span, location, is_erased: false });
                    view.trial.summaries.push(summary);
                    recorded.push(Recorded::Summary(next));
                    continue;
                }
                Event::View(_) => {
                    changes.push(Change::View { id: next_view, location });
                    view.trial.last_view = Some(next_view);
                    recorded.push(Recorded::View(next_view));
                    continue;
                }
                Event::Note(note) => {
                    changes.push(Change::Note { id: note.id, location });
                    view.trial.last_note = Some(note.id);
                    recorded.push(Recorded::Note(note.id));
                    continue;
                }
                Event::Importance { node, importance, .. } => changes.push(Change::Importance { node, importance }),
                Event::Pin { node, pinned } => changes.push(Change::Pin { node, pinned }),
                Event::Title(title) => changes.push(Change::Title(title)),
                Event::Tags(tags) => changes.push(Change::Tags(tags)),
                Event::Erased(erasure) => changes.push(Change::Erasure { erasure, location }),
                Event::Disabled(change) => changes.push(Change::Disabled { change, location }),
                // The codec has refused it.
                _ => {}
            }
            recorded.push(Recorded::Done);
        }
        if changes.is_empty() {
            return Ok((None, recorded));
        }
        check_size(id, state, &payload, changes.len())?;
        let (number, nodes_before, trial) = (view.number(), view.nodes(), view.trial);
        self.accept(id, owner.as_ref(), number, nodes_before, trial);
        let id = id.clone();
        Ok((Some(PlannedFrame { payload, number, id, owner, past: None, nodes_before, changes }), recorded))
    }

    fn accept(&mut self, id: &ConversationId, owner: Option<&OwnerId>, number: Option<u64>, nodes: u64, trial: Trial) {
        let overlay = self.conversations.entry(id.clone()).or_default();
        if number.is_none() {
            overlay.owner = owner.cloned();
        }
        overlay.number = number;
        overlay.nodes = nodes;
        overlay.keys.extend(trial.keys);
        overlay.summaries.extend(trial.summaries);
        overlay.last_view = trial.last_view.or(overlay.last_view);
        overlay.last_note = trial.last_note.or(overlay.last_note);
    }
}

fn normalized(event: Event) -> Event {
    match event {
        Event::Tags(mut tags) => {
            tags.sort();
            tags.dedup();
            Event::Tags(tags)
        }
        other => other,
    }
}

fn check_size(id: &ConversationId, state: &State, payload: &Payload, records: usize) -> Result<(), StoreError> {
    let added = if state.is_encrypted() { MOST_ADDED } else { 0 };
    let bytes = payload.frame_bytes().saturating_add((records + 1).saturating_mul(added));
    if bytes <= MAX_PAYLOAD {
        return Ok(());
    }
    let why = format!("the batch takes {bytes} bytes, and at most {MAX_PAYLOAD} are written at once: split it");
    Err(StoreError::Invalid { conversation: id.clone(), why })
}

/// A place in a frame, until the frame has its own.
fn within_frame(offset: usize) -> Location {
    Location { segment: 0, offset: u32::try_from(offset).unwrap_or(u32::MAX) }
}

pub(crate) fn invalid(id: &ConversationId, error: CodecError) -> StoreError {
    StoreError::Invalid { conversation: id.clone(), why: error.0 }
}

/// A conversation as one request sees it: what is on disk, what the group adds, and what the request itself has added
/// so far.
struct View<'a> {
    state: &'a State,
    id: &'a ConversationId,
    on_disk: Option<&'a Conversation>,
    overlay: Option<&'a Overlay>,
    trial: Trial,
}

impl<'a> View<'a> {
    fn new(state: &'a State, id: &'a ConversationId, overlay: Option<&'a Overlay>) -> Result<Self, StoreError> {
        let on_disk = state.find(id);
        if let Some(damage) = on_disk.and_then(|conversation| conversation.doubt.clone()) {
            return Err(damage.into());
        }
        Ok(Self { state, id, on_disk, overlay, trial: Trial::default() })
    }

    fn number(&self) -> Option<u64> {
        self.on_disk.map(|conversation| conversation.number).or(self.overlay.and_then(|overlay| overlay.number))
    }

    fn owner(&self) -> Option<&OwnerId> {
        match self.on_disk {
            Some(on_disk) => on_disk.owner.as_ref(),
            None => self.overlay.and_then(|overlay| overlay.owner.as_ref()),
        }
    }

    /// The record that opens the conversation, if it is not there; otherwise checks that it is `owner`'s.
    fn opening(&self, owner: Option<&OwnerId>, with_note: bool) -> Result<Option<Vec<u8>>, StoreError> {
        if self.number().is_none() {
            self.state.check_may_open(self.id, owner, with_note)?;
            return encode_opened(self.id, owner, None).map(Some).map_err(|error| invalid(self.id, error));
        }
        if owner.is_some() && owner != self.owner() {
            return Err(StoreError::NameTaken { id: self.id.clone() });
        }
        Ok(None)
    }

    fn nodes(&self) -> u64 {
        let on_disk = self.on_disk.map_or(0, Conversation::nodes);
        self.overlay.map_or(on_disk, |overlay| overlay.nodes) + self.trial.more_nodes
    }

    fn add_node(&mut self, keyed: Option<(MessageKey, Message)>) -> NodeId {
        let node = NodeId::from_index(usize::try_from(self.nodes()).unwrap_or(usize::MAX));
        self.trial.more_nodes += 1;
        if let Some((key, message)) = keyed {
            self.trial.keys.insert(key, (node, message));
        }
        node
    }

    /// The message that has `key`, if its content is that of `message`, or if it was erased.
    fn keyed(&self, key: &MessageKey, message: &Message) -> Result<Option<Appended>, StoreError> {
        let pending = self.trial.keys.get(key).or_else(|| self.overlay.and_then(|overlay| overlay.keys.get(key)));
        let (node, is_same) = match pending {
            Some((node, there)) => (*node, there == message),
            None => match self.stored(key)? {
                Some((node, Some(there))) => (node, there == *message),
                Some((node, None)) => return Ok(Some(Appended::erased(node))),
                None => return Ok(None),
            },
        };
        if is_same {
            return Ok(Some(Appended::existing(node)));
        }
        Err(StoreError::KeyConflict { conversation: self.id.clone(), key: key.clone(), node })
    }

    /// The node on disk that has `key`, with its message unless that was erased.
    fn stored(&self, key: &MessageKey) -> Result<Option<(NodeId, Option<Message>)>, StoreError> {
        let Some(on_disk) = self.on_disk else { return Ok(None) };
        let candidates = self.state.key_candidates(on_disk, key);
        if candidates.is_empty() {
            return Ok(None);
        }
        let mut reader = Reader::new(&self.state.segments);
        let Some(ReadRequest { node, location, is_erased, .. }) = reader.with_key(key, &candidates)? else {
            return Ok(None);
        };
        let message = if is_erased { None } else { Some(reader.stored(location)?.draft.message) };
        Ok(Some((node, message)))
    }

    fn pending_summaries(&self) -> impl Iterator<Item = &Summary> {
        self.overlay.into_iter().flat_map(|overlay| &overlay.summaries).chain(&self.trial.summaries)
    }

    /// The summary of the same level and span, made from the same input.
    fn same_summary(&self, draft: &SummaryDraft) -> Result<Option<SummaryId>, StoreError> {
        let input = |draft: &SummaryDraft| (draft.level, draft.span, draft.input_hash);
        if let Some(pending) = self.pending_summaries().find(|summary| input(&summary.body) == input(draft)) {
            return Ok(Some(pending.id));
        }
        let with_span = |there| self.state.summaries_with_span(there, draft.level, draft.span);
        let candidates = self.on_disk.map_or_else(Vec::new, with_span);
        let mut reader = Reader::new(&self.state.segments);
        for (id, location) in candidates {
            match reader.summary(location) {
                Ok(there) if input(&there.body) == input(draft) => return Ok(Some(id)),
                Ok(_) => {}
                // A summary that cannot be read is written again.
                Err(error) if error.is_damage() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn next_summary(&self) -> SummaryId {
        let pending = self.pending_summaries().last().map(|summary| summary.id);
        let on_disk = self.on_disk.and_then(|there| there.summaries.last());
        let last = pending.or(on_disk).map_or(0, SummaryId::get);
        SummaryId::from_index(usize::try_from(last).unwrap_or(usize::MAX))
    }

    fn next_view(&self) -> ViewId {
        let pending = self.trial.last_view.or_else(|| self.overlay.and_then(|overlay| overlay.last_view));
        let on_disk = || self.on_disk.and_then(|there| ViewId::new(there.views.last()));
        pending.or_else(on_disk).map_or(ViewId::FIRST, ViewId::next)
    }

    /// Checks that a note is the next one, and that its sources are there.
    fn check_note(&self, note: &Note) -> Result<(), StoreError> {
        let pending = self.trial.last_note.or_else(|| self.overlay.and_then(|overlay| overlay.last_note));
        let last = pending.map_or_else(|| self.on_disk.map_or(0, |there| there.notes.last()), NoteId::get);
        note.check_follows(self.id, last, self.nodes())?;
        note.sources.iter().try_for_each(|run| self.check_node(run.last()))
    }

    fn check_event(&self, event: &Event) -> Result<(), StoreError> {
        let invalid = |why| StoreError::Invalid { conversation: self.id.clone(), why };
        let on_disk = |summary| self.on_disk.and_then(|there| there.summaries.span(summary));
        let pending = |summary| self.pending_summaries().find(|s| s.id == summary).map(|s| s.body.span);
        let span_of = |summary| on_disk(summary).or_else(|| pending(summary));
        match event {
            Event::Summary(draft) => {
                check_weight(draft.metadata.importance).map_err(|error| invalid(error.0))?;
                self.check_unerased(draft.erased, Some(draft.span))?;
                check_summary(draft, self.nodes(), span_of).map_err(invalid)
            }
            Event::View(draft) => {
                self.check_unerased(draft.erased, NodeRange::first_n(draft.nodes))?;
                check_view(draft, self.nodes(), span_of).map_err(invalid)
            }
            Event::Importance { node, importance, .. } => {
                check_weight(*importance).map_err(|error| invalid(error.0))?;
                self.check_node(*node)
            }
            Event::Pin { node, .. } => self.check_node(*node),
            Event::Note(note) => self.check_note(note),
            Event::Erased(erasure) => erasure.nodes.last().map_or(Ok(()), |run| self.check_node(run.last())),
            Event::Disabled(change) => {
                let known = |id: SummaryId| self.on_disk.and_then(|there| there.summaries.level_and_span(id));
                let is_unknown = |id: &&SummaryId| known(**id).is_none() && span_of(**id).is_none();
                if let Some(unknown) = change.summaries.iter().find(is_unknown) {
                    return Err(invalid(format!("summary {unknown} is not there")));
                }
                change.nodes.last().map_or(Ok(()), |run| self.check_node(run.last()))
            }
            _ => Ok(()),
        }
    }

    /// Checks that no message of a run was erased, disabled or enabled since the writer knew of this many.
    fn check_unerased(&self, known: u64, run: Option<NodeRange>) -> Result<(), StoreError> {
        let now = run.zip(self.on_disk).map_or(0, |(run, there)| there.hidden_in(run));
        if now == known {
            return Ok(());
        }
        Err(StoreError::ErasedMeanwhile { conversation: self.id.clone() })
    }

    fn check_node(&self, node: NodeId) -> Result<(), StoreError> {
        let nodes = self.nodes();
        if node.get() <= nodes {
            return Ok(());
        }
        Err(StoreError::UnknownNode { conversation: self.id.clone(), node, nodes })
    }
}
