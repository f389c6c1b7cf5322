//! Backups of encrypted stores: files of keys that open less never replace those that open more.

use std::{collections::BTreeMap, fs, path::Path};

use memory_core::port::StoreError;

use super::sample::{Request, draft, perform, requests, shown, tiny_segments};
use crate::{
    EncryptionChange, LogStore, MasterKey, RescueError, change_encryption, check_backup,
    log::keys::{RING_FILE, SALTS_FILE},
    restore,
};

const KEY: MasterKey = MasterKey::from_bytes([1; 32]);
const FORMAT: &str = "FORMAT";

/// A fault of the files of keys, made in a store.
type Fault = fn(&Path, &BTreeMap<&str, Vec<u8>>);

fn faults() -> [(&'static str, Fault); 10] {
    [
        ("salts cut", |store, _| cut(store, SALTS_FILE, 100)),
        ("salts cut behind the first", |store, _| cut(store, SALTS_FILE, 24 * 3)),
        ("salts of zeros", |store, _| fill_with_zeros(store, SALTS_FILE)),
        ("no salts", |store, _| fs::remove_file(store.join(SALTS_FILE)).unwrap()),
        ("salts of before", |store, before| put(store, before, SALTS_FILE)),
        ("a keyring of zeros", |store, _| fill_with_zeros(store, RING_FILE)),
        ("no keyring", |store, _| fs::remove_file(store.join(RING_FILE)).unwrap()),
        ("a keyring of before", |store, before| put(store, before, RING_FILE)),
        ("a format of before", |store, _| put_plain_format(store)),
        ("a format of before and no keys", |store, _| {
            put_plain_format(store);
            for name in [RING_FILE, SALTS_FILE] {
                fs::remove_file(store.join(name)).unwrap();
            }
        }),
    ]
}

fn cut(store: &Path, name: &str, length: u64) {
    fs::OpenOptions::new().write(true).open(store.join(name)).unwrap().set_len(length).unwrap();
}

fn fill_with_zeros(store: &Path, name: &str) {
    let length = fs::read(store.join(name)).unwrap().len();
    fs::write(store.join(name), vec![0; length]).unwrap();
}

fn put(store: &Path, before: &BTreeMap<&str, Vec<u8>>, name: &str) {
    fs::write(store.join(name), &before[name]).unwrap();
}

fn put_plain_format(store: &Path) {
    fs::copy(store.with_file_name("plain-format"), store.join(FORMAT)).unwrap();
}

fn open(path: &Path) -> LogStore {
    LogStore::open_encrypted(path, tiny_segments(), Some(&KEY)).unwrap()
}

/// A store that was encrypted, given new keys and written to since, and its files of keys of before that.
fn store(path: &Path) -> BTreeMap<&'static str, Vec<u8>> {
    let plain = LogStore::open_with(path, tiny_segments()).unwrap();
    requests().iter().for_each(|request| perform(&plain, request).unwrap());
    drop(plain);
    fs::copy(path.join(FORMAT), path.with_file_name("plain-format")).unwrap();
    let change = |what| change_encryption(path, tiny_segments(), Some(&KEY), &what, &()).unwrap();
    change(EncryptionChange::Encrypt);
    let before = [RING_FILE, SALTS_FILE].map(|name| (name, fs::read(path.join(name)).unwrap()));
    change(EncryptionChange::NewKeys);
    perform(&open(path), &Request::Append("a", vec![draft(98, 10), draft(99, 900)])).unwrap();
    before.into()
}

fn whole(backup: &Path) -> Result<bool, RescueError> {
    let checks = [Some(&KEY), None].map(|key| check_backup(backup, key, &()));
    let [with_key, without] = checks;
    Ok(with_key?.damaged.is_empty() && without?.damaged.is_empty())
}

#[test]
fn keys_that_open_less_never_replace_those_of_a_backup() {
    for (name, damage) in faults() {
        let dir = tempfile::tempdir().unwrap();
        let (path, backup) = (&dir.path().join("store"), &dir.path().join("backup"));
        let before = store(path);
        let writer = open(path);
        let content = shown(&writer).unwrap();
        writer.backup(backup, &()).unwrap();
        assert!(whole(backup).unwrap(), "{name}");
        damage(path, &before);
        // By a process that knows the keys, and by one that does not.
        let readers = [Some(&KEY), None].map(|key| LogStore::open_read_only_encrypted(path, key).ok());
        for one in [&writer].into_iter().chain(readers.iter().flatten()) {
            let Err(error) = one.backup(backup, &()) else { continue };
            assert!(error.is_damage() || matches!(error, RescueError::Store(StoreError::Io { .. })), "{name}: {error}");
        }
        assert!(whole(backup).unwrap(), "{name}");
        let restored = dir.path().join("restored");
        restore(backup, &restored, &()).unwrap();
        assert!(shown(&open(&restored)).unwrap() == content, "{name}");
    }
}

#[test]
fn a_backup_that_does_not_open_is_found_with_the_key_and_without() {
    for (name, damage) in faults() {
        let dir = tempfile::tempdir().unwrap();
        let (path, backup) = (&dir.path().join("store"), &dir.path().join("backup"));
        let before = store(path);
        let writer = open(path);
        damage(path, &before);
        let Ok(report) = writer.backup(backup, &()) else { continue };
        // Salts of before that were not used up are those of now.
        let is_named_plain = name.starts_with("a format of before");
        if is_named_plain {
            continue;
        }
        assert!(!report.damage.is_empty(), "{name}");
        assert!(!check_backup(backup, Some(&KEY), &()).unwrap().damaged.is_empty(), "{name}");
        assert!(!check_backup(backup, None, &()).unwrap().damaged.is_empty(), "{name}");
        // It replaces none, and is replaced by one that opens.
        assert!(writer.backup(backup, &()).is_ok(), "{name}: it opens no less");
    }
}

#[test]
fn the_backup_of_a_store_that_was_decrypted_has_no_keys() {
    let dir = tempfile::tempdir().unwrap();
    let (path, backup) = (&dir.path().join("store"), &dir.path().join("backup"));
    store(path);
    open(path).backup(backup, &()).unwrap();
    let another = MasterKey::from_bytes([9; 32]);
    assert!(matches!(check_backup(backup, Some(&another), &()), Err(RescueError::Store(StoreError::Key { .. }))));
    change_encryption(path, tiny_segments(), Some(&KEY), &EncryptionChange::Decrypt, &()).unwrap();
    LogStore::open(path).unwrap().backup(backup, &()).unwrap();
    assert!(whole(backup).unwrap());
    let names = fs::read_dir(backup.join("files")).unwrap().map(|file| file.unwrap().file_name());
    assert!(!names.into_iter().any(|name| name.to_string_lossy().starts_with(SALTS_FILE)));
}
