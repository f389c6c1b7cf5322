//! A new store out of all that is whole in a damaged one.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

use memory_core::{ConversationId, Progress, StoreError};

use super::{
    codec::{CodecError, Past, encode_lost, encode_opened},
    directory::{FORMAT_FILE, format_text, make_dir, sync_dir},
    doctor::{ConversationLabel, Diagnosis, examine_on},
    enclosing::check_outside,
    failure::fill_random,
    frame::{FRAME_HEADER, FrameHeader, FrameKind, Payload, Place, StoreId},
    media::{Disk, Media},
    recovery::TornTail,
    rescue::{RescueError, make_empty_dir, write_file},
    segment::{SEGMENT_HEADER, SegmentHeader, segment_name},
    survey::{Part, Source, Spot, Surveyed, Tail, Visitor, survey},
};

/// Where a segment of the new store is full.
const SEGMENT_BYTES: usize = 64 << 20;

/// What was salvaged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SalvageReport {
    /// What the damaged store was found to be.
    pub source: Diagnosis,
    /// What the new store is, read back from disk. What was lost has no message in it, and nothing in it is
    /// damaged.
    pub target: Diagnosis,
}

/// Makes a new store in `target`, an empty directory, of all that is whole in the store in `source`, which is
/// not changed.
///
/// Messages are copied byte for byte, with salts and leaves, so that an undamaged conversation keeps its root;
/// events and summaries likewise. Lost nodes keep their numbers where later frames tell of them; reading one is
/// [`StoreError::Lost`]. What can be read of a conversation whose opening is lost is given back as
/// `recovered-NUMBER`. Whole frames behind a torn tail are taken along, although nobody was told that they are
/// on disk.
///
/// Interrupted, it leaves a directory that is no store.
///
/// # Errors
/// [`RescueError::NotEmpty`], [`RescueError::Inside`], where there is no store at all or one of a newer format,
/// or what the file system says. Damage is no error.
pub fn salvage(
    source: impl AsRef<Path>,
    target: impl AsRef<Path>,
    progress: &dyn Progress,
) -> Result<SalvageReport, RescueError> {
    check_outside(Some(source.as_ref()), target.as_ref())?;
    salvage_on(&Disk, source.as_ref(), target.as_ref(), SEGMENT_BYTES, progress)
}

pub(crate) fn salvage_on(
    media: &dyn Media,
    source: &Path,
    target: &Path,
    segment_bytes: usize,
    progress: &dyn Progress,
) -> Result<SalvageReport, RescueError> {
    let diagnosis = examine_on(media, source, progress)?;
    make_empty_dir(media, target)?;
    let log = target.join("log");
    make_dir(media, &log)?;
    make_dir(media, &target.join("cache"))?;
    let mut id = StoreId::default();
    fill_random(&mut id)?;
    let taken = diagnosis.conversations.iter().filter_map(|checkup| match &checkup.label {
        ConversationLabel::Named(name) => Some(name.clone()),
        ConversationLabel::Nameless(_) => None,
    });
    let mut salvager =
        Salvager { taken: taken.collect(), numbers: HashMap::new(), log: NewLog::new(media, log, id, segment_bytes) };
    survey(media, &Source::find(media, source)?, Tail::Searched, progress, &mut salvager)?;
    salvager.log.finish()?;
    // Only now is it a store.
    write_file(media, target, FORMAT_FILE, format_text(id).as_bytes())?;
    sync_dir(media, target)?;
    Ok(SalvageReport { source: diagnosis, target: examine_on(media, target, progress)? })
}

struct Salvager<'m> {
    /// Names that cannot be given to conversations whose own is lost.
    taken: HashSet<ConversationId>,
    /// From the old number of a conversation to the new one.
    numbers: HashMap<u64, u64>,
    log: NewLog<'m>,
}

impl Salvager<'_> {
    /// A name for a conversation whose own is lost.
    fn placeholder(&mut self, number: u64) -> Result<ConversationId, RescueError> {
        let mut name = format!("recovered-{number}");
        loop {
            let id = ConversationId::new(&name).map_err(|error| unwritable(CodecError(error.to_string())))?;
            if self.taken.insert(id.clone()) {
                return Ok(id);
            }
            name.push('+');
        }
    }
}

impl Visitor for Salvager<'_> {
    fn frame(&mut self, frame: &Surveyed<'_>) -> Result<(), RescueError> {
        let mut number = self.numbers.get(&frame.conversation).copied();
        let mut lost = Payload::default();
        let mut count = frame.lost_before;
        let mut before = frame.nodes.saturating_add(frame.lost_before);
        if let Some(shared) = frame.past {
            let name = frame.opened.cloned().map_or_else(|| self.placeholder(frame.conversation), Ok)?;
            // The parent has another number in the new log, which has as many of its nodes by now.
            let parent = self.numbers.get(&shared.parent).filter(|_| shared.nodes > 0);
            let past = parent.map(|parent| Past { parent: *parent, ..shared });
            lost.push(&encode_opened(&name, past).map_err(unwritable)?);
            count = count.saturating_add(frame.lost_past).saturating_add(past.map_or(shared.nodes, |_| 0));
            before = before.saturating_add(shared.nodes).saturating_add(frame.lost_past);
        } else if number.is_none() && frame.opened.is_none() {
            let name = self.placeholder(frame.conversation)?;
            lost.push(&encode_opened(&name, None).map_err(unwritable)?);
        }
        if count > 0 {
            lost.push(&encode_lost(count).map_err(unwritable)?);
        }
        if lost.frame_bytes() > FRAME_HEADER {
            number = Some(self.log.push(number, frame.nodes, lost)?);
        }
        let payload = whole_records(frame)?;
        if payload.frame_bytes() > FRAME_HEADER {
            number = Some(self.log.push(number, before, payload)?);
        }
        if let Some(number) = number {
            self.numbers.insert(frame.conversation, number);
        }
        Ok(())
    }

    fn spot(&mut self, _: Spot) {}

    fn torn(&mut self, _: TornTail) {}
}

/// The records of a frame that can be used, with lost messages in the places of those that cannot.
fn whole_records(frame: &Surveyed<'_>) -> Result<Payload, RescueError> {
    let mut payload = Payload::default();
    // That of a fork was written anew, and so was one whose name is another's.
    let keeps_name = frame.past.is_none() && (frame.opened.is_some() || frame.reading.opened.is_none());
    if frame.reading.is_whole() && keeps_name {
        payload.push(frame.reading.payload());
        return Ok(payload);
    }
    let mut lost = 0;
    let mut failed = None;
    let mut push_lost = |payload: &mut Payload, lost: &mut u64| match std::mem::take(lost) {
        0 => {}
        count => match encode_lost(count) {
            Ok(record) => drop(payload.push(&record)),
            Err(error) => failed = Some(error),
        },
    };
    frame.reading.parts(|record, part, _| match part {
        Ok(Part::Opened(_)) if !keeps_name => {}
        Ok(_) => {
            push_lost(&mut payload, &mut lost);
            payload.push(record);
        }
        Err((_, is_node)) => lost += u64::from(is_node),
    });
    push_lost(&mut payload, &mut lost);
    failed.map_or(Ok(payload), |error| Err(unwritable(error)))
}

/// Records of a few bytes always have bytes; whatever says otherwise is a fault of this program.
fn unwritable(error: CodecError) -> RescueError {
    StoreError::Backend { backend: "salvage", source: error.0.into() }.into()
}

/// A log that is written from its beginning, segment by segment.
struct NewLog<'m> {
    media: &'m dyn Media,
    dir: PathBuf,
    header: SegmentHeader,
    next_lsn: u64,
    segment_bytes: usize,
    bytes: Vec<u8>,
}

impl<'m> NewLog<'m> {
    fn new(media: &'m dyn Media, dir: PathBuf, store: StoreId, segment_bytes: usize) -> Self {
        let header = SegmentHeader { store, number: 1, previous_end: 0, first_lsn: 1, end: None, rewritten: 0 };
        Self { media, dir, header, next_lsn: 1, segment_bytes, bytes: header.encode() }
    }

    /// Adds a frame of the conversation of this number, or of one that it opens; gives back its number.
    fn push(&mut self, conversation: Option<u64>, nodes_before: u64, payload: Payload) -> Result<u64, RescueError> {
        if self.holds_frames() && self.bytes.len().saturating_add(payload.frame_bytes()) > self.segment_bytes {
            self.seal()?;
        }
        let lsn = self.next_lsn;
        let header = FrameHeader {
            kind: FrameKind::Batch,
            conversation: conversation.unwrap_or(lsn),
            lsn,
            nodes_before,
            payload: u32::try_from(payload.frame_bytes() - FRAME_HEADER).unwrap_or(u32::MAX),
            // Nothing of the segment is on disk before all of it is.
            durable: SEGMENT_HEADER,
        };
        let place = Place { store: self.header.store, segment: self.header.number, offset: self.end() };
        payload.finish(&header, &place, &mut self.bytes);
        self.next_lsn += 1;
        Ok(header.conversation)
    }

    fn holds_frames(&self) -> bool {
        self.end() > SEGMENT_HEADER
    }

    fn end(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(u32::MAX)
    }

    /// Puts the segment on disk and begins the next.
    fn seal(&mut self) -> Result<(), RescueError> {
        write_file(self.media, &self.dir, &segment_name(self.header.number), &self.bytes)?;
        let header = SegmentHeader {
            number: self.header.number.saturating_add(1),
            previous_end: self.end(),
            first_lsn: self.next_lsn,
            ..self.header
        };
        (self.header, self.bytes) = (header, header.encode());
        Ok(())
    }

    /// Puts everything on disk. The last segment stays empty, so that all that was saved is in sealed ones, in
    /// which nothing is ever taken for a torn tail.
    fn finish(mut self) -> Result<(), RescueError> {
        if self.holds_frames() {
            self.seal()?;
        }
        write_file(self.media, &self.dir, &segment_name(self.header.number), &self.bytes)?;
        Ok(sync_dir(self.media, &self.dir)?)
    }
}
