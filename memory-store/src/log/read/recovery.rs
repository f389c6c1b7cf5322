//! Opening a log: every segment is read, its frames are checked and applied, and a torn tail is cut.

use std::sync::Arc;

use memory_core::port::{Place, StoreError};

use super::{
    checkpoint::{self, Saved},
    directory::Directory,
    replay::Read,
};
use crate::log::{
    failure::io_error,
    format::{
        Location,
        pieces::used,
        segment::{Segment, SegmentHeader, segment_number, segment_path},
    },
    media::{Access, Media, read_from},
    state::{
        State,
        damage::{Damage, LostNodes, TornTail},
        keys::Kept,
    },
};

/// The result of opening a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenReport {
    /// True if there was no store before; the store is empty now.
    pub created: bool,
    /// Conversations.
    pub conversations: u64,
    /// Nodes of these conversations.
    pub nodes: u64,
    /// The half-written end, which is cut off unless the store was opened read-only.
    pub torn: Option<TornTail>,
    /// Parts that cannot be read any more; the rest is readable.
    pub damage: Vec<Damage>,
    /// Nodes that are known to be missing: lost to damage now, or before the store was salvaged.
    pub lost: Vec<LostNodes>,
}

/// A log that was read.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) state: State,
    pub(crate) torn: Option<TornTail>,
    /// End of the checkpoint that was read; the beginning of the log without one.
    pub(crate) checkpoint: Location,
    /// The durable watermark.
    pub(crate) durable: Option<Location>,
    /// End of the log that another source knows to be on disk.
    pub(crate) known: Option<Location>,
}

/// Access to the log: reading, or changing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Reads the part of the log that is known to be on disk; if that is unknown, as far as there are good frames.
    ReadOnly,
    /// Reads everything, cuts the tail to the last good frame, and makes the log durable again. The caller holds the
    /// write lock.
    Write,
}

/// The checkpoint of a store, to be read before its durable watermark. The watermark then covers it, unless the end of
/// the log is lost or the watermark is gone.
pub(crate) fn saved(media: &dyn Media, directory: &Directory) -> Option<Saved> {
    let file = media.open(&directory.cache().join(checkpoint::FILE), Access::Read).ok()?;
    let read = || read_from(&*file, 0).ok();
    let kept: Kept = match directory.keys.is_some() {
        true => Arc::new(directory.keys.open_file(&read()?)?),
        false => match file.map().ok()? {
            Some(map) => Arc::new(map),
            None => Arc::new(read()?),
        },
    };
    Saved::of(kept).filter(|saved| saved.store == directory.id)
}

/// Reads the log of `directory`, from its checkpoint on if that fits. `durable` is the durable watermark, and `known`
/// the end of the log according to another source, which was read before.
pub(crate) fn recover(
    media: &dyn Media,
    directory: &Directory,
    mode: Mode,
    durable: Option<Location>,
    saved: Option<&Saved>,
    known: Option<Location>,
) -> Result<Recovered, StoreError> {
    let log = directory.log();
    let mut numbers = Vec::new();
    for name in media.list(&log).map_err(io_error("list", &log))? {
        match segment_number(&name) {
            Some(number) => numbers.push(number),
            // The creation of this segment was interrupted: nothing was ever written to it.
            None if mode == Mode::Write && name.ends_with(".tmp") => {
                let path = log.join(&name);
                media.remove(&path).map_err(io_error("remove", &path))?;
            }
            None => {}
        }
    }
    numbers.sort_unstable();
    let limit = durable.filter(|_| mode == Mode::ReadOnly);
    let last_known = limit.map_or(u32::MAX, |limit| limit.segment);
    numbers.retain(|number| *number <= last_known);
    let Some(last) = numbers.last().copied() else {
        let path = segment_path(&log, 1);
        return Err(StoreError::Damaged { place: Place::from(path).offset(0), why: "the segment is missing".into() });
    };
    // A rewrite may have shortened the segment in which the known part ends.
    let proven = durable.max(known.filter(|known| known.segment >= last));
    let state = saved.and_then(|saved| saved.state(media, directory, &numbers));
    let mut state = state.unwrap_or_else(|| State::new(directory.id));
    let checkpoint = state.cursor.end;
    let mut torn = None;
    for number in numbers.into_iter().filter(|number| *number >= checkpoint.segment) {
        let sealed = number != last;
        let proven = proven.filter(|proven| proven.segment == number).map(|proven| proven.offset);
        let limit = limit.filter(|limit| limit.segment == number).map(|limit| limit.offset);
        let read = read_segment(&mut state, media, directory, number, Part { sealed, proven, limit, mode })?;
        torn = read.torn.or(torn);
        if let Some(newer) = state.newer.take() {
            return Err(newer);
        }
    }
    if let Some(proven) = proven.filter(|proven| proven.segment > last) {
        let path = segment_path(&log, proven.segment);
        state.damaged(&path, 0, 0, "the segment is missing", None);
    }
    for damage in &state.damage {
        tracing::error!(%damage, "a part of the log cannot be read");
    }
    if let Some(TornTail { path, offset, bytes }) = &torn {
        tracing::warn!(path = %path.display(), offset, bytes, "the log ended in a write that was cut short");
    }
    Ok(Recovered { state, torn, checkpoint, durable, known })
}

/// Parameters for reading a segment.
#[derive(Clone, Copy, Debug)]
struct Part {
    sealed: bool,
    /// Offset before which everything is known to have been on disk.
    proven: Option<u32>,
    /// Offset at which reading ends.
    limit: Option<u32>,
    mode: Mode,
}

/// Applies a segment, or the part of it after the end of the state.
fn read_segment(
    state: &mut State,
    media: &dyn Media,
    directory: &Directory,
    number: u32,
    Part { sealed, proven, limit, mode }: Part,
) -> Result<Read, StoreError> {
    let log = directory.log();
    let path = segment_path(&log, number);
    let begun = state.segments.last().filter(|last| last.number() == number).cloned();
    let base = if begun.is_some() { state.cursor.end.offset } else { 0 };
    let segment = match &begun {
        Some(segment) => segment.clone(),
        None => Segment::open(media, (&log, &directory.keys), number, sealed)?,
    };
    if segment.is_compressed() && !sealed && mode == Mode::Write {
        let why = "only a sealed segment is compressed: the one after it is missing".into();
        return Err(StoreError::Damaged { place: Place::from(path).offset(0), why });
    }
    let mut bytes = segment.image_from(base).map_err(io_error("read", &path))?;
    if let Some(limit) = limit {
        bytes.truncate(limit.saturating_sub(base) as usize);
    }
    // Everything up to the limit was on disk, so none of it is torn. A compressed segment is never torn.
    let complete = sealed || limit.is_some() || segment.is_compressed();
    let mut proven = proven.unwrap_or_default();
    let header = SegmentHeader::parse(&bytes);
    if begun.is_none() && header.is_ok_and(|header| header.end.is_some()) {
        // The segment was sealed and rewritten since its name was read: `proven` is about its old contents.
        proven = 0;
    }
    if begun.is_none() && !header.is_ok_and(|header| header.store == state.store && header.number == number) {
        // The owner of these bytes is unknown: they may be damage, but not a tail to cut.
        proven = proven.max(u32::try_from(used(&bytes)).unwrap_or(u32::MAX));
    }
    let read = match &begun {
        Some(_) => state.replay_more(&segment, &bytes, complete, proven, &mut |_, _, _| ()),
        None => state.replay_segment(&segment, &bytes, complete, proven, &mut |_, _, _| ()),
    };
    if begun.is_some() && complete && sealed {
        state.seal_last();
    }
    if mode == Mode::Write && !sealed {
        renew_tail(media, &segment, &bytes, base, &read).map_err(io_error("repair", &path))?;
    }
    Ok(read)
}

/// Applies the log from the end of `state` up to `durable`; any fault there is damage.
pub(crate) fn read_to(
    state: &mut State,
    media: &dyn Media,
    directory: &Directory,
    durable: Location,
) -> Result<(), StoreError> {
    let end = state.cursor.end;
    if end >= durable {
        return Ok(());
    }
    for number in end.segment..=durable.segment {
        let limit = (number == durable.segment).then_some(durable.offset);
        let part = Part { sealed: limit.is_none(), proven: limit, limit, mode: Mode::ReadOnly };
        read_segment(state, media, directory, number, part)?;
    }
    Ok(())
}

/// Cuts the bytes after the end of the log and rewrites everything that is not proven durable. `bytes` is the segment
/// from `base` on.
///
/// Bytes that no later frame proves to be on disk may be only in the page cache: after a failed sync the kernel treats
/// them as clean, and a sync would not write them. Once read here, they count as stored.
pub(crate) fn renew_tail(
    media: &dyn Media,
    segment: &Segment,
    bytes: &[u8],
    base: u32,
    read: &Read,
) -> std::io::Result<()> {
    let behind = |offset: u32| bytes.get(offset.saturating_sub(base) as usize..).unwrap_or_default();
    let has_rest = behind(read.end).iter().any(|byte| *byte != 0);
    let from = read.durable.max(base);
    let unproven = behind(from).get(..read.end.saturating_sub(from) as usize).filter(|bytes| !bytes.is_empty());
    if !has_rest && unproven.is_none() {
        return Ok(());
    }
    let file = media.open(segment.path(), Access::Write)?;
    if has_rest {
        file.set_size(u64::from(read.end))?;
    }
    if let Some(unproven) = unproven {
        file.write_at(unproven, u64::from(from))?;
    }
    file.sync_all()
}
