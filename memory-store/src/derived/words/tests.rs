//! Blocks read from files, after any damage: each was written, and belongs to this log.

use std::{fs, sync::Arc};

use memory_core::{
    ConversationId, Message, NodeDraft, NodeId, NodeRange, NodeSet, Timestamp,
    port::{Derived, Forget, Forgotten, Store},
    testing::block_cache_conformance,
};
use tempfile::TempDir;

use super::*;

const KEY: BlockKey = BlockKey { kind: "words", version: 1 };

fn id(name: &str) -> ConversationId {
    ConversationId::new(name).unwrap()
}

fn store_of(dir: &TempDir, nodes: u64) -> LogStore {
    let store = LogStore::open(dir.path()).unwrap();
    let draft = |n: u64| NodeDraft::new(Message::user(format!("message {n}")), Timestamp::from_millis(0), 2);
    for name in ["talk", "other"] {
        pollster::block_on(store.append(&id(name), (0..nodes).map(draft).collect())).unwrap();
    }
    store
}

fn run(name: &str, first: u64, last: u64) -> BlockRun {
    BlockRun::new(id(name), NodeRange::new(NodeId::new(first).unwrap(), NodeId::new(last).unwrap()).unwrap())
}

fn write(cache: &BlockFiles, runs: &[BlockRun], bytes: &str) -> bool {
    pollster::block_on(cache.write(KEY, runs, bytes.as_bytes(), &[])).unwrap()
}

/// The bytes of the whole blocks whose runs are all current.
fn read(cache: &BlockFiles) -> Vec<String> {
    let blocks = pollster::block_on(cache.blocks(KEY));
    let current = blocks.iter().filter(|block| block.runs.iter().all(|run| run.is_current));
    let mut all: Vec<_> =
        current.filter_map(|block| block.bytes()).map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()).collect();
    all.sort();
    all
}

fn files(store: &LogStore) -> Vec<PathBuf> {
    let mut files: Vec<_> = paths(&store.cache_dir().join("words")).unwrap().into_iter().collect();
    files.sort();
    files
}

#[test]
fn files_of_blocks_conform() {
    let dir = TempDir::new().unwrap();
    let store = LogStore::open(dir.path()).unwrap();
    pollster::block_on(block_cache_conformance(&store, &|| Arc::new(BlockFiles::beside(&store))));
}

fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn blocks_of_another_store_do_not_count_and_are_removed() {
    let (dir, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (store, stranger) = (store_of(&dir, 4), store_of(&elsewhere, 4));
    assert!(write(&BlockFiles::beside(&store), &[run("talk", 1, 4)], "mine"));
    copy_dir(&store.cache_dir().join("words"), &stranger.cache_dir().join("words"));
    let theirs = BlockFiles::beside(&stranger);
    assert_eq!(read(&theirs), [""; 0]);
    assert!(write(&theirs, &[run("talk", 1, 2)], "theirs"));
    assert_eq!((read(&theirs), files(&stranger).len()), (vec!["theirs".to_owned()], 1));
}

#[test]
fn runs_of_a_log_that_went_another_way_are_not_current() {
    let dir = TempDir::new().unwrap();
    drop(store_of(&dir, 2));
    let set_back = TempDir::new().unwrap();
    copy_dir(dir.path(), set_back.path());
    // The same store with the same words, written again: two nodes more in each, of other salts.
    let [one, other] = [&dir, &set_back].map(|dir| store_of(dir, 2));
    let cache = BlockFiles::beside(&one);
    assert!(write(&cache, &[run("talk", 1, 2)], "in common") && write(&cache, &[run("talk", 3, 4)], "apart"));
    copy_dir(&one.cache_dir().join("words"), &other.cache_dir().join("words"));
    assert_eq!(read(&BlockFiles::beside(&other)), ["in common"]);
}

#[test]
fn a_run_is_current_once_the_log_has_it() {
    let dir = TempDir::new().unwrap();
    let mine = store_of(&dir, 2);
    let theirs = LogStore::open(dir.path()).unwrap();
    let cache = BlockFiles::beside(&mine);
    drop(store_of(&dir, 1));
    assert!(write(&BlockFiles::beside(&theirs), &[run("talk", 1, 3)], "three"));
    assert_eq!(read(&cache), ["three"], "another process appended it");
}

#[test]
fn every_flipped_byte_and_every_cut_leaves_whole_blocks_alone() {
    let dir = TempDir::new().unwrap();
    let store = store_of(&dir, 6);
    assert!(write(&BlockFiles::beside(&store), &[run("talk", 1, 3), run("other", 2, 6)], "some words"));
    let path = files(&store).remove(0);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x41;
        fs::write(&path, &flipped).unwrap();
        let cache = BlockFiles::beside(&store);
        assert_eq!(read(&cache), [""; 0], "byte {at} flipped");
        // The file has its full length, but only its beginning reached the disk.
        let torn: Vec<u8> = whole[..at].iter().copied().chain(std::iter::repeat_n(0, whole.len() - at)).collect();
        for bytes in [&whole[..at], &torn] {
            fs::write(&path, bytes).unwrap();
            assert_eq!(read(&BlockFiles::beside(&store)), [""; 0], "cut at {at}");
        }
    }
    fs::write(&path, [whole.as_slice(), b"more"].concat()).unwrap();
    assert_eq!(read(&BlockFiles::beside(&store)), [""; 0]);
    assert!(write(&BlockFiles::beside(&store), &[run("talk", 1, 3)], "anew"));
    assert_eq!((read(&BlockFiles::beside(&store)), files(&store).len()), (vec!["anew".to_owned()], 1));
}

#[test]
fn a_length_that_no_file_has_allocates_nothing() {
    let dir = TempDir::new().unwrap();
    let store = store_of(&dir, 2);
    assert!(write(&BlockFiles::beside(&store), &[run("talk", 1, 2)], "words"));
    let path = files(&store).remove(0);
    let whole = fs::read(&path).unwrap();
    let head = whole.windows(4).position(|bytes| bytes == b"runs").unwrap() + 4;
    for length_at in [head, head + 8] {
        let mut bytes = whole.clone();
        bytes[length_at..length_at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        fs::write(&path, &bytes).unwrap();
        assert_eq!(read(&BlockFiles::beside(&store)), [""; 0]);
    }
}

#[test]
fn a_store_that_takes_no_writes_gets_no_files() {
    let dir = TempDir::new().unwrap();
    drop(store_of(&dir, 2));
    let store = LogStore::open_read_only(dir.path()).unwrap();
    assert!(!write(&BlockFiles::beside(&store), &[run("talk", 1, 2)], "words"));
    assert!(files(&store).is_empty());
}

#[test]
fn a_directory_that_cannot_be_written_is_an_error_that_names_it() {
    let dir = TempDir::new().unwrap();
    let store = store_of(&dir, 2);
    let place = store.cache_dir().join("words");
    fs::create_dir_all(store.cache_dir()).unwrap();
    fs::write(&place, b"no directory").unwrap();
    let cache = BlockFiles::beside(&store);
    let error = pollster::block_on(cache.write(KEY, &[run("talk", 1, 2)], b"", &[])).unwrap_err();
    assert!(error.to_string().contains(&place.display().to_string()), "{error}");
    assert_eq!(read(&cache), [""; 0]);
}

#[test]
fn the_bytes_of_a_shared_block_are_counted_once_and_it_is_forgotten_whole() {
    let dir = TempDir::new().unwrap();
    let store = store_of(&dir, 6);
    let cache = BlockFiles::beside(&store);
    assert!(write(&cache, &[run("other", 1, 3), run("talk", 1, 4)], "together"));
    assert!(write(&cache, &[run("talk", 5, 6)], "alone") && write(&cache, &[run("other", 6, 6)], "beyond a gap"));
    let derived = DerivedBlocks::words(&store);
    let holdings = pollster::block_on(derived.holdings()).unwrap();
    let on_disk: u64 = files(&store).iter().map(|path| fs::metadata(path).unwrap().len()).sum();
    assert_eq!((holdings.total().disk, holdings.total().count), (on_disk, 4));
    let through = |name: &str| holdings.of(&id(name)).unwrap().through;
    assert_eq!((through("talk"), through("other")), (6, 3));
    let third: NodeSet = NodeId::new(3).into_iter().collect();
    let forget = |what: &Forget<'_>| pollster::block_on(derived.forget(what)).unwrap();
    assert_eq!(forget(&Forget::nodes(&id("talk"), &third)), Forgotten::All);
    assert_eq!(read(&cache), ["alone", "beyond a gap"]);
    assert_eq!(forget(&Forget::conversation(&id("talk"))), Forgotten::All);
    assert_eq!(read(&cache), ["beyond a gap"]);
}
