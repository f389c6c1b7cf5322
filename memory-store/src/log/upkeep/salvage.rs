//! Makes a new store of all intact data of a damaged one.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use memory_core::{
    ConversationId,
    port::{Progress, StoreError},
};

use super::{
    doctor::{ConversationLabel, Diagnosis, examine_on, unlocked},
    enclosing::check_outside,
    rescue::{RescueError, make_empty_dir, write_file},
};
use crate::log::{
    failure::fill_random,
    format::{
        codec::{CodecError, Past, encode_lost, encode_opened},
        frame::{FRAME_HEADER, FrameHeader, FrameKind, Payload, Place, StoreId},
        segment::{SEGMENT_HEADER, SegmentHeader, segment_name},
    },
    keys::{Keys, MasterKey, Slots},
    media::{Disk, Media},
    read::{
        directory::{FORMAT_FILE, Format, make_dir, sync_dir},
        survey::{Part, RawFinding, Surveyed, Tail, Visitor, survey},
    },
    state::damage::TornTail,
};

/// The size at which a segment of the new store is full.
const SEGMENT_BYTES: usize = 64 << 20;

/// The result of a salvage.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SalvageReport {
    /// The diagnosis of the damaged store.
    pub source: Diagnosis,
    /// The diagnosis of the new store, read back from disk. Lost nodes have no message in it, and nothing in it is
    /// damaged.
    pub target: Diagnosis,
}

/// Makes a new store in `target`, an empty directory, of all intact data of the store in `source`, which is not
/// changed.
///
/// Messages are copied byte for byte, with salts and leaves, so that an undamaged conversation keeps its root. Events
/// and summaries are copied likewise. Lost nodes keep their numbers where later frames record them; reading one is
/// [`StoreError::Lost`]. The readable rest of a conversation whose opening is lost is named `recovered-NUMBER`. Whole
/// frames after a torn tail are copied, although they were never acknowledged.
///
/// After an interruption the directory is not a store.
///
/// # Errors
/// [`RescueError::NotEmpty`], [`RescueError::Inside`], where there is no store or one of a newer format, or an error of
/// the file system. Damage is not an error.
pub fn salvage(
    source: impl AsRef<Path>,
    target: impl AsRef<Path>,
    progress: &dyn Progress,
) -> Result<SalvageReport, RescueError> {
    salvage_with(source, target, None, progress)
}

/// [`salvage`] of a store that may be encrypted. The new store is encrypted if the old one is, under the same master
/// key and with new keys of its own.
///
/// # Errors
/// [`StoreError::Key`] if the key of an encrypted store is missing or another one, and as for [`salvage`].
pub fn salvage_with(
    source: impl AsRef<Path>,
    target: impl AsRef<Path>,
    key: Option<&MasterKey>,
    progress: &dyn Progress,
) -> Result<SalvageReport, RescueError> {
    check_outside(Some(source.as_ref()), target.as_ref())?;
    salvage_on(&(Arc::new(Disk) as Arc<dyn Media>), source.as_ref(), target.as_ref(), SEGMENT_BYTES, key, progress)
}

pub(crate) fn salvage_on(
    shared: &Arc<dyn Media>,
    source: &Path,
    target: &Path,
    segment_bytes: usize,
    key: Option<&MasterKey>,
    progress: &dyn Progress,
) -> Result<SalvageReport, RescueError> {
    let media: &dyn Media = &**shared;
    let diagnosis = examine_on(shared, source, key, progress)?;
    make_empty_dir(media, target)?;
    let log = target.join("log");
    make_dir(media, &log)?;
    make_dir(media, &target.join("cache"))?;
    let mut id = StoreId::default();
    fill_random(&mut id)?;
    let taken = diagnosis.conversations.iter().filter_map(|conversation| match &conversation.label {
        ConversationLabel::Named(name) => Some(name.clone()),
        ConversationLabel::Nameless(_) => None,
    });
    let source = unlocked(shared, source, key)?;
    let is_encrypted = source.is_encrypted;
    let keys = match key.filter(|_| is_encrypted) {
        Some(key) => Keys::create(shared, target, id, key, false)?,
        None => Keys::default(),
    };
    let log = NewLog { keys, slots: Slots::default(), ..NewLog::new(media, log, id, segment_bytes) };
    let mut salvager = Salvager { taken: taken.collect(), numbers: HashMap::new(), log };
    survey(media, &source, Tail::Searched, progress, &mut salvager)?;
    salvager.log.finish()?;
    // `FORMAT` is written last, since it makes the directory a store.
    write_file(media, target, FORMAT_FILE, Format { id, is_encrypted }.text().as_bytes())?;
    sync_dir(media, target)?;
    let target = examine_on(shared, target, key, progress)?;
    Ok(SalvageReport { source: diagnosis, target })
}

struct Salvager<'m> {
    /// Existing names, which no conversation with a lost name may get.
    taken: HashSet<ConversationId>,
    /// New numbers of the conversations by their old ones.
    numbers: HashMap<u64, u64>,
    log: NewLog<'m>,
}

impl Salvager<'_> {
    /// A name for a conversation with a lost name.
    fn placeholder(&mut self, number: u64) -> Result<ConversationId, StoreError> {
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
    fn frame(&mut self, frame: &Surveyed<'_>) -> Result<(), StoreError> {
        let mut number = self.numbers.get(&frame.conversation).copied();
        let owner = frame.reading.opened.as_ref().and_then(|opening| opening.owner.as_ref());
        let mut lost = Payload::default();
        let mut count = frame.lost_before;
        let mut before = frame.nodes.saturating_add(frame.lost_before);
        if let Some(shared) = frame.past {
            let name = frame.opened.cloned().map_or_else(|| self.placeholder(frame.conversation), Ok)?;
            // The parent has another number in the new log, and all its shared nodes are there by now.
            let parent = self.numbers.get(&shared.parent).filter(|_| shared.nodes > 0);
            let past = parent.map(|parent| Past { parent: *parent, ..shared });
            lost.push(&encode_opened(&name, owner, past).map_err(unwritable)?);
            count = count.saturating_add(frame.lost_past).saturating_add(past.map_or(shared.nodes, |_| 0));
            before = before.saturating_add(shared.nodes).saturating_add(frame.lost_past);
        } else if number.is_none() && frame.opened.is_none() {
            let name = self.placeholder(frame.conversation)?;
            lost.push(&encode_opened(&name, owner, None).map_err(unwritable)?);
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

    fn finding(&mut self, _: RawFinding) {}

    fn torn(&mut self, _: TornTail) {}
}

/// The usable records of a frame, with lost messages in place of the others.
fn whole_records(frame: &Surveyed<'_>) -> Result<Payload, StoreError> {
    let mut payload = Payload::default();
    // The opening of a fork was rewritten, and so was one whose name is taken.
    let keeps_name = frame.past.is_none() && (frame.opened.is_some() || frame.reading.opened.is_none());
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

/// The error for records of a few bytes that cannot be encoded, which is a bug.
fn unwritable(error: CodecError) -> StoreError {
    StoreError::Backend { backend: "salvage", source: error.0.into() }
}

/// A log that is written from its beginning, segment by segment.
struct NewLog<'m> {
    media: &'m dyn Media,
    dir: PathBuf,
    header: SegmentHeader,
    next_lsn: u64,
    segment_bytes: usize,
    bytes: Vec<u8>,
    keys: Keys,
    slots: Slots,
}

impl<'m> NewLog<'m> {
    fn new(media: &'m dyn Media, dir: PathBuf, store: StoreId, segment_bytes: usize) -> Self {
        let header = SegmentHeader { store, number: 1, previous_end: 0, first_lsn: 1, end: None, rewritten: 0 };
        Self {
            media,
            dir,
            header,
            next_lsn: 1,
            segment_bytes,
            bytes: header.encode(),
            keys: Keys::default(),
            slots: Slots::default(),
        }
    }

    /// Adds a frame of the conversation of this number, or of one that it opens; returns the number.
    fn push(&mut self, conversation: Option<u64>, nodes_before: u64, mut payload: Payload) -> Result<u64, StoreError> {
        let lsn = self.next_lsn;
        let mut header = FrameHeader {
            kind: FrameKind::Batch,
            conversation: conversation.unwrap_or(lsn),
            lsn,
            nodes_before,
            key_epoch: self.keys.current(),
            payload: 0,
            // The whole segment is synced at once.
            durable: SEGMENT_HEADER,
        };
        if header.key_epoch > 0 {
            let plain = payload.get(FRAME_HEADER..payload.frame_bytes());
            if let Some(wanted) = self.slots.wanted(Keys::salted(plain)) {
                self.slots.add(self.keys.reserve(wanted).map_err(|failure| StoreError::from(&failure))?);
            }
            let sealed = self.keys.seal(&header, plain, &mut self.slots).map_err(|why| unwritable(why.into()))?;
            payload = sealed.payload;
        }
        if self.holds_frames() && self.bytes.len().saturating_add(payload.frame_bytes()) > self.segment_bytes {
            self.seal()?;
        }
        header.payload = u32::try_from(payload.frame_bytes() - FRAME_HEADER).unwrap_or(u32::MAX);
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
    fn seal(&mut self) -> Result<(), StoreError> {
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

    /// Puts everything on disk. The last segment stays empty, so that all records are in sealed segments, in which
    /// nothing is ever treated as a torn tail.
    fn finish(mut self) -> Result<(), StoreError> {
        if self.holds_frames() {
            self.seal()?;
        }
        write_file(self.media, &self.dir, &segment_name(self.header.number), &self.bytes)?;
        sync_dir(self.media, &self.dir)
    }
}
