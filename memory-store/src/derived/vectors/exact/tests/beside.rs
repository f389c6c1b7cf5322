//! Vectors next to a log that is not, or no longer, the one they were derived from.

use memory_core::{
    Message, NodeDraft, Timestamp,
    port::{Source, Store},
};

use super::*;

fn say(store: &LogStore, texts: &[&str]) {
    let draft = |text: &&str| NodeDraft::new(Message::user(*text), Timestamp::from_millis(0), 1);
    pollster::block_on(store.append(&id("a"), texts.iter().map(draft).collect())).unwrap();
}

fn index_beside(store: &LogStore) -> ExactIndex {
    ExactIndex::beside(store, ModelId::new("toy/1"), DIMENSIONS)
}

fn through(store: &LogStore) -> u64 {
    index_beside(store).stats(&id("a")).through
}

/// Flushes the vectors of the first two nodes, and then that of the third.
fn index_three_nodes(store: &LogStore) {
    let index = index_beside(store);
    for part in [&sample()[..2], &sample()[2..]] {
        insert(&index, &id("a"), part);
        flush(&index);
    }
    assert_eq!(through(store), 3);
}

fn vectors(store: &LogStore) -> PathBuf {
    store.cache_dir().join("vectors")
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn vectors_of_another_store_are_not_used() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [mine, other] = dirs.each_ref().map(|dir| LogStore::open(dir.path()).unwrap());
    say(&mine, &["one", "two", "three"]);
    say(&other, &["one", "two", "three"]);
    index_three_nodes(&mine);
    copy_files(&vectors(&mine), &vectors(&other));
    assert_eq!(through(&other), 0);
    // Nor are bound vectors without a log, nor unbound ones with a log.
    let unbound = index_in(&vectors(&other));
    assert_eq!(unbound.stats(&id("a")).through, 0);
    insert(&unbound, &id("a"), &sample());
    flush(&unbound);
    assert_eq!(index_in(&vectors(&other)).stats(&id("a")).through, 3);
    assert_eq!(through(&other), 0);
}

#[test]
fn vectors_of_nodes_that_the_log_lost_are_not_used_again() {
    let (dir, backup) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let log = dir.path().join("log");
    let store = LogStore::open(dir.path()).unwrap();
    say(&store, &["one", "two"]);
    drop(store);
    copy_files(&log, backup.path());
    let store = LogStore::open(dir.path()).unwrap();
    say(&store, &["three"]);
    index_three_nodes(&store);
    drop(store);

    copy_files(backup.path(), &log);
    // HORIZON shows that the log was longer.
    fs::remove_file(dir.path().join("HORIZON")).unwrap();
    let store = LogStore::open(dir.path()).unwrap();
    assert_eq!(through(&store), 2, "the log has two nodes");
    // The third is another one now, with the same text.
    say(&store, &["three"]);
    assert_eq!(through(&store), 2);
    let index = index_beside(&store);
    insert(&index, &id("a"), &[vec![]]);
    flush(&index);
    let again = index_beside(&store).stats(&id("a"));
    assert_eq!((again.through, again.vectors), (3, 1), "the two vectors of the lost node are gone");
}

#[test]
fn vectors_of_nodes_that_the_log_does_not_have_are_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let store = LogStore::open(dir.path()).unwrap();
    say(&store, &["one"]);
    let index = index_beside(&store);
    insert(&index, &id("a"), &sample());
    flush(&index);
    assert_eq!(through(&store), 0);
    assert!(!vectors(&store).exists());
}

#[test]
fn beside_a_store_that_is_only_read_no_file_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let writer = LogStore::open(dir.path()).unwrap();
    say(&writer, &["one", "two", "three"]);
    index_three_nodes(&writer);
    let before = read_all(&vectors(&writer));
    say(&writer, &["four"]);
    let reader = LogStore::open_read_only(dir.path()).unwrap();
    let index = index_beside(&reader);
    insert(&index, &id("a"), &sample()[..1]);
    flush(&index);
    assert_eq!(index.stats(&id("a")).through, 4, "what is inserted is searched");
    assert_eq!(read_all(&vectors(&writer)), before);
}

#[test]
fn vectors_are_kept_as_far_as_the_last_node_that_is_not_lost() {
    let dir = tempfile::tempdir().unwrap();
    let store = LogStore::open(dir.path()).unwrap();
    say(&store, &["one", "two"]);
    say(&store, &["three is hurt"]);
    // The frame of this event states the number of nodes before it.
    pollster::block_on(store.record(&id("a"), vec![memory_core::port::Event::Title("t".into())])).unwrap();
    drop(store);
    let log = dir.path().join("log/0001.seg");
    let mut bytes = fs::read(&log).unwrap();
    let at = bytes.windows(13).position(|window| window == b"three is hurt").unwrap();
    bytes[at] ^= 1;
    fs::write(&log, bytes).unwrap();

    let store = LogStore::open(dir.path()).unwrap();
    assert_eq!(pollster::block_on(store.conversation(&id("a"))).unwrap().nodes, 3);
    let index = index_beside(&store);
    insert(&index, &id("a"), &[&sample()[..2], &[vec![]]].concat());
    flush(&index);
    flush(&index);
    let kept = index_beside(&store).stats(&id("a"));
    assert_eq!((kept.through, kept.vectors), (2, index.stats(&id("a")).vectors));
}
