//! The records of a frame, one by one, where the frame as a whole may be damaged.

use std::{borrow::Cow, ops::Range};

use memory_core::{Hash, NoteId, SummaryId, ViewId};

use crate::log::{
    format::{
        codec::{self, EventRecord, Opening, Record},
        frame::{FRAME_HEADER, FrameHeader, RECORD_HEADER, parse_record, record_bytes, record_of},
    },
    keys::{Keys, is_sealed},
};

/// The content of a whole record.
#[derive(Debug)]
pub(crate) enum Part {
    Opened(Opening),
    /// A message with its leaf, hashed again.
    Message(Hash),
    /// The leaf of a message that was erased.
    Erased(Hash),
    /// Lost nodes: recorded by this record, or the record itself was the message.
    Lost(u64),
    /// Number of a summary, and its parts.
    Summary(SummaryId, Vec<SummaryId>),
    View(ViewId),
    Note(NoteId),
    OtherEvent,
}

/// Records that cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadRecords {
    /// Their bytes in the frame.
    pub(crate) range: Range<usize>,
    pub(crate) why: String,
    /// The node that is lost with it, by its index among those of the frame.
    pub(crate) node: Option<u64>,
    /// True if the range may have held more than is known.
    pub(crate) hides: bool,
}

/// A frame read record by record.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    keys: &'a Keys,
    payload: &'a [u8],
    /// The end of the part of the payload whose records can be separated.
    known: usize,
    /// True if records that cannot be read are messages.
    holds_messages: bool,
    /// True if the opening of a conversation, first in its frame, cannot be read.
    lost_opening: bool,
    /// The conversation that it opens, if any.
    pub(crate) opened: Option<Opening>,
    /// Number of nodes of the frame, including lost ones.
    pub(crate) nodes: u64,
    /// Number of lost ones among them.
    pub(crate) lost: u64,
    /// True if its readable records are notes, after the opening if there is one. Such a frame may count other nodes
    /// before it than there are.
    pub(crate) is_of_notes: bool,
    /// The first unusable records; the reason of the last counts the rest.
    pub(crate) bad: Vec<BadRecords>,
}

/// A record found by its length; unreadable ones are skipped.
struct Raw<'a> {
    range: Range<usize>,
    body: Result<&'a [u8], &'static str>,
}

/// Goes from record to record by their lengths; ends where no record can stand.
fn raw(payload: &[u8], length: usize) -> impl Iterator<Item = Raw<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = payload.get(at..).filter(|rest| !rest.is_empty())?;
        let bytes = record_bytes(*rest.first_chunk::<RECORD_HEADER>()?)?;
        let end = at.checked_add(bytes).filter(|end| *end <= length)?;
        let raw = Raw { range: at..end.min(payload.len()), body: parse_record(rest) };
        at = end;
        Some(raw)
    })
}

/// Most places in one frame that are reported one by one.
const MOST_BAD: usize = 16;

impl<'a> Reading<'a> {
    /// Reads the records of a frame; `broken` when the payload as a whole is damaged.
    ///
    /// After a record that cannot be read, the others are found by its length. They count only if they end with the
    /// payload, since nothing protects the place of a record: bytes in a message may look like records. A frame holds
    /// messages or events, never both, so that a good record shows the kind of the bad ones, and each bad message takes
    /// its number.
    pub(crate) fn new(keys: &'a Keys, header: &FrameHeader, payload: &'a [u8], broken: Option<&'static str>) -> Self {
        let length = header.payload as usize;
        let (mut end, mut first_bad) = (0, None);
        for Raw { range, body } in raw(payload, length) {
            end = range.end;
            first_bad = first_bad.or(body.is_err().then_some(range.start));
        }
        let (mut opening, mut messages, mut events) = (false, false, false);
        // The kind of the frame matters only when some of it cannot be read.
        for Raw { body, .. } in raw(payload, length).filter(|_| first_bad.is_some()) {
            let opened = body.map(|body| opened(keys, body));
            match opened.as_ref().map(|body| (&**body, codec::decode(body))) {
                Ok((_, Ok(Record::Event(_)))) => events = true,
                Ok((_, Ok(Record::Opened(_)))) => opening = true,
                Ok((_, Ok(_))) => messages = true,
                Ok((body, Err(_))) if codec::is_message(body) => messages = true,
                Ok((_, Err(_))) | Err(_) => {}
            }
        }
        // Only a note may follow an opening in the place of a message.
        messages |= opening && !events;
        let is_told_apart = end == length && messages != events;
        let known = first_bad.filter(|_| !is_told_apart).unwrap_or(end);
        let mut reading = Self {
            keys,
            payload,
            known,
            holds_messages: messages && !events,
            lost_opening: false,
            opened: None,
            nodes: 0,
            lost: 0,
            is_of_notes: false,
            bad: Vec::new(),
        };
        reading.count(header, broken, length);
        reading
    }

    fn count(&mut self, header: &FrameHeader, broken: Option<&'static str>, length: usize) {
        let mut opened = None;
        let (mut nodes, mut lost) = (0u64, 0u64);
        let (mut notes, mut others) = (false, false);
        let mut bad = Vec::new();
        let mut more = 0u64;
        let opens = header.conversation == header.lsn;
        let first = raw(self.payload, self.known).next();
        self.lost_opening = opens && self.holds_messages && first.is_some_and(|first| first.body.is_err());
        self.parts(|_, part, range| match part {
            Ok(Part::Opened(opening)) => opened = Some(opening),
            Ok(Part::Message(_) | Part::Erased(_)) => nodes = nodes.saturating_add(1),
            Ok(Part::Lost(count)) => {
                nodes = nodes.saturating_add(count);
                lost = lost.saturating_add(count);
            }
            Ok(Part::Note(_)) => notes = true,
            Ok(Part::Summary(..) | Part::View(_) | Part::OtherEvent) => others = true,
            Err((why, is_node)) => {
                let node = is_node.then_some(nodes);
                nodes = nodes.saturating_add(u64::from(is_node));
                lost = lost.saturating_add(u64::from(is_node));
                if bad.len() < MOST_BAD {
                    let range = range.start + FRAME_HEADER..range.end + FRAME_HEADER;
                    bad.push(BadRecords { range, why, node, hides: false });
                } else {
                    more += 1;
                }
            }
        });
        if let Some(last) = bad.last_mut().filter(|_| more > 0) {
            last.why = format!("{}; {more} more records of the frame cannot be read", last.why);
        }
        if self.known < length || (broken.is_some() && bad.is_empty()) {
            let range = self.known + FRAME_HEADER..length + FRAME_HEADER;
            let why = broken.unwrap_or("the records of a frame cannot be separated").to_owned();
            bad.push(BadRecords { range, why, node: None, hides: self.known < length });
        }
        self.is_of_notes = notes && !others && nodes == 0;
        (self.opened, self.nodes, self.lost, self.bad) = (opened, nodes, lost, bad);
    }

    /// Calls `each` with each whole record, decrypted, and its content, or the error and whether a node is lost with it.
    pub(crate) fn parts(&self, mut each: impl FnMut(&[u8], Result<Part, (String, bool)>, Range<usize>)) {
        for (index, Raw { range, body }) in raw(self.payload, self.known).enumerate() {
            let mut bytes = Cow::Borrowed(self.payload.get(range.clone()).unwrap_or_default());
            let part = match body {
                Ok(body) => {
                    let body = opened(self.keys, body);
                    if let Cow::Owned(body) = &body {
                        bytes = record_of(body).unwrap_or_default().into();
                    }
                    read(&body)
                }
                Err(why) => {
                    let is_opening = index == 0 && self.lost_opening;
                    Err((why.to_owned(), self.holds_messages && !is_opening))
                }
            };
            each(&bytes, part, range);
        }
    }
}

/// A record's body, decrypted; as it is if that fails.
fn opened<'p>(keys: &Keys, body: &'p [u8]) -> Cow<'p, [u8]> {
    let mut out = Vec::new();
    if is_sealed(body) && keys.open_record(body, &mut out).is_ok() { Cow::Owned(out) } else { Cow::Borrowed(body) }
}

fn read(body: &[u8]) -> Result<Part, (String, bool)> {
    match codec::decode(body) {
        Ok(Record::Opened(opening)) => Ok(Part::Opened(opening)),
        Ok(Record::Lost(count)) => Ok(Part::Lost(count)),
        Ok(Record::Event(EventRecord::Summary(summary))) => Ok(Part::Summary(summary.id, summary.body.children)),
        // Its parts are gone with it, or stay without it.
        Ok(Record::Event(EventRecord::ErasedSummary { id, .. })) => Ok(Part::Summary(id, Vec::new())),
        Ok(Record::Event(EventRecord::ErasedNote(id))) => Ok(Part::Note(id)),
        Ok(Record::Event(EventRecord::View(view))) => Ok(Part::View(view.id)),
        Ok(Record::Event(EventRecord::Note(note))) => Ok(Part::Note(note.id)),
        Ok(Record::Event(_)) => Ok(Part::OtherEvent),
        Ok(Record::ErasedMessage(erased)) => Ok(Part::Erased(erased.left.leaf)),
        Ok(Record::Message(message)) => match message.into_stored() {
            Ok(stored) if stored.rehash() == stored.proof.leaf => Ok(Part::Message(stored.proof.leaf)),
            Ok(_) => Err(("the message is not what was hashed when it was appended".to_owned(), true)),
            Err(error) => Err((error.0, true)),
        },
        Err(error) => Err((error.0, codec::is_message(body))),
    }
}
