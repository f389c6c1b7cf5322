//! The checkpoint: the state of the log at some place, so that opening a store reads only what came after.
//!
//! A checkpoint is a cache. One that does not fit the log is ignored, and the log is read from its beginning instead.

mod body;

use std::sync::Arc;

use self::body::KeyRanges;
use super::directory::Directory;
use crate::{
    checksum,
    log::{
        format::{
            Location,
            frame::{FRAME_HEADER, FrameHeader, StoreId},
            segment::{SEGMENT_HEADER, Segment},
        },
        media::Media,
        state::{State, keys::Kept},
    },
    wire::{In, Out},
};

/// Name of the checkpoint in the directory of caches.
pub(crate) const FILE: &str = "checkpoint";
const MAGIC: [u8; 8] = *b"MEMCKPT\n";
const FORMAT: u32 = 3;
/// The format in which conversations have owners; without any, the older one says the same.
const WITH_OWNERS: u32 = 4;
/// The format in which conversations have owners and notes; without notes, an older one says the same.
const WITH_NOTES: u32 = 5;
/// The format in which conversations have erasures, too; without any, an older one says the same.
const WITH_ERASURES: u32 = 6;
/// The format in which conversations have disabled messages and summaries, too; without any, an older one says the same.
const WITH_DISABLINGS: u32 = 7;

/// Bytes in front of the body: magic, format, store, and the body's length. The keys come after the body.
const KEYS_BEHIND: usize = 32;

/// A checkpoint that is whole. It is not known yet whether it fits the log.
pub(crate) struct Saved {
    file: Kept,
    pub(crate) store: StoreId,
    /// Its format.
    format: u32,
    /// Bytes of the body.
    body: usize,
    end: Location,
}

impl Saved {
    /// The checkpoint in the bytes of a file, if there is a whole one.
    pub(crate) fn of(kept: Kept) -> Option<Self> {
        let (content, crc) = (*kept).as_ref().split_last_chunk::<4>()?;
        if checksum::crc32c(content) != u32::from_le_bytes(*crc) {
            return None;
        }
        let mut fields = In(content);
        if fields.array()? != MAGIC {
            return None;
        }
        let format = u32::from_le_bytes(fields.array()?);
        if !(FORMAT..=WITH_DISABLINGS).contains(&format) {
            return None;
        }
        let store = fields.array()?;
        let body = u32::from_le_bytes(fields.array()?) as usize;
        let mut fields = In(fields.take(body)?);
        let end = Location { segment: fields.u32()?, offset: fields.u32()? };
        Some(Self { file: kept, store, format, body, end })
    }

    /// End of the log when the checkpoint was written. Everything before it was on disk: a log that ends sooner is
    /// damaged, whether the checkpoint fits or not.
    pub(crate) fn end(&self) -> Location {
        self.end
    }

    /// State of the checkpoint, if it fits the existing segments.
    pub(crate) fn state(&self, media: &dyn Media, directory: &Directory, numbers: &[u32]) -> Option<State> {
        let state = fitting(self, media, directory, numbers);
        if state.is_none() {
            let path = directory.cache().join(FILE);
            tracing::info!(path = %path.display(), "the checkpoint does not fit the log; it is read from its beginning");
        }
        state
    }
}

fn fitting(saved: &Saved, media: &dyn Media, directory: &Directory, numbers: &[u32]) -> Option<State> {
    let kept = &saved.file;
    let content = (**kept).as_ref().split_last_chunk::<4>()?.0;
    let place = KEYS_BEHIND + saved.body..content.len();
    let mut fields = In(content.get(KEYS_BEHIND..place.start)?);

    let mut state = State::new(directory.id);
    let end = Location { segment: fields.u32()?, offset: fields.u32()? };
    state.cursor.end = end;
    state.cursor.next_lsn = fields.number()?;
    state.cursor.declared_end = fields.u32().map(|end| (end > 0).then_some(end))?;
    let last_frame = Location { segment: fields.u32()?, offset: fields.u32()? };
    state.cursor.last_frame = (last_frame != Location::default()).then_some(last_frame);
    let header: [u8; FRAME_HEADER] = fields.array()?;
    let mut segments = Vec::new();
    for _ in 0..fields.count(6)? {
        let (number, crc, size) = (fields.u32()?, u32::from_le_bytes(fields.array()?), fields.number()?);
        numbers.binary_search(&number).ok()?;
        let sealed = number != end.segment;
        let segment = Segment::open(media, (&directory.log(), &directory.keys), number, sealed).ok()?;
        let there = segment.file().size().ok()?;
        let fits = if sealed { there == size } else { there >= u64::from(end.offset) };
        if !fits
            || header_crc(&segment)? != crc
            || segments.last().is_some_and(|last: &Segment| last.number() >= number)
        {
            return None;
        }
        segments.push(segment);
    }
    // The checkpoint ends with the last frame that it knows, or else with the segment's header.
    let ends = match state.cursor.last_frame {
        Some(frame) if frame.segment == end.segment => FrameHeader::end_of(&header, frame.offset) == Some(end.offset),
        Some(_) | None => end.offset == SEGMENT_HEADER,
    };
    if !ends {
        return None;
    }
    // No segment older than the checkpoint may be missing from it.
    if segments.len() != numbers.iter().filter(|number| **number <= end.segment).count()
        || segments.last()?.number() != end.segment
        || header != frame_header(&segments, state.cursor.last_frame)?
    {
        return None;
    }
    state.segments = Arc::new(segments);
    body::decode(&mut fields, saved.format, &mut state, kept, place)?;
    Some(state)
}

/// The checksum of the first bytes of a segment's file, without the checksum that they end with: one over both would be
/// the same for all headers.
fn header_crc(segment: &Segment) -> Option<u32> {
    let mut header = [0; SEGMENT_HEADER as usize];
    let read = segment.file().read_at(&mut header, 0).ok()?;
    let (fields, _) = header.split_last_chunk::<4>()?;
    (read == header.len()).then(|| checksum::crc32c(fields))
}

/// The header of the frame at a place; zeros without one. It has checksums over all of the frame, so that a log of
/// other contents has another.
fn frame_header(segments: &[Segment], frame: Option<Location>) -> Option<[u8; FRAME_HEADER]> {
    let Some(frame) = frame else { return Some([0; FRAME_HEADER]) };
    let found = segments.binary_search_by_key(&frame.segment, Segment::number).ok()?;
    segments.get(found)?.bytes(frame.offset, FRAME_HEADER, &mut Vec::new()).ok()?.first_chunk().copied()
}

/// Encodes a checkpoint; `None` when a part of the log that it must name cannot be read.
pub(crate) fn encode(state: &State) -> Option<(Vec<u8>, KeyRanges)> {
    let cursor = &state.cursor;
    let mut out = Out::default();
    for number in [cursor.end.segment, cursor.end.offset] {
        out.number(u64::from(number));
    }
    out.number(cursor.next_lsn);
    out.number(u64::from(cursor.declared_end.unwrap_or_default()));
    let last = cursor.last_frame.unwrap_or_default();
    out.number(u64::from(last.segment));
    out.number(u64::from(last.offset));
    out.bytes(&frame_header(&state.segments, cursor.last_frame)?);
    out.number(state.segments.len() as u64);
    for segment in state.segments.iter() {
        out.number(u64::from(segment.number()));
        out.bytes(&header_crc(segment)?.to_le_bytes());
        out.number(if segment.number() == cursor.end.segment { 0 } else { segment.file().size().ok()? });
    }
    let format = if state.has_disablings() {
        WITH_DISABLINGS
    } else if state.has_erasures() {
        WITH_ERASURES
    } else if state.conversations().any(|conversation| conversation.notes.last() > 0) {
        WITH_NOTES
    } else if state.conversations().any(|conversation| conversation.owner.is_some()) {
        WITH_OWNERS
    } else {
        FORMAT
    };
    let (keys, ranges) = body::encode(state, format, &mut out);
    let body = out.0;

    let mut bytes = Vec::with_capacity(body.len() + keys.len() + 36);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&format.to_le_bytes());
    bytes.extend_from_slice(&state.store);
    bytes.extend_from_slice(&u32::try_from(body.len()).ok()?.to_le_bytes());
    bytes.extend_from_slice(&body);
    let keys_start = bytes.len();
    bytes.extend_from_slice(&keys);
    bytes.extend_from_slice(&checksum::crc32c(&bytes).to_le_bytes());
    let shift = |at| keys_start + at;
    let shifted =
        ranges.into_iter().map(|(number, range, nodes)| (number, shift(range.start)..shift(range.end), nodes));
    let ranges = shifted.collect();
    Some((bytes, ranges))
}
