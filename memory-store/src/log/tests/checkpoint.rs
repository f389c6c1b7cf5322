//! Checkpoints: stores that are opened from one, and checkpoints that do not fit.

use std::{
    fs,
    path::Path,
    sync::{Arc, OnceLock},
};

use memory_core::{
    MessageKey,
    port::{Event, Source, Store},
};
use proptest::{prelude::*, sample::Index};

use super::{
    faults::{PATH, empty_disk},
    sample::{Request, draft, id, model, node, perform, requests, shown, tiny_segments},
};
use crate::{
    LogOptions, LogStore, VacuumOptions,
    log::{
        media::{
            Disk, Media,
            sim::{Fault, SimDisk, Unsynced},
        },
        read::directory::Directory,
    },
};

/// A checkpoint after every commit group.
fn eager() -> LogOptions {
    tiny_segments().checkpoint_bytes(1)
}

fn open_on(disk: &SimDisk) -> LogStore {
    LogStore::open_on(Arc::new(disk.clone()), Path::new(PATH), eager()).unwrap()
}

fn keyed(number: usize) -> Request {
    let mut draft = draft(number, 30);
    draft.message.key = MessageKey::new(&format!("key {number}")).ok();
    Request::Append("keyed", vec![draft])
}

fn sample() -> Vec<Request> {
    let mut sample = requests();
    sample.extend((0..40).map(keyed));
    sample.push(Request::Append("a", vec![draft(900, 100)]));
    sample
}

/// A store of its own that holds the sample, with a checkpoint.
fn copy_of_sample() -> tempfile::TempDir {
    static SAMPLE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let sample = SAMPLE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let store = LogStore::open_with(dir.path(), eager()).unwrap();
        requests().iter().for_each(|request| perform(&store, request).unwrap());
        dir
    });
    let dir = tempfile::tempdir().unwrap();
    for part in ["", "log", "cache"] {
        fs::create_dir_all(dir.path().join(part)).unwrap();
        for entry in fs::read_dir(sample.path().join(part)).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                fs::copy(entry.path(), dir.path().join(part).join(entry.file_name())).unwrap();
            }
        }
    }
    dir
}

/// Nodes in the checkpoint; `None` if it does not fit.
fn checkpointed(media: &dyn Media, path: &Path) -> Option<u64> {
    let directory = Directory::open(media, path).unwrap();
    let names = media.list(&directory.log()).unwrap();
    let mut numbers: Vec<_> =
        names.iter().filter_map(|name| crate::log::format::segment::segment_number(name)).collect();
    numbers.sort_unstable();
    let state = crate::log::read::recovery::saved(media, &directory)?.state(media, &directory, &numbers)?;
    Some(state.conversations().map(|conversation| conversation.nodes()).sum())
}

#[test]
fn a_store_opened_from_its_checkpoint_is_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let mut done = Vec::new();
    for request in sample() {
        let store = LogStore::open_with(dir.path(), eager()).unwrap();
        assert!(shown(&store).unwrap() == shown(&model(&done)).unwrap());
        perform(&store, &request).unwrap();
        done.push(request);
        drop(store);
        let reader = LogStore::open_read_only(dir.path()).unwrap();
        assert_eq!(reader.report().damage, []);
        assert!(shown(&reader).unwrap() == shown(&model(&done)).unwrap());
        assert!(pollster::block_on(reader.verify(None)).unwrap().is_whole());
    }
    let nodes: u64 = shown(&model(&done)).unwrap().iter().map(|(state, ..)| state.nodes).sum();
    assert!(checkpointed(&Disk, dir.path()).unwrap() + 60 > nodes, "the checkpoint is as new as it pays");
    // Keys are found whether they are in the checkpoint, after it, or both.
    let store = LogStore::open_with(dir.path(), eager()).unwrap();
    for number in 0..40 {
        let key = MessageKey::new(&format!("key {number}")).unwrap();
        let found = pollster::block_on(store.find_key(&id("keyed"), &key)).unwrap();
        assert_eq!(found, Some(node(number + 1)));
        perform(&store, &keyed(usize::try_from(number).unwrap())).unwrap();
    }
    assert!(shown(&store).unwrap() == shown(&model(&done)).unwrap(), "a known key writes nothing");
}

#[test]
fn a_checkpoint_of_another_or_an_older_log_is_not_believed() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for dir in &dirs {
        let store = LogStore::open_with(dir.path(), eager()).unwrap();
        sample().iter().for_each(|request| perform(&store, request).unwrap());
    }
    let [mine, other] = dirs.each_ref().map(|dir| dir.path().join("cache/checkpoint"));
    let log = dirs[0].path().join("log");
    fs::copy(&other, &mine).unwrap();
    assert_eq!(checkpointed(&Disk, dirs[0].path()), None);
    assert!(shown(&LogStore::open(dirs[0].path()).unwrap()).unwrap() == shown(&model(&sample())).unwrap());

    // The same store, put back to an earlier state and continued in another way.
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (&requests()[..3], Request::Append("a", vec![draft(3, 50)]));
    let store = LogStore::open_with(dir.path(), eager()).unwrap();
    first.iter().for_each(|request| perform(&store, request).unwrap());
    drop(store);
    let segment = dir.path().join("log/0001.seg");
    let earlier = fs::read(&segment).unwrap();
    let append = |request: &Request| perform(&LogStore::open_with(dir.path(), eager()).unwrap(), request).unwrap();
    append(&second);
    let checkpoint = fs::read(dir.path().join("cache/checkpoint")).unwrap();
    assert_eq!(checkpointed(&Disk, dir.path()), Some(4));
    fs::write(&segment, earlier).unwrap();
    fs::remove_file(dir.path().join("HORIZON")).unwrap();
    fs::remove_file(dir.path().join("cache/checkpoint")).unwrap();
    append(&second);
    fs::write(dir.path().join("cache/checkpoint"), checkpoint).unwrap();
    assert_eq!(checkpointed(&Disk, dir.path()), None, "the same words, salted anew");
    assert!(log.exists());
}

#[test]
fn a_checkpoint_from_before_its_last_segment_was_rewritten_is_not_believed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache/checkpoint");
    let store = LogStore::open_with(dir.path(), eager()).unwrap();
    perform(&store, &Request::Append("a", vec![draft(1, 100)])).unwrap();
    drop(store);
    let before = fs::read(&path).unwrap();
    // After the checkpoint, in the same segment: something that a vacuum leaves out.
    let store = LogStore::open_with(dir.path(), eager()).unwrap();
    let pins = [true, false].map(|pinned| Event::Pin { node: node(1), pinned });
    perform(&store, &Request::Record("a", pins.to_vec())).unwrap();
    pollster::block_on(store.seal()).unwrap();
    assert_eq!(store.vacuum(VacuumOptions::default(), &()).unwrap().dropped, 1);
    drop(store);
    fs::write(&path, before).unwrap();
    assert_eq!(checkpointed(&Disk, dir.path()), None);
    assert_eq!(LogStore::open_read_only(dir.path()).unwrap().report().damage, []);
}

#[test]
fn an_end_that_the_checkpoint_knows_of_is_missed_after_the_machine_was_started_anew() {
    type Wreck = fn(&Path);
    let wrecks: [(&str, Wreck); 4] = [
        ("cut", |last| {
            let bytes = fs::read(last).unwrap();
            fs::write(last, &bytes[..bytes.len() - 40]).unwrap();
        }),
        ("zeros", |last| {
            let mut bytes = fs::read(last).unwrap();
            bytes[64..].fill(0);
            fs::write(last, bytes).unwrap();
        }),
        ("nothing but the header is left", |last| fs::write(last, &fs::read(last).unwrap()[..64]).unwrap()),
        ("the whole segment", |last| fs::remove_file(last).unwrap()),
    ];
    for (what, wreck) in wrecks {
        let dir = copy_of_sample();
        let forget = || drop(fs::remove_file(dir.path().join("HORIZON")));
        let is_missed = |store: &LogStore| {
            assert!(store.report().torn.is_none(), "{what}: {:?}", store.report());
            assert!(!store.report().damage.is_empty(), "{what}");
            drop(pollster::block_on(store.conversations()).unwrap());
            assert!(!store.shared.state().damage.is_empty(), "{what}");
            assert!(!pollster::block_on(store.verify(None)).unwrap().is_whole(), "{what}");
        };
        let last = fs::read_dir(dir.path().join("log")).unwrap().map(|entry| entry.unwrap().path()).max().unwrap();
        forget();
        wreck(&last);
        let report = crate::examine(dir.path(), &()).unwrap();
        assert!(!report.is_whole() && report.torn.is_none(), "{what}: {report:?}");
        for _ in 0..2 {
            let reader = LogStore::open_read_only(dir.path()).unwrap();
            is_missed(&reader);
            let store = LogStore::open(dir.path()).unwrap();
            is_missed(&store);
            // The reader reads everything again now that there is a HORIZON, and still reports the loss.
            is_missed(&reader);
            // Others report it while HORIZON is valid, and nothing is written over it.
            is_missed(&LogStore::open_read_only(dir.path()).unwrap());
            assert!(pollster::block_on(store.seal()).unwrap_err().is_damage(), "{what}");
            assert!(store.vacuum(VacuumOptions::default(), &()).unwrap_err().is_damage(), "{what}");
            drop(store);
            forget();
        }
        // To put an earlier log back on purpose, remove the files that record the later one.
        drop(LogStore::open(dir.path()).unwrap());
        forget();
        fs::remove_dir_all(dir.path().join("cache")).unwrap();
        for open in [LogStore::open, LogStore::open_read_only] {
            assert_eq!(open(dir.path()).unwrap().report().damage, [], "{what}");
        }
    }
}

#[test]
fn lossless_whatever_operation_of_checkpoints_the_power_fails_at() {
    let count = {
        let disk = empty_disk();
        let store = open_on(&disk);
        let before = disk.operations();
        sample()[..10].iter().for_each(|request| perform(&store, request).unwrap());
        drop(store);
        disk.operations() - before
    };
    for at in 0..count {
        for unsynced in [Unsynced::Lost, Unsynced::Kept, Unsynced::Mixed(at as u64)] {
            let disk = empty_disk();
            let store = open_on(&disk);
            disk.fail_after(at, Fault::PowerLoss);
            let done: Vec<_> =
                sample()[..10].iter().map_while(|r| perform(&store, r).is_ok().then(|| r.clone())).collect();
            drop(store);
            disk.power_cycle(unsynced);
            let store = open_on(&disk);
            assert!(store.report().damage.is_empty(), "operation {at}, {unsynced:?}");
            let now = shown(&store).unwrap();
            let with_next = &sample()[..(done.len() + 1).min(10)];
            let known = [shown(&model(&done)).unwrap(), shown(&model(with_next)).unwrap()];
            assert!(known.contains(&now), "operation {at}, {unsynced:?}");
            assert!(pollster::block_on(store.verify(None)).unwrap().is_whole());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_checkpoint_that_somebody_changed_is_rebuilt(at in any::<Index>(), bit in 0u8..8, cut in any::<bool>()) {
        let dir = copy_of_sample();
        let path = dir.path().join("cache/checkpoint");
        let mut bytes = fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= 1 << bit;
        }
        fs::write(&path, bytes).unwrap();
        prop_assert_eq!(checkpointed(&Disk, dir.path()), None);
        let store = LogStore::open_with(dir.path(), eager()).unwrap();
        prop_assert!(shown(&store).unwrap() == shown(&model(&requests())).unwrap());
        perform(&store, &Request::Append("c", vec![draft(2, 3_000)])).unwrap();
        drop(store);
        prop_assert!(checkpointed(&Disk, dir.path()).is_some(), "the next one fits again");
    }

    /// With the checksum made right again: nonsense may be believed or not, but it never panics or fills the memory.
    #[test]
    fn a_forged_checkpoint_never_panics(changes in prop::collection::vec((any::<Index>(), any::<u8>()), 1..6)) {
        let dir = copy_of_sample();
        let path = dir.path().join("cache/checkpoint");
        let mut bytes = fs::read(&path).unwrap();
        let end = bytes.len() - 4;
        for (at, byte) in changes {
            bytes[at.index(end)] = byte;
        }
        let crc = crc32c::crc32c(&bytes[..end]);
        bytes[end..].copy_from_slice(&crc.to_le_bytes());
        fs::write(&path, bytes).unwrap();
        let store = LogStore::open_read_only(dir.path()).unwrap();
        pollster::block_on(async {
            for state in store.conversations().await.unwrap() {
                let all = memory_core::NodeRange::first_n(1 << 30).unwrap();
                drop(store.nodes(&state.id, all).await);
                drop(store.summaries(&state.id).await);
                drop(store.outline(&state.id).await);
            }
            assert!(store.verify(None).await.is_ok());
        });
    }
}
