//! Whatever happens to the files, what is read was written, and of this log.

use std::{fs, sync::Arc};

use memory_core::{
    ConversationId, Message, NodeDraft, NodeId, NodeRange, Store, Timestamp, testing::block_cache_conformance,
};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

fn talk() -> ConversationId {
    ConversationId::new("talk").unwrap()
}

fn store_of(dir: &TempDir, nodes: u64) -> LogStore {
    let store = LogStore::open(dir.path()).unwrap();
    let draft = |n: u64| NodeDraft::new(Message::user(format!("message {n}")), Timestamp::from_millis(0), 2);
    pollster::block_on(store.append(&talk(), (0..nodes).map(draft).collect())).unwrap();
    store
}

fn block(first: u64, last: u64) -> Block {
    let nodes = NodeRange::new(NodeId::new(first).unwrap(), NodeId::new(last).unwrap()).unwrap();
    Block::new(nodes, format!("what nodes {nodes} come to").into_bytes())
}

fn key(conversation: &ConversationId) -> BlockKey<'_> {
    BlockKey { kind: "words", version: 1, conversation }
}

fn write(cache: &BlockFiles, first: u64, last: u64) -> bool {
    pollster::block_on(cache.write(key(&talk()), &block(first, last))).unwrap()
}

fn read(cache: &BlockFiles) -> Vec<Block> {
    pollster::block_on(cache.read(key(&talk())))
}

fn path(cache: &BlockFiles) -> PathBuf {
    cache.file(&key(&talk())).path().to_owned()
}

#[test]
fn files_of_blocks_conform() {
    let dir = TempDir::new().unwrap();
    let store = LogStore::open(dir.path()).unwrap();
    pollster::block_on(block_cache_conformance(&store, &|| Arc::new(BlockFiles::beside(&store))));
}

#[test]
fn blocks_of_another_kind_version_store_or_log_do_not_count() {
    let dir = TempDir::new().unwrap();
    let store = store_of(&dir, 4);
    let cache = BlockFiles::beside(&store);
    assert!(write(&cache, 1, 4));
    let id = talk();
    let other = ConversationId::new("other").unwrap();
    for key in [
        BlockKey { kind: "other", ..key(&id) },
        BlockKey { version: 2, ..key(&id) },
        BlockKey { conversation: &other, ..key(&id) },
    ] {
        assert_eq!(pollster::block_on(cache.read(key)), [], "{key:?}");
    }
    // The same words in another store.
    let elsewhere = TempDir::new().unwrap();
    let stranger = store_of(&elsewhere, 4);
    let theirs = BlockFiles::beside(&stranger);
    fs::create_dir_all(path(&theirs).parent().unwrap()).unwrap();
    fs::copy(path(&cache), path(&theirs)).unwrap();
    assert_eq!(read(&theirs), []);
    assert!(write(&theirs, 1, 2), "what is foreign is overwritten");
    assert_eq!(read(&theirs), [block(1, 2)]);
}

fn copy_dir(from: &std::path::Path, to: &std::path::Path) {
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
fn blocks_of_a_log_that_went_another_way_do_not_count() {
    let dir = TempDir::new().unwrap();
    drop(store_of(&dir, 2));
    let set_back = TempDir::new().unwrap();
    copy_dir(dir.path(), set_back.path());
    // The same store with the same words, written again: two nodes more in each, of other salts.
    let [one, other] = [&dir, &set_back].map(|dir| store_of(dir, 2));
    let cache = BlockFiles::beside(&one);
    assert!(write(&cache, 1, 2) && write(&cache, 3, 4));
    let theirs = BlockFiles::beside(&other);
    copy_dir(path(&cache).parent().unwrap(), path(&theirs).parent().unwrap());
    assert_eq!(read(&theirs), [block(1, 2)], "they have that in common");
}

#[test]
fn every_flipped_byte_and_every_cut_leaves_whole_blocks_alone() {
    let dir = TempDir::new().unwrap();
    let store = store_of(&dir, 6);
    let cache = BlockFiles::beside(&store);
    assert!(write(&cache, 1, 3) && write(&cache, 4, 6));
    let path = path(&cache);
    let whole = fs::read(&path).unwrap();
    let blocks = [block(1, 3), block(4, 6)];
    let is_prefix = |found: &[Block]| blocks.starts_with(found) && found.len() < blocks.len();
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x41;
        fs::write(&path, &flipped).unwrap();
        assert!(is_prefix(&read(&cache)), "byte {at} flipped");
        fs::write(&path, &whole[..at]).unwrap();
        assert!(is_prefix(&read(&cache)), "cut at {at}");
        // A file that was made longer than what reached the disk of it.
        let torn: Vec<u8> = whole[..at].iter().copied().chain(std::iter::repeat_n(0, whole.len() - at)).collect();
        fs::write(&path, &torn).unwrap();
        assert!(is_prefix(&read(&cache)) || torn == whole, "zeros from {at}");
        // It is carried on from what is good.
        let first = read(&cache).last().map_or(1, |last| last.nodes.last().get() + 1);
        assert!(write(&cache, first, 6));
        assert_eq!(read(&cache).last(), Some(&block(first, 6)), "after byte {at}");
    }
    fs::write(&path, [whole.as_slice(), b"more"].concat()).unwrap();
    assert_eq!(read(&cache), blocks, "what is behind does not count");
}

#[test]
fn a_length_that_no_file_has_allocates_nothing() {
    let dir = TempDir::new().unwrap();
    let store = store_of(&dir, 2);
    let cache = BlockFiles::beside(&store);
    assert!(write(&cache, 1, 2));
    let mut bytes = fs::read(path(&cache)).unwrap();
    let content = block(1, 2).bytes.len();
    let length_at = bytes.len() - content - 12;
    bytes[length_at..length_at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
    fs::write(path(&cache), &bytes).unwrap();
    assert_eq!(read(&cache), []);
}

#[test]
fn a_store_that_takes_no_writes_gets_no_files() {
    let dir = TempDir::new().unwrap();
    drop(store_of(&dir, 2));
    let store = LogStore::open_read_only(dir.path()).unwrap();
    let cache = BlockFiles::beside(&store);
    assert!(!write(&cache, 1, 2));
    assert!(!path(&cache).exists());
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_that_names_it() {
    let dir = TempDir::new().unwrap();
    let store = store_of(&dir, 2);
    let cache = BlockFiles::beside(&store);
    fs::create_dir_all(path(&cache)).unwrap();
    let id = talk();
    let error = pollster::block_on(cache.write(key(&id), &block(1, 2))).unwrap_err();
    assert!(error.to_string().contains(&path(&cache).display().to_string()), "{error}");
    assert_eq!(read(&cache), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn whatever_is_written_in_turn_the_blocks_have_no_gap(
        writes in prop::collection::vec((1u64..20, 0u64..8, any::<bool>()), 1..12),
    ) {
        let dir = TempDir::new().unwrap();
        let store = store_of(&dir, 20);
        // Two processes.
        let caches = [BlockFiles::beside(&store), BlockFiles::beside(&store)];
        let mut reached = 0;
        for (first, more, by_other) in writes {
            let cache = &caches[usize::from(by_other)];
            let last = (first + more).min(20);
            let written = write(cache, first, last);
            let blocks = read(cache);
            let mut next = 1;
            for block in &blocks {
                prop_assert_eq!(block.nodes.first().get(), next);
                next = block.nodes.last().get() + 1;
            }
            prop_assert!(next > reached, "nothing is lost by writing");
            prop_assert_eq!(written, next - 1 == last && next - 1 > reached);
            reached = next - 1;
        }
    }
}
