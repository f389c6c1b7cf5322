//! A log in which sealed segments are compressed.

use std::path::PathBuf;

use memory_core::{Node, NodeId, NodeRange, port::StoreError};
use tempfile::TempDir;

use super::*;

const MESSAGES: u64 = 600;

fn talk() -> ConversationId {
    ConversationId::new("talk").unwrap()
}

fn segment(directory: &TempDir, number: u32) -> PathBuf {
    segment_path(&directory.path().join("log"), number)
}

/// Three sealed segments and an empty one.
fn filled() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let store = LogStore::open(directory.path()).unwrap();
    for part in 0..3 {
        let draft = |number: u64| {
            let text = format!("message {number}: {}", "the ferry leaves at nine ".repeat(9));
            NodeDraft::new(Message::user(text), Timestamp::from_millis(1_000), 9)
        };
        for first in (0..MESSAGES / 3).step_by(10) {
            let drafts = (first..first + 10).map(|number| draft(part * MESSAGES / 3 + number)).collect();
            pollster::block_on(store.append(&talk(), drafts)).unwrap();
        }
        pollster::block_on(store.seal()).unwrap();
    }
    directory
}

/// Puts a compressed file in the place of a segment.
fn compress(directory: &TempDir, number: u32) {
    let path = segment(directory, number);
    let file = compress_segment(&fs::read(&path).unwrap(), &options()).unwrap();
    let fresh = path.with_extension("tmp");
    fs::write(&fresh, file).unwrap();
    fs::rename(fresh, path).unwrap();
}

fn nodes(store: &LogStore) -> Vec<Node> {
    let all = NodeRange::first_n(MESSAGES).unwrap();
    pollster::block_on(store.nodes(&talk(), all)).unwrap()
}

#[test]
fn a_log_reads_the_same_before_and_after_its_segments_are_compressed() {
    let directory = filled();
    let store = LogStore::open(directory.path()).unwrap();
    let (before, root) = (nodes(&store), pollster::block_on(store.verify(None)).unwrap());
    assert!(root.is_whole());
    for number in 1..=3 {
        compress(&directory, number);
    }
    assert_eq!(nodes(&store), before, "a store that is open goes on with the files that it opened");
    drop(store);
    let store = LogStore::open(directory.path()).unwrap();
    assert_eq!(store.report().damage, []);
    assert_eq!(nodes(&store), before);
    for position in [1, 200, 201, MESSAGES] {
        let node = NodeId::new(position).unwrap();
        assert_eq!(pollster::block_on(store.node(&talk(), node)).unwrap(), before[node.index()]);
    }
    assert_eq!(pollster::block_on(store.verify(None)).unwrap(), root);
    let more = NodeDraft::new(Message::user("more"), Timestamp::from_millis(2_000), 1);
    assert_eq!(pollster::block_on(store.append(&talk(), vec![more])).unwrap()[0].node.get(), MESSAGES + 1);
}

#[test]
fn a_damaged_block_costs_its_records_and_says_where() {
    let directory = filled();
    let before = nodes(&LogStore::open(directory.path()).unwrap());
    compress(&directory, 2);
    let path = segment(&directory, 2);
    let mut file = fs::read(&path).unwrap();
    let middle = file.len() / 2;
    file[middle] ^= 1;
    fs::write(&path, &file).unwrap();

    let store = LogStore::open(directory.path()).unwrap();
    assert!(store.report().damage.iter().all(|damage| damage.path == path));
    let read = |position| pollster::block_on(store.node(&talk(), NodeId::new(position).unwrap()));
    let (mut good, mut lost) = (0, 0);
    for position in 1..=MESSAGES {
        match read(position) {
            Ok(node) => {
                assert_eq!(node, before[node.id.index()]);
                good += 1;
            }
            Err(StoreError::Damaged { .. } | StoreError::Lost { .. }) => lost += 1,
            Err(error) => panic!("node {position}: {error}"),
        }
    }
    // A block of 1 KiB reaches into two batches of ten.
    assert!(good >= MESSAGES - 20 && lost > 0, "{good} good, {lost} lost");
    assert!(!pollster::block_on(store.verify(None)).unwrap().is_whole());
}

#[test]
fn damage_to_an_open_compressed_segment_is_damage_and_not_a_failed_read() {
    let directory = filled();
    compress(&directory, 1);
    let store = LogStore::open(directory.path()).unwrap();
    let path = segment(&directory, 1);
    let mut file = fs::read(&path).unwrap();
    let header = Header::parse(&file).unwrap();
    file[header.first_block() as usize..header.blocks_end() as usize].fill(0);
    fs::write(&path, &file).unwrap();
    let error = pollster::block_on(store.node(&talk(), NodeId::new(100).unwrap())).unwrap_err();
    assert!(matches!(&error, StoreError::Damaged { place, .. } if place.name == path.display().to_string()), "{error}");
}

#[test]
fn a_compressed_segment_that_became_the_last_is_never_cut() {
    let directory = filled();
    compress(&directory, 3);
    let before = nodes(&LogStore::open(directory.path()).unwrap());
    fs::remove_file(segment(&directory, 4)).unwrap();
    let file = fs::read(segment(&directory, 3)).unwrap();
    let error = LogStore::open(directory.path()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert_eq!(nodes(&LogStore::open_read_only(directory.path()).unwrap()), before);
    assert_eq!(fs::read(segment(&directory, 3)).unwrap(), file);
}

#[test]
fn what_is_whole_of_a_damaged_compressed_segment_is_salvaged() {
    let directory = filled();
    let before = nodes(&LogStore::open(directory.path()).unwrap());
    for number in 1..=3 {
        compress(&directory, number);
    }
    let path = segment(&directory, 2);
    let mut file = fs::read(&path).unwrap();
    let middle = file.len() / 2;
    file[middle] ^= 1;
    fs::write(&path, &file).unwrap();

    let target = tempfile::tempdir().unwrap();
    crate::salvage(directory.path(), target.path(), &()).unwrap();
    let store = LogStore::open(target.path()).unwrap();
    let read = |node: &Node| pollster::block_on(store.node(&talk(), node.id));
    let good = before.iter().filter(|node| read(node).is_ok_and(|read| read == **node)).count();
    assert!(good >= before.len() - 20 && good < before.len(), "{good}");
}

#[test]
fn a_backup_takes_compressed_segments_as_they_are() {
    let directory = filled();
    compress(&directory, 1);
    let store = LogStore::open(directory.path()).unwrap();
    let target = tempfile::tempdir().unwrap();
    let report = store.backup(target.path().join("backup"), &()).unwrap();
    assert!(report.damage.is_empty());
    crate::restore(target.path().join("backup"), target.path().join("store"), &()).unwrap();
    let name = Path::new("log").join("0001.seg");
    let restored = fs::read(target.path().join("store").join(&name)).unwrap();
    assert_eq!(restored, fs::read(directory.path().join(&name)).unwrap());
    assert_eq!(nodes(&LogStore::open(target.path().join("store")).unwrap()), nodes(&store));
}
