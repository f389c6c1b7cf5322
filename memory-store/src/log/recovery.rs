//! Opening a log: every segment is read, its frames are checked and taken in, and a torn tail is cut.

use std::{
    collections::HashSet,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use memory_core::{ConversationId, NodeRange, StoreError};

use super::{
    codec::{self, EventRecord, Record},
    directory::Directory,
    failure::io_error,
    frame::{FrameHeader, StoreId, records},
    media::{Access, Media},
    scan::{Found, Scan},
    segment::{SEGMENT_HEADER, Segment, SegmentHeader, segment_name, segment_number, segment_path},
    state::{Applied, Change, Damage, Location, State},
    tail::Tail,
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
    pub(crate) tail: Tail,
    pub(crate) next_lsn: u64,
    pub(crate) torn: Option<TornTail>,
}

/// Whether the log may be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    ReadOnly,
    Write,
}

/// Reads the whole log of `directory`. In [`Mode::Write`] its tail is cut to the last good frame and made
/// durable anew.
pub(crate) fn recover(media: &dyn Media, directory: &Directory, mode: Mode) -> Result<Recovered, StoreError> {
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
    let Some(last) = numbers.last().copied() else {
        let path = segment_path(&log, 1);
        return Err(StoreError::Damaged { path, offset: 0, why: "the segment is missing".into() });
    };
    let mut replay = Replay::default();
    let mut tail = None;
    for number in numbers {
        tail = Some(replay_file(&mut replay, media, directory, number, number != last, mode)?);
    }
    let missing = || StoreError::Damaged { path: log.clone(), offset: 0, why: "it holds no segment".into() };
    let tail: Tail = tail.ok_or_else(missing)?;
    let Replay { mut state, next_lsn, torn, .. } = replay;
    for damage in &state.damage {
        tracing::error!(%damage, "a part of the log cannot be read");
    }
    if let Some(TornTail { path, offset, bytes }) = &torn {
        tracing::warn!(path = %path.display(), offset, bytes, "the log ended in a write that was cut short");
    }
    state.end = tail.end;
    Ok(Recovered { state, tail, next_lsn, torn })
}

fn replay_file(
    replay: &mut Replay,
    media: &dyn Media,
    directory: &Directory,
    number: u32,
    sealed: bool,
    mode: Mode,
) -> Result<Tail, StoreError> {
    let path = segment_path(&directory.log(), number);
    let access = if sealed || mode == Mode::ReadOnly { Access::Read } else { Access::Write };
    let file = media.open(&path, access).map_err(io_error("open", &path))?;
    let segment = Segment::new(number, &path, file);
    if segment.is_squeezed() && !sealed && mode == Mode::Write {
        let why = "only a sealed segment is compressed: the one behind it is missing".into();
        return Err(StoreError::Damaged { path, offset: 0, why });
    }
    let bytes = segment.image().map_err(io_error("read", &path))?;
    let sealed = sealed || segment.is_squeezed();
    let segment = if sealed { segment.sealed() } else { segment };
    let Read { durable, end } = replay.segment(&segment, directory.id, &bytes, sealed, &mut |_, _, _| ());
    let mut allocated = bytes.len() as u64;
    if mode == Mode::Write && !sealed {
        allocated = renew_tail(&segment, &bytes, durable, end).map_err(io_error("repair", &path))?;
    }
    Ok(Tail { segment, end, allocated })
}

/// Called with each frame that was taken in: its header, where it stands, and its payload.
pub(crate) type OnFrame<'f> = dyn FnMut(&FrameHeader, Location, &[u8]) + 'f;

/// Where reading a segment came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    /// Everything before this offset is proven to have been on disk.
    pub(crate) durable: u32,
    /// Where the next frame would be written.
    pub(crate) end: u32,
}

/// Takes in segment after segment.
#[derive(Debug)]
pub(crate) struct Replay {
    pub(crate) state: State,
    next_lsn: u64,
    /// Whether damage stands between the last good frame and what comes now.
    gap: bool,
    /// The segment before: number, path and end.
    previous: Option<(u32, PathBuf, u32)>,
    torn: Option<TornTail>,
    /// Conversations whose opening is lost: damage is noted once for each, not for each of their frames.
    orphans: HashSet<u64>,
}

impl Default for Replay {
    fn default() -> Self {
        Self { state: State::default(), next_lsn: 1, gap: false, previous: None, torn: None, orphans: HashSet::new() }
    }
}

impl Replay {
    /// Takes in the next segment, whose contents are `bytes`.
    pub(crate) fn segment(
        &mut self,
        segment: &Segment,
        store: StoreId,
        bytes: &[u8],
        sealed: bool,
        on_frame: &mut OnFrame<'_>,
    ) -> Read {
        Arc::make_mut(&mut self.state.segments).push(segment.clone());
        self.check_header(bytes, store, segment);
        let mut scan = Scan::new(bytes, store, segment.number(), sealed);
        for found in scan.by_ref() {
            match found {
                Found::Frame { offset, header, payload } => {
                    let location = Location { segment: segment.number(), offset };
                    if self.frame(segment, location, &header, payload) {
                        on_frame(&header, location, payload);
                    }
                }
                Found::Damage { offset, end, why, conversation } => {
                    self.damage(segment.path(), offset, end - offset, why, conversation);
                }
                Found::Torn { offset, bytes } => {
                    self.torn = Some(TornTail { path: segment.path().to_owned(), offset: u64::from(offset), bytes });
                }
            }
        }
        self.previous = Some((segment.number(), segment.path().to_owned(), scan.end()));
        Read { durable: scan.durable(), end: scan.end() }
    }

    /// Checks what the segment says of itself and of the one before.
    fn check_header(&mut self, bytes: &[u8], store: StoreId, segment: &Segment) {
        let path = segment.path().to_owned();
        let expected = self.previous.as_ref().map_or(1, |(number, ..)| number + 1);
        for missing in expected..segment.number() {
            let path = path.with_file_name(segment_name(missing));
            self.damage(&path, 0, 0, "the segment is missing", None);
        }
        let header = match SegmentHeader::parse(bytes) {
            Ok(header) => header,
            Err(why) => return self.damage(&path, 0, SEGMENT_HEADER, why, None),
        };
        if header.store != store {
            return self.damage(&path, 0, SEGMENT_HEADER, "the segment belongs to another store", None);
        }
        if header.number != segment.number() {
            return self.damage(&path, 0, SEGMENT_HEADER, "the file has the name of another segment", None);
        }
        if let Some((number, before, end)) = self.previous.take()
            && number + 1 == header.number
            && end != header.previous_end
        {
            self.damage(&before, end, header.previous_end.saturating_sub(end), "the segment is cut short", None);
        }
    }

    /// Takes in a frame; `false` when it was found damaged after all.
    fn frame(&mut self, segment: &Segment, location: Location, header: &FrameHeader, payload: &[u8]) -> bool {
        let Location { offset, .. } = location;
        let bytes = u32::try_from(header.frame_bytes()).unwrap_or(u32::MAX);
        if header.lsn < self.next_lsn {
            self.damage(segment.path(), offset, bytes, "a frame repeats", Some(header.conversation));
            return false;
        }
        if header.lsn > self.next_lsn && !self.gap {
            self.damage(segment.path(), offset, 0, "frames before this place are missing", None);
        }
        self.next_lsn = header.lsn + 1;
        self.gap = false;
        let applied = read_frame(&self.state, location, header, payload);
        let applied = applied.and_then(|applied| self.state.apply(applied).map_err(str::to_owned));
        let Err(why) = &applied else { return true };
        if self.state.knows(header.conversation) || self.orphans.insert(header.conversation) {
            self.damage(segment.path(), offset, bytes, why, Some(header.conversation));
            self.gap = false;
        }
        false
    }

    /// Notes that a part of the log cannot be read.
    pub(crate) fn damage(&mut self, path: &Path, offset: u32, bytes: u32, why: &str, conversation: Option<u64>) {
        let (path, why) = (path.to_owned(), why.to_owned());
        self.state.note_damage(Damage { path, offset: u64::from(offset), bytes: u64::from(bytes), why, conversation });
        self.gap = true;
    }
}

/// Decodes what a frame did.
fn read_frame(state: &State, frame: Location, header: &FrameHeader, payload: &[u8]) -> Result<Applied, String> {
    let mut applied = Applied {
        conversation: header.conversation,
        opened: None,
        nodes_before: header.nodes_before,
        changes: Vec::new(),
    };
    for record in records(payload) {
        let (range, body) = record?;
        let change = match codec::decode(body).map_err(|error| error.0)? {
            Record::Opened(name) if header.conversation == header.lsn => {
                applied.opened = Some(name);
                continue;
            }
            Record::Opened(_) => return Err("a conversation's number is not that of its first frame".into()),
            Record::Lost(count) => Change::Lost { count, location: locate(frame, &range)? },
            Record::Message(message) => {
                let location = locate(frame, &range)?;
                let key = message.key().map(|key| state.key_hash(key));
                let outline = message.outline().map_err(|error| error.0)?;
                Change::Node { outline, location, key }
            }
            Record::Event(event) => match event {
                EventRecord::Summary(summary) => Change::Summary(Arc::new(*summary)),
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

/// The location of a record of a frame.
fn locate(frame: Location, record: &Range<usize>) -> Result<Location, &'static str> {
    let offset = u32::try_from(record.start).ok().and_then(|within| frame.offset.checked_add(within));
    let offset = offset.ok_or("a record stands behind the end of any segment")?;
    Ok(Location { offset, ..frame })
}

/// Cuts what stands behind `end` and writes everything above `durable` once more.
///
/// Bytes that no later frame proves to be on disk may stand in the page cache alone: after a failed sync the
/// kernel takes them for clean, and a sync would not write them. Once they are read here they count as kept.
///
/// Gives back how far the file reaches.
fn renew_tail(segment: &Segment, bytes: &[u8], durable: u32, end: u32) -> std::io::Result<u64> {
    let file = segment.file();
    let mut size = bytes.len() as u64;
    if bytes.get(end as usize..).is_some_and(|rest| rest.iter().any(|byte| *byte != 0)) {
        size = u64::from(end);
        file.set_size(size)?;
    }
    if let Some(unproven) = bytes.get(durable as usize..end as usize).filter(|bytes| !bytes.is_empty()) {
        file.write_at(unproven, u64::from(durable))?;
    }
    file.sync_all()?;
    Ok(size)
}
