//! Checkpoints of before an erasure or a change of encryption: gone once the erasure or the change is complete.

use std::{io, path::Path};

use memory_core::{
    Erasure, ErasureId, NodeRange, Timestamp,
    port::{Event, StoreError},
};

use super::{
    encryption::{change, key, media},
    erasure::{bytes_of, holds},
    faults::{PATH, empty_disk, perform_all},
    sample::{Request, draft, node, perform, tiny_segments},
};
use crate::{
    EncryptionChange, LogOptions, LogStore, MasterKey, VacuumOptions,
    log::{
        media::sim::{Fault, SimDisk, Unsynced},
        read::directory::read_format,
    },
};

const TITLE: &str = "a title of before";
const TAG: &str = "a-tag-of-before";
const NAME: &str = "a-name-of-before";

/// Options with which a checkpoint is written whenever the store is closed, and with which none is.
fn options(writes: bool) -> LogOptions {
    tiny_segments().checkpoint_bytes(if writes { 0 } else { u64::MAX })
}

fn opened(disk: &SimDisk, key: Option<&MasterKey>, writes: bool) -> LogStore {
    LogStore::open_whole(media(disk), Path::new(PATH), options(writes), key).unwrap()
}

/// A store whose title, tag and name stand in the log and in a checkpoint.
fn filled(key: Option<&MasterKey>) -> SimDisk {
    let disk = empty_disk();
    let made = if key.is_some() { options(true).encrypt() } else { options(true) };
    let store = LogStore::open_keyed(media(&disk), Path::new(PATH), made, key).unwrap();
    let labels = vec![Event::Title(TITLE.into()), Event::Tags(vec![TAG.into()])];
    let other = Request::Append("other", vec![draft(1, 900)]);
    perform_all(
        &store,
        &[Request::Append(NAME, vec![draft(1, 10), draft(2, 900)]), Request::Record(NAME, labels), other],
    );
    drop(store);
    assert!(disk.contents(&Path::new(PATH).join("cache/checkpoint")).is_some());
    disk
}

/// The files that hold the title, the tag or the name in clear.
fn in_clear(disk: &SimDisk, texts: &[&str]) -> Vec<String> {
    let files = bytes_of(disk).into_iter();
    files.filter(|(_, bytes)| texts.iter().any(|text| holds(bytes, text))).map(|(path, _)| path).collect()
}

fn erase_all() -> Request {
    let all = NodeRange::new(node(1), node(2)).unwrap();
    let erasure = Erasure::new(ErasureId::from_bytes([1; 16]), Timestamp::from_millis(7), vec![all]);
    Request::Record(NAME, vec![Event::Erased(Box::new(erasure.is_whole(true)))])
}

/// Faults at each operation of `run`, and after each of them a restart.
fn at_each_fault(
    key: Option<&MasterKey>,
    before: impl Fn(&SimDisk),
    run: impl Fn(&SimDisk) -> bool,
    check: impl Fn(&SimDisk, bool, &str),
) {
    let operations = {
        let disk = filled(key);
        before(&disk);
        let before = disk.operations();
        assert!(run(&disk));
        disk.operations() - before
    };
    for at in 0..operations {
        for fault in [Fault::PowerLoss, Fault::Fail(io::ErrorKind::StorageFull), Fault::Fail(io::ErrorKind::Other)] {
            let unsynced = [Unsynced::Lost, Unsynced::Kept, Unsynced::Mixed(at as u64)][at % 3];
            let disk = filled(key);
            before(&disk);
            disk.fail_after(at, fault);
            let is_done = run(&disk);
            disk.power_cycle(unsynced);
            check(&disk, is_done, &format!("{fault:?} at operation {at} of {operations}, {unsynced:?}"));
        }
    }
}

#[test]
fn a_change_that_is_complete_leaves_no_checkpoint_in_clear_whatever_operation_of_it_fails() {
    let texts = [TITLE, TAG, NAME];
    at_each_fault(
        None,
        |_| (),
        |disk| match change(disk, Some(&key(1)), &EncryptionChange::Encrypt) {
            Err(error) => {
                let is_begun = read_format(disk, Path::new(PATH)).unwrap().unwrap().is_encrypted;
                assert!(!is_begun || !error.to_string().contains("nothing was written"), "{error}");
                false
            }
            Ok(()) => true,
        },
        |disk, is_done, context| {
            assert!(!is_done || in_clear(disk, &texts).is_empty(), "{context}: {:?}", in_clear(disk, &texts));
            let store = opened(disk, Some(&key(1)), false);
            assert!(!store.is_encryption_changing(), "{context}");
            let is_encrypted = store.is_encrypted();
            drop(store);
            assert_eq!(in_clear(disk, &texts).is_empty(), is_encrypted, "{context}: {:?}", in_clear(disk, &texts));
        },
    );
}

#[test]
fn an_erasure_that_is_complete_leaves_no_checkpoint_of_before_whatever_operation_of_it_fails() {
    let texts = [TITLE, TAG];
    let vacuumed = |disk: &SimDisk| opened(disk, None, false).vacuum(VacuumOptions::default(), &()).is_ok();
    let erased = |disk: &SimDisk| perform_all(&opened(disk, None, false), &[erase_all()]);
    let is_done = |disk: &SimDisk| {
        LogStore::open_whole(media(disk), Path::new(PATH), options(false), None)
            .is_ok_and(|store| store.vacuum(VacuumOptions::default(), &()).is_ok())
    };
    at_each_fault(None, erased, is_done, |disk, is_done, context| {
        assert!(!is_done || in_clear(disk, &texts).is_empty(), "{context}: {:?}", in_clear(disk, &texts));
        assert!(vacuumed(disk), "{context}");
        assert_eq!(in_clear(disk, &texts), [""; 0], "{context}");
    });
}

#[test]
fn while_the_directory_of_caches_takes_no_change_neither_is_complete() {
    let cache = Path::new(PATH).join("cache");
    let disk = filled(None);
    disk.refuse(Some(&cache));
    let failed = change(&disk, Some(&key(1)), &EncryptionChange::Encrypt).unwrap_err();
    assert!(failed.to_string().contains("complete the change of encryption"), "{failed}");
    let store = opened(&disk, Some(&key(1)), false);
    assert!(store.is_encryption_changing());
    perform(&store, &Request::Append("other", vec![draft(2, 10)])).unwrap();
    drop(store);
    assert_eq!(in_clear(&disk, &[TITLE, TAG, NAME]), [cache.join("checkpoint").display().to_string()]);
    disk.refuse(None);
    let store = opened(&disk, Some(&key(1)), false);
    assert!(!store.is_encryption_changing());
    assert_eq!(in_clear(&disk, &[TITLE, TAG, NAME]), [""; 0]);

    let disk = filled(None);
    let store = opened(&disk, None, false);
    perform_all(&store, &[erase_all()]);
    disk.refuse(Some(&cache));
    for _ in 0..2 {
        let failed = store.vacuum(VacuumOptions::default(), &()).unwrap_err();
        assert!(matches!(failed, StoreError::Io { .. }), "{failed}");
    }
    disk.refuse(None);
    store.vacuum(VacuumOptions::default(), &()).unwrap();
    assert_eq!(in_clear(&disk, &[TITLE, TAG]), [""; 0]);
}

#[test]
fn a_process_that_fell_behind_writes_no_checkpoint() {
    let disk = filled(None);
    super::faults::without_checkpoint(&disk);
    let behind = opened(&disk, None, true);
    change(&disk, Some(&key(1)), &EncryptionChange::Encrypt).unwrap();
    drop(behind);
    assert_eq!(in_clear(&disk, &[TITLE, TAG, NAME]), [""; 0]);

    let disk = filled(None);
    super::faults::without_checkpoint(&disk);
    let (behind, store) = (opened(&disk, None, true), opened(&disk, None, false));
    perform_all(&store, &[erase_all()]);
    store.vacuum(VacuumOptions::default(), &()).unwrap();
    drop(behind);
    assert_eq!(in_clear(&disk, &[TITLE, TAG]), [""; 0]);
}

#[test]
fn opening_removes_what_killed_processes_left() {
    let disk = filled(Some(&key(1)));
    let plain = bytes_of(&filled(None)).into_iter().find(|(path, _)| path.ends_with("cache/checkpoint")).unwrap().1;
    let left = ["cache/checkpoint", "cache/checkpoint.next", "cache/checkpoint.0000000000000007.tmp", "FORMAT.tmp"];
    for name in left {
        disk.put(&Path::new(PATH).join(name), plain.clone());
    }
    drop(opened(&disk, Some(&key(1)), false));
    assert_eq!(in_clear(&disk, &[TITLE, TAG, NAME]), [""; 0]);
}
