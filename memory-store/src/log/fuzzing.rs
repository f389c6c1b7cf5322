//! Entry points for fuzzers: their bytes go straight to the code that reads files.
//!
//! Each function takes any bytes, once as they are and once with corrected checksums, and panics when what it checks
//! does not hold. It gives how many bytes of memory the input may legitimately need in addition to a multiple of its
//! own length: nodes and compressed blocks can be described in fewer bytes than they take.

pub(crate) mod mend;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    pin::pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, Waker},
};

use memory_core::{
    Node, NodeId, NodeRange, NoteId, SummaryId, ViewId,
    port::{ConversationState, Event, Source, Store},
};

use super::{
    format::{
        codec::{self, EventRecord, Record, StoredMessage},
        compressed::CompressedSegment,
        frame::{RECORD_HEADER, StoreId, finish_record, parse_record},
        segment::segment_path,
    },
    media::{Access, Media, sim::SimDisk},
    read::{
        checkpoint::Saved,
        directory::{Directory, FORMAT_FILE, Format},
        recovery::{Mode, Recovered, recover, saved},
        watermark::{Durable, WATERMARK_FILE, Watermark},
    },
    store::LogStore,
    upkeep::{doctor::examine_on, verify::verify},
};
use crate::{ExportFile, ReadLimits};

/// Number of bytes that this thread has scanned for frames since the last call: a measure of work that is the same on
/// every machine.
#[must_use]
pub fn take_scanned() -> u64 {
    super::format::frame::take_scanned()
}

/// Memory for a node in the log's index, in the copies that are made while it is built, and in answers.
const NODE: u64 = 256;
/// Nodes that are read of each conversation.
const MOST_READ: u64 = 64;

/// Directory of the stores on the simulated disk.
fn root() -> &'static Path {
    Path::new("/store")
}

/// Splits `bytes` into files: each follows its length, four bytes, little-endian; the last may be shorter than that.
fn files(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut files = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        let (file, behind) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        files.push(file);
        bytes = behind;
    }
    files
}

/// Puts files together to one input of [`recovery`].
#[must_use]
pub fn row_of<'a>(files: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let with_length = |file: &'a [u8]| [&u32::try_from(file.len()).unwrap_or(u32::MAX).to_le_bytes(), file].concat();
    files.into_iter().flat_map(with_length).collect()
}

/// The store of whose log `segments` are the segments, by their number from 1.
fn store_of(segments: &[&[u8]], mended: bool) -> (SimDisk, StoreId) {
    let id = segments.first().and_then(|first| first.get(16..)?.first_chunk()).copied().unwrap_or_default();
    let disk = SimDisk::lossless();
    disk.put(&root().join(FORMAT_FILE), Format { id, is_encrypted: false }.text().into_bytes());
    for (number, bytes) in (1..).zip(segments) {
        let mut bytes = bytes.to_vec();
        if mended {
            mend::segment(&mut bytes, id, number);
        }
        disk.put(&segment_path(&root().join("log"), number), bytes);
    }
    (disk, id)
}

/// The outcome of a future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => unreachable!("reading never waits"),
    }
}

/// Reads a store in every way; returns the number of its nodes. Everything readable must agree with verification,
/// unless the store was opened from a forgery.
fn read(store: &LogStore, forged: bool) -> u64 {
    let mut all = 0;
    let states = now(store.conversations()).unwrap_or_default();
    let mut unreadable = 0;
    for ConversationState { id, nodes, .. } in &states {
        all += nodes;
        let Some(range) = NodeRange::first_n(MOST_READ.min(*nodes)) else { continue };
        for node in range.iter().chain(NodeId::new(*nodes)) {
            let read = now(store.node(id, node));
            unreadable += u64::from(read.is_err());
            if let Ok(Node { message, .. }) = read
                && let Some(key) = &message.key
            {
                drop(now(store.find_key(id, key)));
            }
        }
        drop(now(store.nodes(id, range)));
        drop(now(store.proofs(id, range)));
        drop(now(store.outline(id)));
        drop(now(store.summaries(id)));
        drop(now(store.views(id, ViewId::FIRST, ViewId::FIRST)));
        drop(now(store.notes(id, NoteId::FIRST, NoteId::FIRST)));
    }
    if let Ok(verified) = verify(&store.shared, None) {
        assert!(forged || !verified.is_whole() || unreadable == 0, "a whole store cannot be read");
        assert!(verified.verified <= verified.nodes, "more nodes were verified than there are");
    }
    all
}

fn open(disk: &SimDisk) -> Option<LogStore> {
    LogStore::open_read_only_on(Arc::new(disk.clone()), root()).ok()
}

/// Opens a store as its writer does, but for the writer.
fn open_for_writing(disk: &SimDisk) -> Option<Recovered> {
    let directory = Directory::open(disk, root()).ok()?;
    let watermark = Watermark::open(disk, root(), directory.id, Access::Write).ok()?;
    let durable = watermark.as_ref().and_then(Watermark::durable).map(|durable| durable.end);
    let saved = saved(disk, &directory);
    let known = saved.as_ref().map(Saved::end);
    recover(disk, &directory, Mode::Write, durable, saved.as_ref(), known).ok()
}

/// Conversations of a store opened for writing, each with its nodes, and the number of damaged places.
fn held(recovered: &Recovered) -> (Vec<ConversationState>, usize) {
    (recovered.state.conversations().map(|one| recovered.state.overview(one)).collect(), recovered.state.damage.len())
}

/// Reads a store, examines it, and opens it for writing, which cuts a torn tail: after that nothing is torn, and all
/// that was there before still is.
fn use_all_of(disk: &SimDisk, forged: bool) -> u64 {
    let nodes = open(disk).map_or(0, |store| read(&store, forged));
    drop(examine_on(&(Arc::new(disk.clone()) as Arc<dyn Media>), root(), None, &()));
    if let Some(first) = open_for_writing(disk) {
        let again = open_for_writing(disk).map(|again| (again.torn.clone(), held(&again)));
        assert!(
            again == Some((None, held(&first))),
            "what was recovered once is recovered to something else: {again:?}"
        );
    }
    nodes * NODE
}

/// One record: its length, its checksum and its body. A record that is read and written again reads the same.
pub fn record(bytes: &[u8]) -> u64 {
    if let Ok(body) = parse_record(bytes) {
        decode(body);
    }
    let mut mended = [&[0; RECORD_HEADER], bytes].concat();
    if finish_record(&mut mended).is_some() {
        let body = parse_record(&mended);
        assert!(body == Ok(bytes), "a finished record is not read back: {body:?}");
        decode(bytes);
    }
    0
}

fn decode(body: &[u8]) {
    match codec::decode(body) {
        Ok(Record::Message(message)) => {
            let (outline, key) = (message.outline(), message.key().map(str::to_owned));
            let Ok(stored) = message.into_stored() else { return };
            assert!(outline.is_ok(), "a message can be read and its outline cannot: {outline:?}");
            assert_eq!(key.as_deref(), stored.draft.message.key.as_ref().map(|key| key.as_str()));
            stored.rehash();
            let mut again = Vec::new();
            if stored.encode_onto(&mut again).is_ok() {
                // Compared as text, since an importance that is NaN does not equal itself.
                let read = parse_record(&again).ok().and_then(read_message);
                assert_eq!(format!("{read:?}"), format!("{:?}", Some(stored)));
            }
        }
        Ok(Record::ErasedMessage(erased)) => {
            let mut again = Vec::new();
            if erased.encode_onto(&mut again).is_ok() {
                match parse_record(&again).map(codec::decode) {
                    Ok(Ok(Record::ErasedMessage(read))) => assert_eq!(read, erased),
                    other => unreachable!("what is left of a message was written and cannot be read: {other:?}"),
                }
            }
        }
        Ok(Record::Event(EventRecord::Erasure(erasure))) => {
            let Ok(again) = codec::encode_event(&Event::Erased(erasure.clone()), SummaryId::from_index(0)) else {
                return;
            };
            match parse_record(&again).map(codec::decode) {
                Ok(Ok(Record::Event(EventRecord::Erasure(read)))) => assert_eq!(read, erasure),
                other => unreachable!("an erasure was written and cannot be read: {other:?}"),
            }
        }
        Ok(Record::Event(EventRecord::Disabling(change))) => {
            let Ok(again) = codec::encode_event(&Event::Disabled(change.clone()), SummaryId::from_index(0)) else {
                return;
            };
            match parse_record(&again).map(codec::decode) {
                Ok(Ok(Record::Event(EventRecord::Disabling(read)))) => assert_eq!(read, change),
                other => unreachable!("a change of what is disabled was written and cannot be read: {other:?}"),
            }
        }
        Ok(Record::Event(EventRecord::Summary(summary))) => {
            let body = format!("{:?}", summary.body);
            let Ok(again) = codec::encode_event(&Event::Summary(summary.body), summary.id) else { return };
            match parse_record(&again).map(codec::decode) {
                Ok(Ok(Record::Event(EventRecord::Summary(read)))) => assert_eq!(format!("{:?}", read.body), body),
                other => unreachable!("a summary was written and cannot be read: {other:?}"),
            }
        }
        Ok(Record::Event(EventRecord::View(view))) => {
            let Ok(again) = codec::encode_view(&view.body, view.id) else { return };
            match parse_record(&again).map(codec::decode) {
                Ok(Ok(Record::Event(EventRecord::View(read)))) => assert_eq!(read, view),
                other => unreachable!("a view was written and cannot be read: {other:?}"),
            }
        }
        Ok(Record::Event(EventRecord::Note(note))) => {
            let Ok(again) = codec::encode_event(&Event::Note(note.clone()), SummaryId::from_index(0)) else { return };
            match parse_record(&again).map(codec::decode) {
                Ok(Ok(Record::Event(EventRecord::Note(read)))) => assert_eq!(read, note),
                other => unreachable!("a note was written and cannot be read: {other:?}"),
            }
        }
        Ok(Record::Opened(_) | Record::Lost(_) | Record::Event(_)) | Err(_) => {}
    }
}

fn read_message(body: &[u8]) -> Option<StoredMessage> {
    match codec::decode(body) {
        Ok(Record::Message(message)) => message.into_stored().ok(),
        _ => None,
    }
}

/// A log: the row of its segments, plain or compressed ones. See [`row_of`].
pub fn recovery(bytes: &[u8]) -> u64 {
    let segments = files(bytes);
    let images = segments.iter().map(|bytes| image_bytes(bytes)).sum::<u64>();
    let nodes = [false, true].map(|mended| use_all_of(&store_of(&segments, mended).0, false));
    nodes.iter().sum::<u64>() + 4 * images
}

/// Length in bytes of the image that the header of a compressed segment names; 0 without one.
fn image_bytes(bytes: &[u8]) -> u64 {
    let mut bytes = bytes.to_vec();
    mend::compressed(&mut bytes);
    CompressedSegment::open(bytes.as_slice()).map_or(0, |compressed| u64::from(compressed.len()))
}

/// A compressed segment: its blocks, read one by one, equal its image.
pub fn compressed(bytes: &[u8]) -> u64 {
    let mut mended = bytes.to_vec();
    mend::compressed(&mut mended);
    let mut images = 0;
    for bytes in [bytes, &mended] {
        let Ok(Some(compressed)) = CompressedSegment::find(bytes) else { continue };
        images += u64::from(compressed.len());
        let (image, lost) = compressed.image(bytes);
        assert!(lost.iter().all(|lost| (lost.range.end as usize) <= image.len()), "bytes are lost behind the end");
        let most = u32::try_from(image.len().min(1 << 16)).unwrap_or(u32::MAX);
        for offset in (0..most).step_by(509) {
            let mut part = [0; 700];
            let read = compressed.read_at(bytes, offset, &mut part);
            let part = read.as_ref().ok().and_then(|read| part.get(..*read));
            let should = image.get(offset as usize..).map(|rest| rest.get(..700).unwrap_or(rest));
            assert!(part.is_none() || part == should, "at {offset} a block says something else than the image");
        }
    }
    2 * images
}

/// An exported conversation.
pub fn export(bytes: &[u8]) -> u64 {
    let mut from = bytes;
    drop(ExportFile::spool("input", &mut from, ReadLimits::default()));
    0
}

/// The log that checkpoints and watermarks are tried on: a row of segments, to which the corpus links.
const WHOLE: &[u8] = include_bytes!("fuzzing/whole.log");

/// A copy of the store that [`WHOLE`] is.
fn whole() -> (SimDisk, StoreId) {
    store_of(&files(WHOLE), false)
}

type Shown = BTreeMap<PathBuf, (ConversationState, Vec<Node>)>;

/// All conversations and their nodes.
fn shown(store: &LogStore) -> Shown {
    let states = now(store.conversations()).unwrap_or_default();
    let with_nodes = |state: ConversationState| {
        let range = NodeRange::first_n(state.nodes.clamp(1, 1 << 10));
        let nodes = range.map(|range| now(store.nodes(&state.id, range)));
        (PathBuf::from(state.id.as_str()), (state, nodes.and_then(Result::ok).unwrap_or_default()))
    };
    states.into_iter().map(with_nodes).collect()
}

fn truth() -> &'static Shown {
    static TRUTH: OnceLock<Shown> = OnceLock::new();
    TRUTH.get_or_init(|| open(&whole().0).map(|store| shown(&store)).unwrap_or_default())
}

/// A checkpoint next to a log: unmodified, it fits the log or is not believed; forged, it does no harm but to lie.
pub fn checkpoint(bytes: &[u8]) -> u64 {
    [false, true]
        .map(|mended| {
            let (disk, id) = whole();
            let mut bytes = bytes.to_vec();
            if mended {
                mend::checkpoint(&mut bytes, id);
            }
            disk.put(&root().join("cache").join("checkpoint"), bytes);
            let Some(store) = open(&disk) else { return 0 };
            assert!(mended || shown(&store) == *truth(), "a checkpoint that does not fit was believed");
            use_all_of(&disk, mended)
        })
        .iter()
        .sum()
}

/// A durable watermark next to a log. The first 16 bytes are generation and position, sealed as the store does it; all
/// of them are an unmodified `HORIZON`. A reader that has the store open sees it appear.
pub fn watermark(bytes: &[u8]) -> u64 {
    let (disk, id) = whole();
    let path = root().join(WATERMARK_FILE);
    disk.put(&path, bytes.to_vec());
    let raw = open(&disk).map_or(0, |store| read(&store, true));

    let (disk, _) = whole();
    disk.put(&path, vec![0; 128]);
    let follower = open(&disk);
    let mut words = bytes.chunks(8).map(|word| {
        let padded = word.iter().chain(&[0; 8]).take(8).copied().collect::<Vec<u8>>();
        padded.first_chunk::<8>().map_or(0, |word| u64::from_le_bytes(*word))
    });
    let (generation, position) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if let Ok(Some(watermark)) = Watermark::open(&disk, root(), id, Access::Write) {
        watermark.publish(Durable { generation, end: Durable::place(position) });
    }
    let followed = follower.map_or(0, |store| read(&store, true));
    raw * NODE + followed * NODE + use_all_of(&disk, true)
}
