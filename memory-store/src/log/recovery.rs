//! Opening a log: every segment is read, its frames are checked and taken in, and a torn tail is cut.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use memory_core::{ConversationId, NodeRange, StoreError};

use super::{
    checkpoint::{self, Saved},
    directory::Directory,
    failure::io_error,
    keys::Kept,
    media::{Access, Media, read_from},
    replay::Read,
    scan::used,
    segment::{Segment, SegmentHeader, segment_number, segment_path},
    state::{Damage, Location, State},
};

/// What a crash left of the last write. None of it was ever acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornTail {
    /// The segment.
    pub path: PathBuf,
    /// Where the log ends now.
    pub offset: u64,
    /// Bytes that stood behind it.
    pub bytes: u64,
}

/// Nodes of a conversation that cannot be read. Those behind them have kept their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostNodes {
    /// The conversation.
    pub conversation: ConversationId,
    /// Which nodes.
    pub nodes: NodeRange,
}

/// What opening a log found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenReport {
    /// There was no store; now there is an empty one.
    pub created: bool,
    /// Conversations.
    pub conversations: u64,
    /// Nodes in them.
    pub nodes: u64,
    /// The half-written end, cut off unless the store was opened for reading alone.
    pub torn: Option<TornTail>,
    /// What cannot be read any more. The rest can.
    pub damage: Vec<Damage>,
    /// Nodes that are known to be missing: swallowed by damage now, or before the store was salvaged.
    pub lost: Vec<LostNodes>,
}

/// A log that was read.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) state: State,
    pub(crate) torn: Option<TornTail>,
    /// Where the checkpoint that was read ends; the beginning of the log when there was none.
    pub(crate) checkpoint: Location,
    /// What the horizon knew to be on disk.
    pub(crate) durable: Option<Location>,
    /// What something else knew.
    pub(crate) known: Option<Location>,
}

/// Whether the log may be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Reads as far as the log is known to be on disk; where that is not known, as far as there are good frames.
    ReadOnly,
    /// Reads everything, cuts the tail to the last good frame, and makes it durable anew. The caller holds the
    /// write lock.
    Write,
}

/// The checkpoint of a store, to be read before its horizon: what it knows to be on disk, the horizon then knows too,
/// unless the end of the log is lost, or nobody remembers it.
pub(crate) fn saved(media: &dyn Media, directory: &Directory) -> Option<Saved> {
    let file = media.open(&directory.cache().join(checkpoint::FILE), Access::Read).ok()?;
    let kept: Kept = match file.map().ok()? {
        Some(map) => Arc::new(map),
        None => Arc::new(read_from(&*file, 0).ok()?),
    };
    Saved::of(kept).filter(|saved| saved.store == directory.id)
}

/// Reads the log of `directory`, from its checkpoint on if that fits. `durable` is what the horizon knows to be on disk,
/// and `known` what something else does that was looked at before.
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
            // A segment whose making was interrupted: nothing was ever written to it.
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
        return Err(StoreError::Damaged { path, offset: 0, why: "the segment is missing".into() });
    };
    // The segment that it ends in may have got shorter since it was sealed: it was rewritten.
    let proven = durable.max(known.filter(|known| known.segment >= last));
    let state = saved.and_then(|saved| saved.state(media, directory, &numbers));
    let mut state = state.unwrap_or_else(|| State::new(directory.id));
    let checkpoint = state.cursor.end;
    let mut torn = None;
    for number in numbers.into_iter().filter(|number| *number >= checkpoint.segment) {
        let sealed = number != last;
        let proven = proven.filter(|proven| proven.segment == number).map(|proven| proven.offset);
        let limit = limit.filter(|limit| limit.segment == number).map(|limit| limit.offset);
        let read = read_segment(&mut state, media, &log, number, Part { sealed, proven, limit, mode })?;
        torn = read.torn.or(torn);
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

/// How a segment is read.
#[derive(Clone, Copy, Debug)]
struct Part {
    sealed: bool,
    /// Everything before this offset is known to have been on disk.
    proven: Option<u32>,
    /// Nothing from this offset on is read.
    limit: Option<u32>,
    mode: Mode,
}

/// Takes in a segment, or what of it stands behind the end of the state.
fn read_segment(
    state: &mut State,
    media: &dyn Media,
    log: &Path,
    number: u32,
    Part { sealed, proven, limit, mode }: Part,
) -> Result<Read, StoreError> {
    let path = segment_path(log, number);
    let begun = state.segments.last().filter(|last| last.number() == number).cloned();
    let base = if begun.is_some() { state.cursor.end.offset } else { 0 };
    let segment = match &begun {
        Some(segment) => segment.clone(),
        None => open_segment(media, log, number, sealed)?,
    };
    if segment.is_squeezed() && !sealed && mode == Mode::Write {
        let why = "only a sealed segment is compressed: the one behind it is missing".into();
        return Err(StoreError::Damaged { path, offset: 0, why });
    }
    let mut bytes = segment.image_from(base).map_err(io_error("read", &path))?;
    if let Some(limit) = limit {
        bytes.truncate(limit.saturating_sub(base) as usize);
    }
    // Up to the limit everything was on disk: none of it is torn. Nor is a compressed segment.
    let complete = sealed || limit.is_some() || segment.is_squeezed();
    let mut proven = proven.unwrap_or_default();
    let header = SegmentHeader::parse(&bytes);
    if begun.is_none() && header.is_ok_and(|header| header.end.is_some()) {
        // Sealed and rewritten after all, in the moment since its name was read: what was known was of what it was before.
        proven = 0;
    }
    if begun.is_none() && !header.is_ok_and(|header| header.store == state.store && header.number == number) {
        // Whose bytes these are is not known: damage perhaps, but no tail to be cut.
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

/// Takes in what stands behind the end of `state`, up to `durable`; whatever is wrong with it is damage.
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
        read_segment(state, media, &directory.log(), number, part)?;
    }
    Ok(())
}

/// Opens a segment for reading; a sealed one is mapped.
pub(crate) fn open_segment(media: &dyn Media, log: &Path, number: u32, sealed: bool) -> Result<Segment, StoreError> {
    let path = segment_path(log, number);
    let file = media.open(&path, Access::Read).map_err(io_error("open", &path))?;
    let segment = Segment::new(number, &path, file);
    Ok(if sealed || segment.is_squeezed() { segment.sealed() } else { segment })
}

/// Cuts what stands behind the end of the log and writes everything that is not proven to be on disk once more.
/// `bytes` is what of the segment stands at `base` and behind.
///
/// Bytes that no later frame proves to be on disk may stand in the page cache alone: after a failed sync the
/// kernel takes them for clean, and a sync would not write them. Once they are read here they count as kept.
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
