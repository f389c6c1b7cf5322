//! Encrypted stores: the tests of plain ones, keys, and changes between the two whatever fails in between.

use std::{io, path::Path, sync::Arc};

use memory_core::port::StoreError;

use super::{
    erasure::{self, bytes_of, check, erasures, holds},
    faults::{self, PATH, empty_disk, open, perform_all, without_checkpoint},
    sample::{Request, draft, model, perform, requests, shown, tiny_segments},
    vacuum,
};
use crate::{
    EncryptionChange, LogStore, MasterKey, VacuumOptions,
    log::{
        format::{
            frame::{FRAME_HEADER, FrameHeader, Payload, Place, StoreId, records},
            segment::SEGMENT_HEADER,
        },
        keys::{RING_FILE, SALTS_FILE},
        media::{
            Media,
            sim::{Fault, SimDisk, Unsynced},
        },
        store::tested::encrypted,
        upkeep::encrypt::change_on,
    },
};

/// Texts of the sample: of messages, summaries, views, notes, titles and tags, names and owners.
const TEXTS: [&str; 9] = [
    "message 5 x",
    "nodes 1 to 1",
    "what is in the first seven?",
    "before any message",
    "the title",
    "fork-of-a",
    "notes",
    "second",
    "sample",
];

pub(super) fn media(disk: &SimDisk) -> Arc<dyn Media> {
    Arc::new(disk.clone())
}

pub(super) fn key(byte: u8) -> MasterKey {
    MasterKey::from_bytes([byte; 32])
}

pub(super) fn open_with(disk: &SimDisk, key: Option<&MasterKey>) -> Result<LogStore, StoreError> {
    LogStore::open_whole(media(disk), Path::new(PATH), tiny_segments(), key)
}

pub(super) fn change(disk: &SimDisk, key: Option<&MasterKey>, change: &EncryptionChange) -> Result<(), StoreError> {
    change_on(&media(disk), Path::new(PATH), tiny_segments(), key, change, &()).map(drop)
}

/// The texts of the sample that stand in clear, and the file of each.
fn in_clear(disk: &SimDisk) -> Vec<(&'static str, String)> {
    let all = bytes_of(disk);
    let in_file = |text: &'static str| {
        let found = all.iter().filter(move |(_, bytes)| holds(bytes, text));
        found.map(move |(path, _)| (text, path.clone()))
    };
    TEXTS.into_iter().flat_map(in_file).collect()
}

#[test]
fn an_encrypted_store_shows_what_a_plain_one_does_and_nothing_is_in_clear() {
    let disk = empty_disk();
    let store = LogStore::open_keyed(media(&disk), Path::new(PATH), tiny_segments().encrypt(), Some(&key(1))).unwrap();
    let (other, reader) = (
        open_with(&disk, Some(&key(1))).unwrap(),
        LogStore::open_read_only_keyed(media(&disk), Path::new(PATH), Some(&key(1))).unwrap(),
    );
    perform_all(&store, &requests());
    for store in [&store, &other, &reader] {
        check(store, &requests(), "while it is open");
    }
    let more = [Request::Append("a", vec![draft(99, 10)]), Request::Append("new", vec![draft(1, 10)])];
    perform_all(&other, &more);
    let all = [requests(), more.to_vec()].concat();
    store.vacuum(VacuumOptions::default(), &()).unwrap();
    for store in [&store, &other, &reader] {
        check(store, &all, "after a vacuum");
    }
    drop((store, other, reader));
    check(&open_with(&disk, Some(&key(1))).unwrap(), &all, "by its checkpoint");
    without_checkpoint(&disk);
    check(&open_with(&disk, Some(&key(1))).unwrap(), &all, "without a checkpoint");
    assert_eq!(in_clear(&disk), []);
    assert!(!bytes_of(&disk).iter().any(|(_, bytes)| holds(bytes, "\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01")));
}

#[test]
fn a_key_that_is_missing_or_another_is_a_typed_error_that_changes_nothing() {
    let disk = empty_disk();
    let open_keyed = |options, key| LogStore::open_keyed(media(&disk), Path::new(PATH), options, key);
    assert!(matches!(open_keyed(tiny_segments().encrypt(), None), Err(StoreError::Key { .. })));
    assert!(bytes_of(&disk).is_empty(), "nothing is made without a key");
    perform_all(&open_keyed(tiny_segments().encrypt(), Some(&key(1))).unwrap(), &requests());
    let before = bytes_of(&disk);
    let passphrase = MasterKey::from_passphrase("correct horse");
    for (wrong, says) in [
        (None, "no key was given"),
        (Some(&key(2)), "not that of this store"),
        (Some(&passphrase), "locked by a key file"),
    ] {
        for opened in [
            open_with(&disk, wrong),
            LogStore::open_read_only_keyed(media(&disk), Path::new(PATH), wrong),
            change(&disk, wrong, &EncryptionChange::Decrypt).map(|()| unreachable!()),
        ] {
            let error = opened.err().unwrap_or_else(|| panic!("{wrong:?}"));
            assert!(matches!(error, StoreError::Key { .. }) && error.to_string().contains(says), "{error}");
        }
    }
    assert!(bytes_of(&disk) == before, "nothing was changed");
    check(&open_with(&disk, Some(&key(1))).unwrap(), &requests(), "with the right key");
    // A key is not used for a plain store, and a plain store is not taken for an encrypted one.
    let disk = empty_disk();
    perform_all(&open(&disk).unwrap(), &requests());
    check(&open_with(&disk, Some(&key(1))).unwrap(), &requests(), "plain");
    let refused = LogStore::open_keyed(media(&disk), Path::new(PATH), tiny_segments().encrypt(), Some(&key(1)));
    assert!(matches!(refused, Err(StoreError::Key { .. })));
}

#[test]
fn a_passphrase_opens_the_store_that_it_locked() {
    let disk = empty_disk();
    let right = MasterKey::from_passphrase("correct horse");
    let options = tiny_segments().encrypt();
    perform_all(&LogStore::open_keyed(media(&disk), Path::new(PATH), options, Some(&right)).unwrap(), &requests());
    check(&open_with(&disk, Some(&right)).unwrap(), &requests(), "with the passphrase");
    let wrong = MasterKey::from_passphrase("correct horsf");
    assert!(matches!(open_with(&disk, Some(&wrong)), Err(StoreError::Key { .. })));
    assert!(!bytes_of(&disk).iter().any(|(_, bytes)| holds(bytes, "correct horse")));
}

#[test]
fn equal_conversations_in_two_stores_give_no_equal_ciphertext() {
    let records = |byte| {
        let disk = empty_disk();
        let options = tiny_segments().encrypt();
        let store = LogStore::open_keyed(media(&disk), Path::new(PATH), options, Some(&key(byte))).unwrap();
        perform_all(&store, &requests());
        drop(store);
        let segments = bytes_of(&disk).into_iter().filter(|(path, _)| path.ends_with(".seg"));
        segments.map(|(_, bytes)| bytes).collect::<Vec<_>>().concat()
    };
    let (one, other) = (records(1), records(1));
    let pieces: std::collections::HashSet<&[u8]> = one.windows(16).filter(|piece| is_noise(piece)).collect();
    assert!(pieces.len() > 10_000);
    assert!(!other.windows(16).any(|piece| pieces.contains(piece)));
}

/// True for 16 bytes that are not headers and zeros.
fn is_noise(piece: &[u8]) -> bool {
    piece.iter().filter(|byte| **byte == 0).count() < 2
}

#[test]
fn the_tests_of_plain_stores_hold_for_encrypted_ones() {
    for test in [
        erasure::what_is_erased_is_unreadable_at_once_and_in_no_file_after_a_vacuum,
        erasure::a_store_that_was_not_vacuumed_opens_with_its_erasures,
        erasure::doctor_and_salvage_take_erased_messages_for_what_they_are,
        erasure::a_backup_after_an_erasure_holds_nothing_of_it,
        vacuum::messages_that_are_notes_become_notes,
    ] {
        encrypted(test);
    }
}

#[test]
fn encrypted_an_erasure_is_there_or_not_whatever_operation_of_it_fails() {
    encrypted(erasure::an_erasure_is_there_or_not_whatever_operation_of_it_fails_and_the_next_vacuum_completes_it);
}

#[test]
fn encrypted_lossless_whatever_operation_the_power_fails_at() {
    encrypted(faults::lossless_whatever_operation_the_power_fails_at);
}

#[test]
fn the_salt_of_what_was_erased_is_gone_before_its_record_and_the_log_reads_the_same() {
    encrypted(|| {
        let disk = empty_disk();
        let store = open(&disk).unwrap();
        perform_all(&store, &requests());
        let salts = || disk.contents(&Path::new(PATH).join(SALTS_FILE)).unwrap();
        let salts_before = salts();
        let before = store.erased_content().unwrap();
        perform_all(&store, &erasures()[requests().len()..]);
        let shredded = salts_before.chunks(24).zip(salts().chunks(24)).filter(|(before, now)| before != now).count();
        assert!(before == 0 && shredded > 15, "{shredded}");
        // Another process, which knows nothing of the log, reads what a vacuum would leave.
        drop(store);
        without_checkpoint(&disk);
        let store = open(&disk).unwrap();
        check(&store, &erasures(), "shredded");
        assert!(store.vacuum(VacuumOptions::default(), &()).unwrap().erased >= shredded as u64);
        check(&store, &erasures(), "and vacuumed");
        assert_eq!(store.erased_content().unwrap(), 0);
    });
}

/// Changes of a store's encryption, from a key and to one.
fn changes() -> Vec<(EncryptionChange, Option<MasterKey>, Option<MasterKey>)> {
    let (old, new) = (key(1), key(2));
    vec![
        (EncryptionChange::Encrypt, None, Some(old.clone())),
        (EncryptionChange::Decrypt, Some(old.clone()), None),
        (EncryptionChange::NewKeys, Some(old.clone()), Some(old.clone())),
        (EncryptionChange::NewMasterKey(new.clone()), Some(old), Some(new)),
    ]
}

/// A store with erasures that no vacuum has completed.
fn filled(disk: &SimDisk, key: Option<&MasterKey>) {
    let options = if key.is_some() { tiny_segments().encrypt() } else { tiny_segments() };
    let store = LogStore::open_keyed(media(disk), Path::new(PATH), options, key).unwrap();
    perform_all(&store, &erasures());
}

#[test]
fn a_store_is_encrypted_decrypted_and_given_new_keys_in_place() {
    for (what, from, to) in changes() {
        let disk = empty_disk();
        filled(&disk, from.as_ref());
        assert_eq!(in_clear(&disk).is_empty(), from.is_some(), "{what:?}");
        let segments = |disk: &SimDisk| disk.contents(&Path::new(PATH).join("log/0001.seg")).unwrap();
        let before = segments(&disk);
        // The key is that of before; to encrypt, the new one.
        change(&disk, from.as_ref().or(to.as_ref()), &what).unwrap_or_else(|error| panic!("{what:?}: {error}"));
        assert_eq!(in_clear(&disk).is_empty(), to.is_some(), "{what:?}: {:?}", in_clear(&disk));
        assert_eq!(before == segments(&disk), matches!(what, EncryptionChange::NewMasterKey(_)), "{what:?}");
        let there = Media::list(&disk, Path::new(PATH)).unwrap();
        assert_eq!(there.iter().any(|name| [RING_FILE, SALTS_FILE].contains(&name.as_str())), to.is_some());
        let store = open_with(&disk, to.as_ref()).unwrap_or_else(|error| panic!("{what:?}: {error}"));
        assert_eq!(store.is_encrypted(), to.is_some());
        check(&store, &erasures(), &format!("{what:?}"));
        if to != from {
            assert!(from.is_none() || open_with(&disk, from.as_ref()).is_err() || to.is_none(), "{what:?}");
        }
        let more = [Request::Append("a", vec![draft(99, 10)]), Request::Append("new", vec![draft(1, 10)])];
        perform_all(&store, &more);
        drop(store);
        without_checkpoint(&disk);
        check(&open_with(&disk, to.as_ref()).unwrap(), &[erasures(), more.to_vec()].concat(), &format!("{what:?}"));
    }
}

#[test]
fn a_change_of_keys_is_there_or_not_whatever_operation_of_it_fails_and_the_next_opening_completes_it() {
    for (what, from, to) in changes() {
        let given = from.as_ref().or(to.as_ref());
        let operations = {
            let disk = empty_disk();
            filled(&disk, from.as_ref());
            let before = disk.operations();
            change(&disk, given, &what).unwrap();
            disk.operations() - before
        };
        for at in 0..operations {
            for fault in [Fault::PowerLoss, Fault::Fail(io::ErrorKind::Other)] {
                let unsynced = [Unsynced::Lost, Unsynced::Kept, Unsynced::Mixed(at as u64)][at % 3];
                let context = format!("{what:?}: {fault:?} at operation {at} of {operations}, {unsynced:?}");
                let disk = empty_disk();
                filled(&disk, from.as_ref());
                disk.fail_after(at, fault);
                drop(change(&disk, given, &what));
                disk.power_cycle(unsynced);
                // One of the keys opens it; a plain store needs none.
                let opened = [to.as_ref(), from.as_ref(), given].into_iter().find_map(|key| open_with(&disk, key).ok());
                let store = opened.unwrap_or_else(|| panic!("{context}: no key opens it"));
                assert!(store.report().damage.is_empty(), "{context}: {:?}", store.report().damage);
                check(&store, &erasures(), &context);
                let is_encrypted = store.is_encrypted();
                drop(store);
                assert_eq!(in_clear(&disk).is_empty(), is_encrypted, "{context}: {:?}", in_clear(&disk));
                // The change goes on from any state.
                let key = [to.as_ref(), from.as_ref(), given].into_iter().find(|key| open_with(&disk, *key).is_ok());
                let store = open_with(&disk, key.unwrap()).unwrap();
                perform(&store, &Request::Append("a", vec![draft(99, 10)]))
                    .unwrap_or_else(|e| panic!("{context}: {e}"));
            }
        }
    }
}

#[test]
fn other_openings_follow_a_rotation_and_are_refused_after_encrypting_and_decrypting() {
    let disk = empty_disk();
    filled(&disk, Some(&key(1)));
    let (store, reader) = (
        open_with(&disk, Some(&key(1))).unwrap(),
        LogStore::open_read_only_keyed(media(&disk), Path::new(PATH), Some(&key(1))).unwrap(),
    );
    for what in [EncryptionChange::NewKeys, EncryptionChange::NewMasterKey(key(2))] {
        change(&disk, Some(&key(1)), &what).unwrap();
        perform(&store, &Request::Append("a", vec![draft(98, 10)])).unwrap();
        shown(&reader).unwrap();
    }
    let all = [erasures(), vec![Request::Append("a", vec![draft(98, 10)]); 2]].concat();
    check(&store, &all, "it went on");
    check(&reader, &all, "it followed");
    change(&disk, Some(&key(2)), &EncryptionChange::Decrypt).unwrap();
    let late = perform(&store, &Request::Append("a", vec![draft(97, 10)]));
    assert!(matches!(late, Err(StoreError::Key { .. })), "{late:?}");
    assert!(shown(&reader).is_err());
    drop((store, reader));
    let store = open_with(&disk, None).unwrap();
    check(&store, &all, "decrypted");
    change(&disk, Some(&key(3)), &EncryptionChange::Encrypt).unwrap();
    let late = perform(&store, &Request::Append("a", vec![draft(97, 10)]));
    assert!(matches!(late, Err(StoreError::Key { .. })), "{late:?}");
    drop(store);
    assert!(shown(&open_with(&disk, Some(&key(3))).unwrap()).unwrap() == shown(&model(&all)).unwrap());
    assert_eq!(in_clear(&disk), []);
}

#[test]
fn records_that_change_places_and_salts_that_are_lost_are_damage() {
    encrypted(|| {
        let disk = empty_disk();
        perform_all(&open(&disk).unwrap(), &[Request::Append("a", vec![draft(1, 10), draft(2, 10)])]);
        without_checkpoint(&disk);
        let path = Path::new(PATH).join("log/0001.seg");
        let whole = disk.contents(&path).unwrap();
        disk.put(&path, with_messages_swapped(&whole));
        assert!(!open(&disk).unwrap().report().damage.is_empty(), "two messages changed places");
        disk.put(&path, whole);
        assert!(open(&disk).unwrap().report().damage.is_empty());
        let salts = Path::new(PATH).join(SALTS_FILE);
        let length = disk.contents(&salts).unwrap().len();
        for lost in [vec![0; length], Vec::new()] {
            disk.put(&salts, lost);
            without_checkpoint(&disk);
            let store = LogStore::open_read_only_on(media(&disk), Path::new(PATH)).unwrap();
            assert!(!store.report().damage.is_empty(), "not taken for an erasure");
        }
    });
}

/// A segment in which the two messages of the first frame, of one length, stand in each other's place.
fn with_messages_swapped(segment: &[u8]) -> Vec<u8> {
    let store: StoreId = segment[16..32].try_into().unwrap();
    let place = Place { store, segment: 1, offset: SEGMENT_HEADER };
    let (header, payload) = FrameHeader::parse(&segment[SEGMENT_HEADER as usize..], &place).unwrap();
    let found: Vec<_> = records(payload).map(|record| record.unwrap().0).collect();
    let mut frame = Payload::default();
    for range in [&found[0], &found[2], &found[1]] {
        frame.push(&payload[range.start - FRAME_HEADER..range.end - FRAME_HEADER]);
    }
    let mut out = segment[..SEGMENT_HEADER as usize].to_vec();
    frame.finish(&header, &place, &mut out);
    out.resize(segment.len(), 0);
    out
}
