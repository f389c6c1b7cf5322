//! Owners of conversations in a log that is rewritten, copied and damaged.

use std::{fs, path::Path, sync::Arc};

use memory_core::{
    NodeDraft, OwnerId,
    port::{Event, Source, Store, StoreError},
    testing::owner_conformance,
};

use super::sample::{draft, id, node, tiny_segments};
use crate::{CompressionOptions, LogStore, VacuumOptions, restore, salvage};

fn ana() -> OwnerId {
    OwnerId::new("ana").unwrap()
}

fn append(store: &LogStore, owner: Option<&OwnerId>, name: &str, batch: Vec<NodeDraft>) -> Result<(), StoreError> {
    pollster::block_on(store.append_for(owner, &id(name), batch)).map(drop)
}

fn open(path: &Path) -> LogStore {
    LogStore::open_with(path, tiny_segments().checkpoint_bytes(1)).unwrap()
}

/// Each conversation with its owner and how many messages it has.
fn owners(store: &LogStore) -> Vec<(String, Option<String>, u64)> {
    let states = pollster::block_on(store.conversations()).unwrap();
    let owner = |owner: OwnerId| owner.to_string();
    states.into_iter().map(|state| (state.id.to_string(), state.owner.map(owner), state.nodes)).collect()
}

/// A conversation of ana's, a fork of it and a fork of that, and one without an owner.
fn fill(path: &Path) -> Vec<(String, Option<String>, u64)> {
    let store = open(path);
    append(&store, Some(&ana()), "hers", (1..6).map(|n| draft(n, 300)).collect()).unwrap();
    append(&store, None, "nobodys", vec![draft(1, 300)]).unwrap();
    pollster::block_on(store.fork(&id("hers"), node(4), &id("fork"))).unwrap();
    append(&store, Some(&ana()), "fork", vec![draft(9, 300)]).unwrap();
    pollster::block_on(store.fork(&id("fork"), node(2), &id("its-fork"))).unwrap();
    for title in ["one", "two", "three"] {
        pollster::block_on(store.record(&id("hers"), vec![Event::Title(title.repeat(100))])).unwrap();
        append(&store, None, "nobodys", vec![draft(2, 300)]).unwrap();
    }
    let whose = |name: &str, owner: Option<&str>, nodes| (name.to_owned(), owner.map(str::to_owned), nodes);
    let expected = vec![
        whose("fork", Some("ana"), 5),
        whose("hers", Some("ana"), 5),
        whose("its-fork", Some("ana"), 2),
        whose("nobodys", None, 4),
    ];
    assert_eq!(owners(&store), expected);
    expected
}

#[test]
fn a_conversation_keeps_its_owner_in_whatever_is_made_of_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let expected = fill(&path);
    assert!(path.join("cache/checkpoint").exists());
    assert_eq!(owners(&open(&path)), expected, "from the checkpoint");
    fs::remove_dir_all(path.join("cache")).unwrap();
    assert_eq!(owners(&LogStore::open_read_only(&path).unwrap()), expected, "from the log");
    let store = open(&path);
    let options = CompressionOptions::default().level(1);
    for options in [VacuumOptions::default(), VacuumOptions::compress(options)] {
        store.vacuum(options, &()).unwrap();
        assert_eq!(owners(&store), expected, "rewritten");
        assert_eq!(owners(&open(&path)), expected, "opened after that");
    }
    store.backup(dir.path().join("backup"), &()).unwrap();
    restore(dir.path().join("backup"), dir.path().join("restored"), &()).unwrap();
    assert_eq!(owners(&open(&dir.path().join("restored"))), expected);
    salvage(&path, dir.path().join("salvaged"), &()).unwrap();
    assert_eq!(owners(&open(&dir.path().join("salvaged"))), expected);
}

#[test]
fn a_fork_keeps_its_owner_when_the_opening_of_its_parent_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    fill(&path);
    let first = path.join("log/0001.seg");
    let mut bytes = fs::read(&first).unwrap();
    bytes[64 + 60] ^= 1;
    fs::write(&first, bytes).unwrap();
    salvage(&path, dir.path().join("salvaged"), &()).unwrap();
    let salvaged = owners(&open(&dir.path().join("salvaged")));
    let owner = |name: &str| salvaged.iter().find(|(there, ..)| there == name).and_then(|(_, owner, _)| owner.clone());
    assert_eq!((owner("fork").as_deref(), owner("its-fork").as_deref()), (Some("ana"), Some("ana")), "{salvaged:?}");
    assert!(salvaged.iter().all(|(name, ..)| name != "hers"), "{salvaged:?}");
    let lost = salvaged.iter().filter(|(name, ..)| name.starts_with("recovered-"));
    assert!(lost.clone().count() > 0 && lost.into_iter().all(|(_, owner, _)| owner.is_none()), "{salvaged:?}");
}

#[test]
fn two_owners_find_nothing_of_each_other_in_a_log() {
    let dir = tempfile::tempdir().unwrap();
    pollster::block_on(owner_conformance(Arc::new(open(dir.path()))));
}

#[test]
fn of_two_that_begin_a_name_at_once_one_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (open(dir.path()), open(dir.path()));
    let ben = OwnerId::new("ben").unwrap();
    std::thread::scope(|scope| {
        let ana = ana();
        let begun = [(&one, ana), (&other, ben)].map(|(store, owner)| {
            scope.spawn(move || append(store, Some(&owner), "trip", vec![draft(1, 10)]).map(|()| owner))
        });
        let begun: Vec<_> = begun.into_iter().map(|thread| thread.join().unwrap()).collect();
        let winner = begun.iter().find_map(|begun| begun.as_ref().ok()).unwrap();
        let refused = begun.iter().find_map(|begun| begun.as_ref().err()).unwrap();
        assert!(matches!(refused, StoreError::NameTaken { .. }), "{refused}");
        for store in [&one, &other] {
            assert_eq!(owners(store), [("trip".to_owned(), Some(winner.to_string()), 1)]);
        }
    });
}
