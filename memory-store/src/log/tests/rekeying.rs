//! Changes of a store's encryption at the same time, next to writers, and interrupted: nothing is lost.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use memory_core::port::{Progress, StoreError};

use super::{
    erasure::{check, erasures, holds},
    faults::perform_all,
    sample::{Request, draft, perform, requests, tiny_segments},
};
use crate::{EncryptionChange, EncryptionChanged, LogOptions, LogStore, MasterKey, VacuumOptions, change_encryption};

const OLD: MasterKey = MasterKey::from_bytes([1; 32]);
const NEW: MasterKey = MasterKey::from_bytes([2; 32]);
const ROUNDS: usize = 5;

fn options() -> LogOptions {
    tiny_segments().lock_timeout(Duration::from_secs(60))
}

/// Any of the keys that opens it, or none.
fn open(path: &Path) -> Result<LogStore, StoreError> {
    let opened = [Some(&OLD), Some(&NEW), None].map(|key| LogStore::open_encrypted(path, options(), key));
    let mut failed = None;
    for opened in opened {
        match opened {
            Ok(store) => return Ok(store),
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.unwrap())
}

fn filled(path: &Path, is_encrypted: bool) {
    let options = if is_encrypted { options().encrypt() } else { options() };
    perform_all(&LogStore::open_encrypted(path, options, is_encrypted.then_some(&OLD)).unwrap(), &requests());
}

/// Ends like a killed process after so many reports.
struct Killed(AtomicU64);

impl Progress for Killed {
    fn report(&self, _: u64, _: u64) {
        assert!(self.0.fetch_sub(1, Ordering::Relaxed) > 0, "killed");
    }
}

/// Makes a change, or is killed before it is complete.
fn change(path: &Path, what: &EncryptionChange, reports: u64) -> Option<Result<EncryptionChanged, StoreError>> {
    let progress = Killed(AtomicU64::new(reports));
    catch_unwind(AssertUnwindSafe(|| change_encryption(path, options(), Some(&OLD), what, &progress))).ok()
}

/// Appends until it is stopped, opening the store each time, and with one opening; returns how many were kept.
fn append(path: &Path, name: &'static str, stop: &AtomicBool) -> Vec<Request> {
    let mut kept = Vec::new();
    let mut store = None;
    while !stop.load(Ordering::Relaxed) {
        let request = Request::Append(name, vec![draft(kept.len(), 300)]);
        let open_one = store.take().map_or_else(|| open(path), Ok);
        let Ok(one) = open_one else { continue };
        match perform(&one, &request) {
            Ok(()) => {
                kept.push(request);
                store = (kept.len() % 3 > 0).then_some(one);
            }
            Err(StoreError::Key { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    kept
}

#[test]
fn changes_at_the_same_time_next_to_writers_and_killed_lose_nothing() {
    use EncryptionChange::{Decrypt, Encrypt, NewKeys, NewMasterKey};
    // Where a change is killed is drawn from a row of its own, the same each time.
    let mut drawn = 7u64;
    let mut draw = |below: u64| {
        drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (drawn >> 33) % below
    };
    for (one, other, is_encrypted) in [
        (NewKeys, NewKeys, true),
        (NewKeys, Decrypt, true),
        (NewKeys, NewMasterKey(NEW), true),
        (Decrypt, NewMasterKey(NEW), true),
        (Encrypt, Encrypt, false),
        (Decrypt, Decrypt, true),
    ] {
        for round in 0..ROUNDS {
            let context = format!("{one:?} and {other:?}, round {round}");
            let place = tempfile::tempdir().unwrap();
            let path = &place.path().join("store");
            filled(path, is_encrypted);
            let kills = [draw(40), draw(40)].map(|at| if round % 2 == 0 { u64::MAX } else { at });
            let (stop, start) = (AtomicBool::new(false), Barrier::new(3));
            let kept = thread::scope(|scope| {
                let appending = scope.spawn(|| {
                    start.wait();
                    append(path, "w", &stop)
                });
                let changing = [(&one, kills[0]), (&other, kills[1])].map(|(what, kill)| {
                    let start = &start;
                    scope.spawn(move || {
                        start.wait();
                        change(path, what, kill)
                    })
                });
                for ended in changing.map(|one| one.join().unwrap()) {
                    // Refused before it began, or done.
                    assert!(matches!(ended, None | Some(Ok(_) | Err(StoreError::Key { .. }))), "{context}: {ended:?}");
                }
                // Killed again, and then completed by the next opening.
                drop(change(path, &NewKeys, draw(40)));
                stop.store(true, Ordering::Relaxed);
                appending.join().unwrap()
            });
            let all = [requests(), kept].concat();
            let store = open(path).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert!(!store.shared.directory.keys.is_changing(), "{context}");
            check(&store, &all, &context);
            drop(store);
            std::fs::remove_dir_all(path.join("cache")).unwrap();
            check(&open(path).unwrap(), &all, &format!("{context}, without a checkpoint"));
        }
    }
}

#[test]
fn an_erasure_during_a_rotation_is_complete_and_so_is_the_rotation() {
    for round in 0..ROUNDS as u64 {
        let place = tempfile::tempdir().unwrap();
        let path = &place.path().join("store");
        filled(path, true);
        let start = Barrier::new(2);
        thread::scope(|scope| {
            let erasing = scope.spawn(|| {
                let store = open(path).unwrap();
                start.wait();
                thread::sleep(Duration::from_millis(4 * round));
                perform_all(&store, &erasures()[requests().len()..]);
                while matches!(store.vacuum(VacuumOptions::default(), &()), Err(StoreError::Locked { .. })) {
                    thread::sleep(Duration::from_millis(1));
                }
            });
            start.wait();
            change(path, &EncryptionChange::NewKeys, u64::MAX).unwrap().unwrap();
            erasing.join().unwrap();
        });
        let store = open(path).unwrap();
        check(&store, &erasures(), "erased");
        assert_eq!(store.erased_content().unwrap(), 0, "round {round}");
        assert_eq!(store.vacuum(VacuumOptions::default(), &()).unwrap().erased, 0, "round {round}");
    }
}

#[test]
fn a_writer_of_before_a_store_was_decrypted_and_encrypted_again_writes_nothing() {
    for new in [OLD, NEW] {
        let place = tempfile::tempdir().unwrap();
        let path = &place.path().join("store");
        filled(path, true);
        let late = open(path).unwrap();
        change(path, &EncryptionChange::Decrypt, u64::MAX).unwrap().unwrap();
        change_encryption(path, options(), Some(&new), &EncryptionChange::Encrypt, &()).unwrap();
        let refused = perform(&late, &Request::Append("a", vec![draft(99, 10)]));
        assert!(matches!(refused, Err(StoreError::Key { .. })), "{refused:?}");
        drop(late);
        check(&open(path).unwrap(), &requests(), "nothing was written");
    }
}

#[test]
fn an_interrupted_change_is_completed_by_the_same_command_and_others_wait_for_it() {
    let place = tempfile::tempdir().unwrap();
    let path = &place.path().join("store");
    filled(path, false);
    for what in [EncryptionChange::Encrypt, EncryptionChange::NewKeys, EncryptionChange::Decrypt] {
        assert!(change(path, &what, 3).is_none(), "{what:?} is killed");
        let again = change(path, &what, u64::MAX).unwrap().unwrap_or_else(|error| panic!("{what:?}: {error}"));
        assert_eq!(again, EncryptionChanged::Completed, "{what:?}");
        check(&open(path).unwrap(), &requests(), &format!("{what:?}"));
    }
    change(path, &EncryptionChange::Encrypt, u64::MAX).unwrap().unwrap();
    let holder = open(path).unwrap();
    let lease = holder.take_lease().unwrap();
    let before = std::fs::read(path.join("KEYRING")).unwrap();
    let at_once = options().lock_timeout(Duration::ZERO);
    let refused = change_encryption(path, at_once, Some(&OLD), &EncryptionChange::NewKeys, &());
    assert!(matches!(refused, Err(StoreError::Locked { .. })), "{refused:?}");
    assert_eq!(before, std::fs::read(path.join("KEYRING")).unwrap(), "nothing was touched");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| change(path, &EncryptionChange::NewKeys, u64::MAX));
        thread::sleep(Duration::from_millis(100));
        drop(lease);
        waiting.join().unwrap().unwrap().unwrap();
    });
    check(&holder, &requests(), "it waited");
}

#[test]
fn a_backup_that_is_made_during_rotations_opens_whole() {
    let place = tempfile::tempdir().unwrap();
    let path = &place.path().join("store");
    filled(path, true);
    let stop = AtomicBool::new(false);
    let store = open(path).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                change(path, &EncryptionChange::NewKeys, u64::MAX).unwrap().unwrap();
            }
        });
        for round in 0..ROUNDS {
            let (backup, restored) = (place.path().join("backup"), place.path().join(format!("restored-{round}")));
            while let Err(error) = store.backup(&backup, &()) {
                assert!(error.to_string().contains("try again"), "{error}");
            }
            crate::restore(&backup, &restored, &()).unwrap();
            check(&open(&restored).unwrap(), &requests(), "restored");
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// The files of the log that hold this text in clear.
fn in_clear(path: &Path, text: &str) -> Vec<PathBuf> {
    let files = ["log", "cache"].into_iter().flat_map(|dir| fs::read_dir(path.join(dir)).unwrap());
    let files = files.map(|file| file.unwrap().path()).filter(|file| file.is_file());
    files.filter(|file| holds(&fs::read(file).unwrap(), text)).collect()
}

/// The contents of the files of keys.
fn keys_of(path: &Path) -> [(PathBuf, Vec<u8>); 2] {
    ["KEYRING", "SALTS"].map(|name| path.join(name)).map(|file| (file.clone(), fs::read(file).unwrap()))
}

#[test]
fn files_of_keys_that_are_put_back_after_a_store_was_decrypted_open_nothing() {
    let place = tempfile::tempdir().unwrap();
    let path = &place.path().join("store");
    filled(path, true);
    let keys = keys_of(path);
    let put_back = || keys.iter().for_each(|(file, bytes)| fs::write(file, bytes).unwrap());
    change(path, &EncryptionChange::Decrypt, u64::MAX).unwrap().unwrap();
    put_back();
    check(&LogStore::open_with(path, options()).unwrap(), &requests(), "without a key");
    assert!(!keys[0].0.exists(), "no frame needs it");
    put_back();
    assert!(!in_clear(path, "message 5 x").is_empty());
    assert_eq!(change(path, &EncryptionChange::Encrypt, u64::MAX).unwrap().unwrap(), EncryptionChanged::Made);
    assert!(in_clear(path, "message 5 x").is_empty());
    check(&open(path).unwrap(), &requests(), "encrypted");
}

#[test]
fn a_program_of_before_another_master_key_and_new_keys_says_to_start_it_again() {
    let place = tempfile::tempdir().unwrap();
    let path = &place.path().join("store");
    filled(path, true);
    let late = open(path).unwrap();
    let more = Request::Append("a", vec![draft(99, 10)]);
    change(path, &EncryptionChange::NewMasterKey(NEW), u64::MAX).unwrap().unwrap();
    perform(&late, &more).unwrap();
    change_encryption(path, options(), Some(&NEW), &EncryptionChange::NewKeys, &()).unwrap();
    let refused = perform(&late, &more).unwrap_err();
    assert!(refused.to_string().contains("restart this program with that one"), "{refused}");
    drop(late);
    check(&open(path).unwrap(), &[requests(), vec![more]].concat(), "nothing was lost");
}
