//! Conversion of conversations whose messages are notes, as versions without notes kept them.

use std::collections::{BTreeMap, HashSet};

use memory_core::{
    Mark, NoteId, SummaryId,
    port::{Event, Note},
};

use crate::log::{
    format::{
        codec::{self, CodecError, EventRecord, Record},
        frame::{StoreId, record_of},
        scan::{Found, Scan},
    },
    keys::Keys,
    state::{State, conversation::Conversation},
};

/// Conversations whose messages may all become notes, narrowed down while the log is read.
///
/// Segments are replaced one by one, from the last to the first, and the power may fail in between. So the segment that
/// begins a conversation must show that its messages are notes.
#[derive(Debug, Default)]
pub(super) struct Noted(BTreeMap<u64, Candidate>);

#[derive(Debug)]
struct Candidate {
    has_name_of_notes: bool,
    begins_in: Option<u32>,
    /// Segments with the tag of such a conversation.
    tagged_in: HashSet<u32>,
}

impl Noted {
    /// The conversations that have nothing but messages, tags of their kind, and notes after them.
    pub(super) fn of(state: &State) -> Self {
        let parents: HashSet<u64> = state.conversations().filter_map(|one| Some(one.past?.parent)).collect();
        let candidate = |one: &Conversation| {
            let overview = state.overview(one);
            let is_plain = one.past.is_none()
                && one.lost.is_empty()
                && one.doubt.is_none()
                && one.title.is_none()
                && (overview.summaries, overview.views) == (0, 0)
                && !parents.contains(&one.number)
                && one.tags.iter().all(|tag| [Mark::Companion, Mark::Archived].map(Mark::tag).contains(&tag.as_str()))
                && one.notes.locations(1, one.nodes()).is_empty();
            let has_name_of_notes = overview.clone().tags(Vec::new()).has_notes_as_messages();
            let candidate = Candidate { has_name_of_notes, begins_in: None, tagged_in: HashSet::new() };
            (is_plain && overview.has_notes_as_messages()).then_some((one.number, candidate))
        };
        Self(state.conversations().filter_map(candidate).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads a segment, and drops the conversations with anything else in it.
    pub(super) fn look(&mut self, (store, keys): (StoreId, &Keys), segment: u32, image: &[u8], is_sealed: bool) {
        if self.is_empty() {
            return;
        }
        for found in Scan::new(image, store, segment, true) {
            let Found::Frame { header, payload, .. } = found else { continue };
            let Some(candidate) = self.0.get_mut(&header.conversation) else { continue };
            let fits = keys.records(&header, payload).all(|record| {
                match record.as_ref().map(|record| codec::decode(&record.body)) {
                    Ok(Ok(Record::Opened(_))) => {
                        candidate.begins_in = Some(segment);
                        is_sealed
                    }
                    Ok(Ok(Record::Message(message))) => {
                        let note = message
                            .into_stored()
                            .ok()
                            .and_then(|stored| Note::of_message(NoteId::FIRST, &stored.draft.message, stored.draft.at));
                        is_sealed && note.is_some()
                    }
                    Ok(Ok(Record::Event(EventRecord::Tags(tags)))) => {
                        if tags.contains(&Mark::Companion.tag()) {
                            candidate.tagged_in.insert(segment);
                        }
                        is_sealed
                    }
                    Ok(Ok(Record::Event(EventRecord::Note(_)))) => true,
                    _ => false,
                }
            });
            if !fits {
                self.0.remove(&header.conversation);
            }
        }
    }

    /// The numbers of the conversations whose messages become notes.
    pub(super) fn conversations(self) -> HashSet<u64> {
        let shows = |one: &Candidate| {
            one.begins_in.is_some_and(|first| one.has_name_of_notes || one.tagged_in.contains(&first))
        };
        self.0.into_iter().filter(|(_, one)| shows(one)).map(|(number, _)| number).collect()
    }
}

/// Replacement of a record of such a conversation; `None` if the record is left out. `before` counts the nodes before
/// the record.
pub(super) fn renoted(body: &[u8], before: &mut u64) -> Result<Option<Vec<u8>>, CodecError> {
    match codec::decode(body)? {
        Record::Message(message) => {
            let id = NoteId::after(*before);
            *before += 1;
            let draft = message.into_stored()?.draft;
            let note = Note::of_message(id, &draft.message, draft.at).ok_or("a message is no note")?;
            codec::encode_event(&Event::Note(Box::new(note)), SummaryId::from_index(0)).map(Some)
        }
        Record::Event(EventRecord::Tags(_)) => Ok(None),
        _ => record_of(body).map(Some).ok_or_else(|| "a record is too long".into()),
    }
}
