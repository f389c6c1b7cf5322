//! The checkpoint: what reading the log has come to, so that opening a store reads only what came after.
//!
//! It is a cache. One that does not fit the log is not believed, and the log is read from its beginning instead.

mod body;

use std::{io, path::Path, sync::Arc};

use self::body::KeyRanges;
use super::{
    directory::Directory,
    frame::{FRAME_HEADER, FrameHeader, StoreId},
    horizon::Horizon,
    keys::{self, Kept},
    media::{Access, Media},
    recovery::open_segment,
    segment::{SEGMENT_HEADER, Segment},
    shared::Shared,
    state::{Location, State},
};
use crate::{
    checksum,
    wire::{In, Out},
};

/// Its name in the directory of caches.
pub(crate) const FILE: &str = "checkpoint";
/// One that fits as soon as segments are replaced.
const AHEAD: &str = "checkpoint.next";
const MAGIC: [u8; 8] = *b"MEMCKPT\n";
const FORMAT: u32 = 3;

/// Bytes in front of the body: magic, format, store, and the body's length. The keys come behind the body.
const KEYS_BEHIND: usize = 32;

/// A checkpoint that is whole. Whether it fits the log is not known yet.
pub(crate) struct Saved {
    file: Kept,
    pub(crate) store: StoreId,
    /// Bytes of the body.
    body: usize,
    end: Location,
}

impl Saved {
    /// A checkpoint, if that is what the bytes of a file are.
    pub(crate) fn of(kept: Kept) -> Option<Self> {
        let (content, crc) = (*kept).as_ref().split_last_chunk::<4>()?;
        if checksum::crc32c(content) != u32::from_le_bytes(*crc) {
            return None;
        }
        let mut fields = In(content);
        if fields.array()? != MAGIC || u32::from_le_bytes(fields.array()?) != FORMAT {
            return None;
        }
        let store = fields.array()?;
        let body = u32::from_le_bytes(fields.array()?) as usize;
        let mut fields = In(fields.take(body)?);
        let end = Location { segment: fields.u32()?, offset: fields.u32()? };
        Some(Self { file: kept, store, body, end })
    }

    /// Where the log ended when it was written. All before that was on disk: a log that ends sooner has lost its end, whether
    /// the checkpoint fits or not.
    pub(crate) fn end(&self) -> Location {
        self.end
    }

    /// What is in it, if it fits the segments that there are.
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
        let segment = open_segment(media, &directory.log(), number, sealed).ok()?;
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
    // Nothing that is older than the checkpoint may be missing in it.
    if segments.len() != numbers.iter().filter(|number| **number <= end.segment).count()
        || segments.last()?.number() != end.segment
        || header != frame_header(&segments, state.cursor.last_frame)?
    {
        return None;
    }
    state.segments = Arc::new(segments);
    body::decode(&mut fields, &mut state, kept, place)?;
    Some(state)
}

/// The checksum of the first bytes of a segment's file, but for the checksum that they end with: one over both would
/// be the same for all headers.
fn header_crc(segment: &Segment) -> Option<u32> {
    let mut header = [0; SEGMENT_HEADER as usize];
    let read = segment.file().read_at(&mut header, 0).ok()?;
    let (fields, _) = header.split_last_chunk::<4>()?;
    (read == header.len()).then(|| checksum::crc32c(fields))
}

/// The header of the frame at a place; zeros for none. It has checksums over all of the frame, so that a log of
/// other contents has another.
fn frame_header(segments: &[Segment], frame: Option<Location>) -> Option<[u8; FRAME_HEADER]> {
    let Some(frame) = frame else { return Some([0; FRAME_HEADER]) };
    let found = segments.binary_search_by_key(&frame.segment, Segment::number).ok()?;
    segments.get(found)?.bytes(frame.offset, FRAME_HEADER, &mut Vec::new()).ok()?.first_chunk().copied()
}

/// Puts a checkpoint together; `None` when a part of the log it needs to name cannot be read.
fn encode(state: &State) -> Option<(Vec<u8>, KeyRanges)> {
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
    let (keys, ranges) = body::encode(state, &mut out);
    let body = out.0;

    let mut bytes = Vec::with_capacity(body.len() + keys.len() + 36);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&FORMAT.to_le_bytes());
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

/// Writes a checkpoint of a log of which segments were replaced: the one before does not fit any more.
pub(crate) fn write_now(shared: &Shared) {
    if shared.state().damage.is_empty() {
        Checkpointer::new(0, Location::default(), 0).write(shared);
    }
}

/// Writes the checkpoint of a log of which segments are about to be replaced, beside the one that fits until then.
pub(crate) fn write_ahead(shared: &Shared, state: &State) {
    let (media, dir) = (&*shared.media, shared.directory.cache());
    let Some((bytes, _)) = encode(state) else { return };
    let path = dir.join(AHEAD);
    let written = media.create_dir_all(&dir).and_then(|()| media.open(&path, Access::Create)?.write_at(&bytes, 0));
    if let Err(error) = written {
        tracing::debug!(path = %path.display(), %error, "no checkpoint was written ahead");
        drop(media.remove(&path));
    }
}

/// Puts that in place, now that it fits: nobody who reads the segments anew has to read all of the log.
pub(crate) fn put_ahead(shared: &Shared) {
    let dir = shared.directory.cache();
    if let Err(error) = shared.media.rename(&dir.join(AHEAD), &dir.join(FILE)) {
        tracing::debug!(path = %dir.display(), %error, "no checkpoint was written ahead");
    }
}

/// Removes what was written ahead of segments that were not replaced.
pub(crate) fn remove_ahead(shared: &Shared) {
    let path = shared.directory.cache().join(AHEAD);
    match shared.media.remove(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::debug!(path = %path.display(), %error, "what was written ahead stays");
        }
        _ => {}
    }
}

/// A checkpoint is due when more keys than that are in memory alone.
const MANY_KEYS: u64 = 1 << 16;

/// When a checkpoint is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Between two commit groups. A checkpoint holds all nodes: it is written so rarely that it costs next to
    /// nothing beside what was appended since the last one.
    Between,
    /// When the store is closed, so that it is opened fast.
    Close,
}

/// Writes checkpoints as the log grows.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    /// Whose temporary file it is.
    name: u64,
    /// Where the last checkpoint ends, and how long it is.
    last: Location,
    bytes: u64,
    least: u64,
}

impl Checkpointer {
    /// `last` is where the checkpoint that was read ends; another is due after `least` bytes of the log or more.
    pub(crate) fn new(name: u64, last: Location, least: u64) -> Self {
        Self { name, last, bytes: 0, least }
    }

    /// Whether so much was written since the last checkpoint that another pays.
    pub(crate) fn is_due(&self, shared: &Shared, moment: Moment) -> bool {
        let enough = match moment {
            Moment::Between => self.least.saturating_mul(64).max(self.bytes.saturating_mul(8)),
            Moment::Close => self.least.max(self.bytes / 4),
        };
        let state = shared.state();
        if !state.damage.is_empty() {
            return false;
        }
        let since = bytes_between(&state.segments, self.last, state.cursor.end);
        // Keys are in memory until a checkpoint holds them.
        let many_keys = MANY_KEYS.max(self.bytes / (4 * keys::ENTRY as u64));
        since >= enough || since > 0 && state.recent_keys > many_keys
    }

    pub(crate) fn write_if_due(&mut self, shared: &Shared, moment: Moment) {
        if self.is_due(shared, moment) {
            self.write(shared);
        }
    }

    /// Writes a checkpoint. Failing costs time at the next opening and nothing else.
    pub(crate) fn write(&mut self, shared: &Shared) {
        let (encoded, end) = {
            let state = shared.state();
            (encode(&state), state.cursor.end)
        };
        // The writer may not have told yet what it has just written: whoever reads this is to find that told.
        let is_told = |horizon: &Horizon| horizon.durable().is_none_or(|durable| end <= durable.end);
        if !shared.horizon().is_none_or(is_told) {
            return;
        }
        self.last = end;
        let Some((bytes, ranges)) = encoded else { return };
        self.bytes = bytes.len() as u64;
        let dir = shared.directory.cache();
        if let Err(error) = self.put(&*shared.media, &dir, &bytes) {
            tracing::warn!(path = %dir.join(FILE).display(), %error, "no checkpoint was written");
            return;
        }
        // What the file holds now need not be held in memory.
        let map = shared.media.open(&dir.join(FILE), Access::Read).and_then(|file| file.map());
        let Ok(Some(map)) = map else { return };
        if *map == bytes {
            let kept: Kept = Arc::new(map);
            shared.state_mut().settle_keys(&kept, ranges);
        }
    }

    /// Not synced: after a crash a checkpoint that is not whole does not fit, and that is all.
    fn put(&self, media: &dyn Media, dir: &Path, bytes: &[u8]) -> std::io::Result<()> {
        media.create_dir_all(dir)?;
        for name in media.list(dir)? {
            // Of a process that died; or of one that is writing its own right now, and will do without.
            if name.starts_with(FILE) && name.ends_with(".tmp") {
                media.remove(&dir.join(name))?;
            }
        }
        let temporary = dir.join(format!("{FILE}.{:016x}.tmp", self.name));
        let file = media.open(&temporary, Access::Create)?;
        file.write_at(bytes, 0)?;
        media.rename(&temporary, &dir.join(FILE))
    }
}

/// Bytes of the log between two places.
fn bytes_between(segments: &[Segment], from: Location, to: Location) -> u64 {
    let whole = segments.iter().filter(|segment| (from.segment..to.segment).contains(&segment.number()));
    let whole: u64 = whole.map(|segment| segment.file().size().unwrap_or_default()).sum();
    (whole + u64::from(to.offset)).saturating_sub(u64::from(from.offset))
}
