//! Stores as sets of files, and checks of what is left after the files were changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use memory_core::{ConversationId, NodeId, SummaryId, port::Event};

use super::sample::{Request, draft, perform, requests_without_forks, summary, tiny_segments};
use crate::{
    LogStore,
    log::format::{
        codec::{self, EventRecord, Record},
        frame::{FRAME_HEADER, FrameHeader, Place, StoreId, records},
        segment::SEGMENT_HEADER,
    },
};

/// Files by their path in the store.
pub(super) type Files = BTreeMap<PathBuf, Vec<u8>>;

pub(super) fn files_in(dir: &Path) -> Files {
    let mut files = Files::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                dirs.push(entry);
            } else {
                files.insert(entry.strip_prefix(dir).unwrap().to_owned(), fs::read(&entry).unwrap());
            }
        }
    }
    files
}

pub(super) fn put(files: &Files) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("log")).unwrap();
    for (name, bytes) in files {
        fs::write(dir.path().join(name), bytes).unwrap();
    }
    dir
}

pub(super) fn segment(number: u32) -> PathBuf {
    format!("log/{number:04}.seg").into()
}

/// The sample and more in tiny segments: its files, and their contents.
pub(super) fn sample() -> (Files, Vec<Request>) {
    let mut requests = requests_without_forks();
    requests.extend([
        Request::Record("b", vec![Event::Title("b".into()), Event::Summary(summary(1, 1, &[]))]),
        Request::Append("b", (4..9).map(|n| draft(n, 300)).collect()),
        Request::Append("c", (2..5).map(|n| draft(n, 20)).collect()),
    ]);
    let dir = tempfile::tempdir().unwrap();
    let store = LogStore::open_with(dir.path(), tiny_segments()).unwrap();
    requests.iter().for_each(|request| perform(&store, request).unwrap());
    drop(store);
    let mut files = files_in(dir.path());
    files.retain(|name, _| name == Path::new("FORMAT") || name.starts_with("log"));
    (files, requests)
}

pub(super) fn store_id(files: &Files) -> StoreId {
    let text = String::from_utf8(files[Path::new("FORMAT")].clone()).unwrap();
    let hex = text.lines().find_map(|line| line.strip_prefix("id ")).unwrap();
    u128::from_str_radix(hex, 16).unwrap().to_be_bytes()
}

/// A record of the whole store.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) range: Range<usize>,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    Opening(ConversationId),
    Node(NodeId),
    Summary(SummaryId),
    Note,
    Other,
}

#[derive(Debug)]
pub(super) struct WrittenFrame {
    pub(super) segment: PathBuf,
    pub(super) range: Range<usize>,
    pub(super) conversation: u64,
    pub(super) records: Vec<Written>,
}

/// Every frame of a whole store.
pub(super) fn frames(files: &Files) -> Vec<WrittenFrame> {
    let store = store_id(files);
    let mut out = Vec::new();
    for (number, (name, bytes)) in (1..).zip(files.iter().filter(|(name, _)| name.starts_with("log"))) {
        let mut at = SEGMENT_HEADER as usize;
        while at < bytes.len() {
            let place = Place { store, segment: number, offset: u32::try_from(at).unwrap() };
            let (header, payload) = FrameHeader::parse(&bytes[at..], &place).unwrap();
            let mut nodes = header.nodes_before;
            let records = records(payload).map(Result::unwrap).map(|(range, body)| {
                let what = match codec::decode(body).unwrap() {
                    Record::Opened(opening) => What::Opening(opening.name),
                    Record::Message(_) => {
                        nodes += 1;
                        What::Node(NodeId::new(nodes).unwrap())
                    }
                    Record::Event(EventRecord::Summary(summary)) => What::Summary(summary.id),
                    Record::Event(EventRecord::Note(_)) => What::Note,
                    Record::Event(_) => What::Other,
                    Record::Lost(_) | Record::ErasedMessage(_) => panic!("nothing is lost or erased yet"),
                };
                Written { range: at + range.start..at + range.end, what }
            });
            let records = records.collect();
            let range = at..at + header.frame_bytes();
            at = range.end;
            out.push(WrittenFrame { segment: name.clone(), range, conversation: header.conversation, records });
        }
    }
    out
}

/// Remains of a whole store, byte by byte, in a wrecked one.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// By the number of the conversation.
    pub(super) names: BTreeMap<u64, ConversationId>,
    pub(super) lost_names: BTreeMap<u64, ConversationId>,
    pub(super) nodes: BTreeSet<(u64, NodeId)>,
    pub(super) summaries: BTreeSet<(u64, SummaryId)>,
}

pub(super) fn left(whole: &Files, wrecked: &Files) -> Left {
    let mut left = Left::default();
    for frame in frames(whole) {
        let before = &whole[&frame.segment];
        let nothing = Vec::new();
        let now = wrecked.get(&frame.segment).unwrap_or(&nothing);
        let is_same = |range: Range<usize>| now.get(range.clone()) == before.get(range);
        let header = frame.range.start..frame.range.start + FRAME_HEADER;
        let has_header = is_same(header);
        // After a record of unknown length the records cannot be separated.
        let is_all_there = now.len() >= frame.range.end;
        let lengths = frame.records.iter().all(|record| is_same(record.range.start..record.range.start + 4));
        let mut bad_before = false;
        for record in &frame.records {
            let whole = is_same(record.range.clone());
            bad_before |= !whole;
            let kept = has_header && whole && (!bad_before || (lengths && is_all_there));
            match &record.what {
                What::Opening(name) => {
                    let names = if kept { &mut left.names } else { &mut left.lost_names };
                    names.insert(frame.conversation, name.clone());
                }
                What::Node(node) => {
                    kept.then(|| left.nodes.insert((frame.conversation, *node)));
                }
                What::Summary(id) => {
                    kept.then(|| left.summaries.insert((frame.conversation, *id)));
                }
                What::Note | What::Other => {}
            }
        }
    }
    left
}
