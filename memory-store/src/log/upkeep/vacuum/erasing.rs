//! Removal of erased content from the records that hold it.

use std::collections::{HashMap, HashSet};

use memory_core::{
    ConversationId, ErasureId, NodeRange,
    view::{Shown, ShownRun, View},
};

use crate::log::{
    format::{
        Location,
        codec::{
            self, CodecError, EventRecord, MessageRecord, Record, encode_erased_note, encode_erased_summary,
            encode_view,
        },
        frame::{FrameHeader, StoreId, record_of},
        scan::{Found, Scan},
    },
    keys::{Grave, Keys, OpenRecord},
    state::{State, erased::Erased},
};

/// Erased content that may stand in records of the log.
#[derive(Debug, Default)]
pub(super) struct Erasing {
    /// Places of the records of erased messages.
    messages: HashSet<Location>,
    /// Erasures by the number of their conversation.
    erased: HashMap<u64, Erased>,
    /// Numbers of the conversations with erasures.
    names: HashMap<ConversationId, u64>,
}

/// Fate of a record.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Kept,
    /// Replaced by this plain record, which the caller encrypts.
    Replaced(Vec<u8>),
    LeftOut,
}

impl Erasing {
    pub(super) fn of(state: &State) -> Self {
        let mut erasing = Self::default();
        for one in state.conversations().filter(|one| !one.erased.is_empty()) {
            let wanted = one.erased.runs().iter().flat_map(|run| one.nodes.all_wanted(*run));
            erasing.messages.extend(wanted.map(|wanted| wanted.location));
            erasing.erased.insert(one.number, one.erased.clone());
            erasing.names.insert(one.id.clone(), one.number);
        }
        erasing
    }

    pub(super) fn is_empty(&self) -> bool {
        self.erased.is_empty()
    }

    /// Records of a segment that hold erased content: for each its grave, if it has a salt.
    pub(super) fn found<'a>(
        &'a self,
        (store, keys): (StoreId, &'a Keys),
        segment: u32,
        image: &'a [u8],
    ) -> impl Iterator<Item = Option<Grave>> + 'a {
        Scan::new(image, store, segment, true).flat_map(move |found| {
            let Found::Frame { offset, header, payload } = found else { return Vec::new() };
            let holds = |record: &OpenRecord<'_>| {
                let within = u32::try_from(record.range.start).unwrap_or(u32::MAX);
                let place = Location { segment, offset: offset.saturating_add(within) };
                self.fate(&header, place, record).is_ok_and(|fate| fate != Fate::Kept)
            };
            let records = keys.records(&header, payload).flatten();
            records.filter(holds).map(|record| keys.grave_in(&header, &record)).collect()
        })
    }

    /// Fate of the record at `place`.
    pub(super) fn fate(
        &self,
        header: &FrameHeader,
        place: Location,
        OpenRecord { body, is_shredded, .. }: &OpenRecord<'_>,
    ) -> Result<Fate, CodecError> {
        if *is_shredded {
            return record_of(body).map(Fate::Replaced).ok_or_else(|| "an erased record is too long".into());
        }
        if codec::is_message(body) && !self.messages.contains(&place) {
            return Ok(Fate::Kept);
        }
        let erased = self.erased.get(&header.conversation);
        match codec::decode(body)? {
            Record::Message(message) => self.erased_message(&message, erased).map(Fate::Replaced),
            Record::Event(EventRecord::View(view)) => self.view(*view, erased, place),
            Record::Event(event) => match (event, erased) {
                (EventRecord::Summary(summary), Some(erased)) if erased.hides_summary(summary.body.span, place) => {
                    encode_erased_summary(&summary).map(Fate::Replaced)
                }
                (EventRecord::Note(note), Some(erased)) if erased.hides_note(&note, place) => {
                    encode_erased_note(note.id).map(Fate::Replaced)
                }
                (EventRecord::Title(_) | EventRecord::Tags(_), Some(erased)) if erased.hides_labels(place) => {
                    Ok(Fate::LeftOut)
                }
                _ => Ok(Fate::Kept),
            },
            Record::Opened(_) | Record::Lost(_) | Record::ErasedMessage(_) => Ok(Fate::Kept),
        }
    }

    fn erased_message(&self, message: &MessageRecord<'_>, erased: Option<&Erased>) -> Result<Vec<u8>, CodecError> {
        // A message may have been erased only through a fork, if its own conversation is damaged.
        message.erased_record(erased.and_then(Erased::salt).unwrap_or(ErasureId::from_bytes([0; 16])))
    }

    fn view(&self, mut view: View, erased: Option<&Erased>, place: Location) -> Result<Fate, CodecError> {
        let messages = |run: &ShownRun| if let Shown::Messages(nodes) = run.shown { Some(nodes) } else { None };
        let shows_erased = view.body.elsewhere.iter().any(|other| {
            let of_it = self.names.get(&other.conversation).and_then(|number| self.erased.get(number));
            let shown: Vec<NodeRange> = other.runs.iter().filter_map(messages).collect();
            of_it.is_some_and(|erased| erased.hides_shown(&shown, place))
        });
        let is_hidden = shows_erased || erased.is_some_and(|erased| erased.hides_view(&view.body, place));
        if !is_hidden || view.body.is_erased() {
            return Ok(Fate::Kept);
        }
        view.body.erase();
        encode_view(&view.body, view.id).map(Fate::Replaced)
    }
}
