//! Applies frames, segment after segment, from any writer.

use std::{path::Path, sync::Arc};

use memory_core::port::{Place, StoreError};

use crate::log::{
    format::{
        Location,
        codec::{self, EventRecord, Record},
        frame::{FrameHeader, FrameKind},
        scan::{Found, Scan},
        segment::{SEGMENT_HEADER, Segment, SegmentHeader, segment_name},
    },
    keys::{Keys, OpenRecord},
    state::{
        Applied, State,
        conversation::Change,
        damage::{Damage, TornTail},
    },
};

/// HORIZON or the checkpoint records a later end. Neither fits a log that was put back on purpose.
const ENDS_EARLY: &str = "it ends before what is known to have been on disk (if an earlier log was put back on purpose, \
                          remove HORIZON and cache/checkpoint while nobody has the store open)";

/// Called with each frame that was applied: its header, its place, and its payload.
pub(crate) type OnFrame<'f> = dyn FnMut(&FrameHeader, Location, &[u8]) + 'f;

/// Result of reading a segment.
#[derive(Debug)]
pub(crate) struct Read {
    /// Everything before this offset is proven to have been on disk.
    pub(crate) durable: u32,
    /// Offset of the next frame to write.
    pub(crate) end: u32,
    /// The half-written end.
    pub(crate) torn: Option<TornTail>,
}

impl State {
    /// Applies the next segment, whose contents are `bytes`. Everything before `durable` is known to have been
    /// on disk.
    pub(crate) fn replay_segment(
        &mut self,
        segment: &Segment,
        bytes: &[u8],
        sealed: bool,
        durable: u32,
        on_frame: &mut OnFrame<'_>,
    ) -> Read {
        self.check_header(bytes, segment);
        Arc::make_mut(&mut self.segments).push(segment.clone());
        self.cursor.end = Location { segment: segment.number(), offset: SEGMENT_HEADER };
        let scan = Scan::new(bytes, self.store, segment.number(), sealed).proven(durable);
        self.replay(segment, scan, on_frame)
    }

    /// Goes on in the last segment: `bytes` is its contents from where reading has ended.
    pub(crate) fn replay_more(
        &mut self,
        segment: &Segment,
        bytes: &[u8],
        sealed: bool,
        durable: u32,
        on_frame: &mut OnFrame<'_>,
    ) -> Read {
        let scan = Scan::after(bytes, self.cursor.end.offset, self.store, segment.number(), sealed).proven(durable);
        self.replay(segment, scan, on_frame)
    }

    fn replay(&mut self, segment: &Segment, mut scan: Scan<'_>, on_frame: &mut OnFrame<'_>) -> Read {
        let number = segment.number();
        let mut torn = None;
        for found in scan.by_ref() {
            match found {
                Found::Frame { offset, header, payload } => {
                    let location = Location { segment: number, offset };
                    if self.apply_frame(segment, location, &header, payload) {
                        on_frame(&header, location, payload);
                    }
                }
                Found::Damage { offset, end, why, conversation } => {
                    self.damaged(segment.path(), offset, end - offset, why, conversation);
                }
                Found::Torn { offset, bytes } => {
                    torn = Some(TornTail { path: segment.path().to_owned(), offset: u64::from(offset), bytes });
                }
            }
        }
        let (durable, end) = (scan.durable(), scan.end());
        if end < durable {
            self.damaged(segment.path(), end, durable - end, ENDS_EARLY, None);
        }
        self.cursor.end = Location { segment: number, offset: end };
        Read { durable, end, torn }
    }

    /// Checks what the segment records about itself and the one before.
    fn check_header(&mut self, bytes: &[u8], segment: &Segment) {
        let path = segment.path().to_owned();
        let before = self.segments.last().cloned();
        let declared = self.cursor.declared_end.take();
        let expected = before.as_ref().map_or(1, |before| before.number().saturating_add(1));
        if let Some(more) = segment.number().checked_sub(expected).filter(|missing| *missing > 0) {
            // Reported once for all of them: a file may have any number in its name.
            let path = path.with_file_name(segment_name(expected));
            let why = match more {
                1 => "the segment is missing".to_owned(),
                more => format!("the segment is missing, and so are the {} after it", more - 1),
            };
            self.damaged(&path, 0, 0, &why, None);
        }
        let header = match SegmentHeader::parse(bytes) {
            Ok(header) => header,
            Err(why) => return self.damaged(&path, 0, SEGMENT_HEADER, why, None),
        };
        if header.store != self.store {
            return self.damaged(&path, 0, SEGMENT_HEADER, "the segment belongs to another store", None);
        }
        if header.number != segment.number() {
            return self.damaged(&path, 0, SEGMENT_HEADER, "the file has the name of another segment", None);
        }
        self.cursor.declared_end = header.end;
        if let Some(before) = before
            && before.number().checked_add(1) == Some(header.number)
        {
            // A segment that was rewritten records its own end.
            let end = self.cursor.end.offset;
            let should_end = declared.unwrap_or(header.previous_end);
            if end != should_end {
                let bytes = should_end.saturating_sub(end);
                self.damaged(before.path(), end, bytes, "the segment is cut short", None);
            }
        }
    }

    /// Applies a frame; `false` when it turns out to be damaged.
    fn apply_frame(&mut self, segment: &Segment, location: Location, header: &FrameHeader, payload: &[u8]) -> bool {
        let Location { offset, .. } = location;
        let bytes = u32::try_from(header.frame_bytes()).unwrap_or(u32::MAX);
        // No log reaches this number: it was forged, and would leave no numbers for later frames.
        const MOST_FRAMES: u64 = 1 << 60;
        if header.lsn.saturating_add(header.lsns()) > MOST_FRAMES {
            self.damaged(segment.path(), offset, bytes, "a frame has an impossible number", Some(header.conversation));
            return false;
        }
        if header.lsn < self.cursor.next_lsn {
            self.damaged(segment.path(), offset, bytes, "a frame repeats", Some(header.conversation));
            return false;
        }
        if header.lsn > self.cursor.next_lsn && !self.cursor.gap {
            self.damaged(segment.path(), offset, 0, "frames before this place are missing", None);
        }
        self.cursor.next_lsn = header.lsn.saturating_add(header.lsns());
        self.cursor.last_frame = Some(location);
        self.cursor.gap = false;
        if header.kind == FrameKind::Filler {
            return true;
        }
        let applied = read_frame(self, segment.keys(), location, header, payload);
        let applied = applied.and_then(|applied| self.apply(applied).map_err(str::to_owned));
        let Err(why) = &applied else { return true };
        if self.newer.is_none() {
            let newer =
                segment.keys().records(header, payload).filter_map(|record| codec::newer(&record.ok()?.body)).next();
            self.newer = newer.map(|(kind, version)| StoreError::NewerRecord {
                place: Place::from(segment.path()).offset(u64::from(offset)),
                kind,
                version,
            });
        }
        if self.knows(header.conversation) || self.cursor.orphans.insert(header.conversation) {
            self.damaged(segment.path(), offset, bytes, why, Some(header.conversation));
            self.cursor.gap = false;
        }
        false
    }

    /// Notes that a part of the log cannot be read.
    pub(crate) fn damaged(&mut self, path: &Path, offset: u32, bytes: u32, why: &str, conversation: Option<u64>) {
        let (path, why) = (path.to_owned(), why.to_owned());
        self.note_damage(Damage { path, offset: u64::from(offset), bytes: u64::from(bytes), why, conversation });
        self.cursor.gap = true;
    }
}

/// Decodes the changes of a frame.
fn read_frame(
    state: &State,
    keys: &Keys,
    frame: Location,
    header: &FrameHeader,
    payload: &[u8],
) -> Result<Applied, String> {
    let mut applied = Applied {
        conversation: header.conversation,
        opened: None,
        nodes_before: header.nodes_before,
        changes: Vec::new(),
    };
    for record in keys.records(header, payload) {
        let OpenRecord { range, body, .. } = record?;
        let offset = u32::try_from(range.start).ok().and_then(|within| frame.offset.checked_add(within));
        let offset = offset.ok_or("a record stands after the end of any segment")?;
        let location = Location { segment: frame.segment, offset };
        let change = match codec::decode(&body).map_err(|error| error.0)? {
            Record::Opened(opening) if header.conversation == header.lsn => {
                applied.opened = Some((opening, location));
                continue;
            }
            Record::Opened(_) => return Err("a conversation's number is not that of its first frame".into()),
            Record::Lost(count) => Change::Lost { count, location },
            Record::ErasedMessage(erased) => {
                let key = erased.left.key.map(|key| (state.erased_key_hash(&key), key.salt));
                Change::ErasedNode { outline: erased.outline(), location, key }
            }
            Record::Message(message) => {
                let key = message.key().map(|key| state.key_hash(key));
                let outline = message.outline().map_err(|error| error.0)?;
                Change::Node { outline, importance: message.importance(), location, key }
            }
            Record::Event(event) => match event {
                EventRecord::Summary(summary) => {
                    let (id, level, span) = (summary.id, summary.body.level, summary.body.span);
                    Change::Summary { id, level, span, location, is_erased: false }
                }
                EventRecord::ErasedSummary { id, level, span } => {
                    Change::Summary { id, level, span, location, is_erased: true }
                }
                EventRecord::Erasure(erasure) => {
                    keys.forget_salts();
                    Change::Erasure { erasure, location }
                }
                EventRecord::Disabling(change) => Change::Disabled { change, location },
                EventRecord::ErasedNote(id) => Change::Note { id, location },
                EventRecord::View(view) => Change::View { id: view.id, location },
                EventRecord::Note(note) => Change::Note { id: note.id, location },
                EventRecord::Importance { node, importance } => Change::Importance { node, importance },
                EventRecord::Pin { node, pinned } => Change::Pin { node, pinned },
                EventRecord::Title(title) => Change::Title(title.to_owned()),
                EventRecord::Tags(tags) => Change::Tags(tags.into_iter().map(str::to_owned).collect()),
            },
        };
        applied.changes.push(change);
    }
    Ok(applied)
}
