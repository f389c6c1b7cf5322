//! Backups of stores that are written to, on disks that fail, and stores made of them again.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use memory_core::port::{Event, Store, StoreError};

use super::{
    sample::{Request, Shown, all, draft, id, model, perform, requests, shown, tiny_segments},
    wreck::{files_in, segment, store_id},
};
use crate::{
    BackupReport, CompressionOptions, LogStore, RescueError, VacuumOptions, check_backup, examine,
    log::{
        format::{
            frame::{FrameHeader, Payload, Place},
            segment::SEGMENT_HEADER,
        },
        media::{
            Disk, Media,
            sim::{Fault, SimDisk, Unsynced},
        },
        upkeep::backup::{backup_on, restore_on},
    },
    restore, salvage,
};

const STORE: &str = "/disk/store";
const BACKUP: &str = "/disk/backups/store";
const RESTORED: &str = "/disk/restored";

fn open(path: &Path) -> LogStore {
    LogStore::open_with(path, tiny_segments()).unwrap()
}

fn sample_store(path: &Path) -> LogStore {
    let store = open(path);
    requests().iter().for_each(|request| perform(&store, request).unwrap());
    store
}

fn verified(store: &LogStore) -> memory_core::port::Verification {
    pollster::block_on(store.verify(None)).unwrap()
}

/// The store that the backup makes.
fn restored(backup: &Path) -> (tempfile::TempDir, LogStore) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("restored");
    restore(backup, &path, &()).unwrap();
    let store = open(&path);
    assert!(store.report().damage.is_empty() && verified(&store).is_whole(), "{:?}", store.report());
    (dir, store)
}

#[test]
fn a_restored_store_is_the_one_that_was_backed_up() {
    let dir = tempfile::tempdir().unwrap();
    let (path, backup) = (dir.path().join("store"), dir.path().join("deep/down/backup"));
    let store = sample_store(&path);
    let report = store.backup(&backup, &()).unwrap();
    assert_eq!((report.files, report.bytes), (report.copied, report.copied_bytes));
    assert!(report.files > 4 && report.damage.is_empty(), "{report:?}");
    let check = check_backup(&backup, None, &()).unwrap();
    assert_eq!((check.files, check.bytes, check.damaged), (report.files, report.bytes, vec![]));
    let (copy, again) = restored(&backup);
    assert_eq!(shown(&again).unwrap(), shown(&store).unwrap());
    assert_eq!(verified(&again), verified(&store));
    let format = |path: &Path| fs::read(path.join("FORMAT")).unwrap();
    assert_eq!(format(again.path()), format(&path), "it has the same name, so that its caches fit");
    // Both go on, each for itself.
    perform(&again, &Request::Append("a", vec![draft(21, 10)])).unwrap();
    perform(&store, &Request::Append("b", vec![draft(4, 10)])).unwrap();
    drop(copy);
}

#[test]
fn only_what_changed_is_copied_again() {
    let dir = tempfile::tempdir().unwrap();
    let (path, backup) = (dir.path().join("store"), dir.path().join("backup"));
    let store = sample_store(&path);
    let first = store.backup(&backup, &()).unwrap();
    let BackupReport { copied, removed, .. } = store.backup(&backup, &()).unwrap();
    assert_eq!((copied, removed), (0, 0), "nothing changed");

    perform(&store, &Request::Append("b", vec![draft(4, 10)])).unwrap();
    let grown = store.backup(&backup, &()).unwrap();
    assert_eq!((grown.files, grown.copied, grown.removed), (first.files, 1, 1), "the active segment alone");

    perform(&store, &Request::Append("b", (5..8).map(|n| draft(n, 2_000)).collect())).unwrap();
    perform(&store, &Request::Append("b", vec![draft(8, 10)])).unwrap();
    let rolled = store.backup(&backup, &()).unwrap();
    assert!(rolled.files > grown.files && rolled.copied <= rolled.files - grown.files + 1, "{rolled:?}");
    // A reopened store, and one that was only touched, has the same contents.
    drop(store);
    let store = open(&path);
    let mut touched = files_in(&path);
    touched.retain(|name, _| name.starts_with("log"));
    touched.iter().take(2).for_each(|(name, bytes)| fs::write(path.join(name), bytes).unwrap());
    assert_eq!(store.backup(&backup, &()).unwrap().copied, 0);
    assert_eq!(shown(&restored(&backup).1).unwrap(), shown(&store).unwrap());
    assert_eq!(
        check_backup(&backup, None, &()).unwrap().files,
        fs::read_dir(backup.join("files")).unwrap().count() as u64
    );
}

/// Commands of a person with a shell, as described in `docs/operations.md`.
#[test]
fn a_backup_is_restored_by_copying_files() {
    let dir = tempfile::tempdir().unwrap();
    let (path, backup, by_hand) = (dir.path().join("store"), dir.path().join("backup"), dir.path().join("by-hand"));
    let store = sample_store(&path);
    store.backup(&backup, &()).unwrap();
    fs::create_dir_all(by_hand.join("log")).unwrap();
    for file in fs::read_dir(backup.join("files")).unwrap().map(|entry| entry.unwrap().path()) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let stem = name.split_once('-').unwrap().0;
        let to = if stem == "FORMAT" { by_hand.join(stem) } else { by_hand.join(format!("log/{stem}.seg")) };
        fs::copy(&file, to).unwrap();
    }
    assert_eq!(shown(&open(&by_hand)).unwrap(), shown(&store).unwrap());
}

#[test]
fn a_backup_beside_writers_holds_all_that_was_acknowledged_before_it_began() {
    const WRITERS: usize = 4;
    let dir = tempfile::tempdir().unwrap();
    let (path, backup) = (dir.path().join("store"), dir.path().join("backup"));
    let store = Arc::new(open(&path));
    let stop = Arc::new(AtomicBool::new(false));
    let acknowledged: Arc<[AtomicUsize; WRITERS]> = Arc::default();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (store, stop, acknowledged) = (Arc::clone(&store), Arc::clone(&stop), Arc::clone(&acknowledged));
            let talk = id(&format!("talk-{writer}"));
            thread::spawn(move || {
                let mut number = 0;
                while !stop.load(Ordering::Relaxed) {
                    number += 1;
                    pollster::block_on(store.append(&talk, vec![draft(number, 150)])).unwrap();
                    acknowledged[writer].store(number, Ordering::Release);
                }
            })
        })
        .collect();
    let mut grew = 0;
    for _ in 0..8 {
        let before: Vec<_> = acknowledged.iter().map(|count| count.load(Ordering::Acquire)).collect();
        store.backup(&backup, &()).unwrap();
        let (_dir, copy) = restored(&backup);
        assert_eq!(copy.report().torn, None, "not half a write is in it");
        for (writer, before) in before.into_iter().enumerate() {
            let nodes = pollster::block_on(copy.nodes(&id(&format!("talk-{writer}")), all())).unwrap_or_default();
            assert!(nodes.len() >= before, "writer {writer}: {} of {before}", nodes.len());
            for (number, node) in (1..).zip(&nodes) {
                assert_eq!(node.message, draft(number, 150).message, "a prefix of what was written");
            }
            grew = grew.max(nodes.len());
        }
    }
    stop.store(true, Ordering::Relaxed);
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    assert!(grew > 8, "the store grew meanwhile");
}

fn disk_with_store() -> SimDisk {
    let disk = SimDisk::default();
    let media: &dyn Media = &disk;
    media.create_dir_all(Path::new("/disk")).unwrap();
    for dir in ["/", "/disk"] {
        media.sync_dir(Path::new(dir)).unwrap();
    }
    write(&disk, &requests()[..3]);
    disk
}

fn write(disk: &SimDisk, requests: &[Request]) {
    let store = LogStore::open_on(Arc::new(disk.clone()), Path::new(STORE), tiny_segments()).unwrap();
    requests.iter().for_each(|request| perform(&store, request).unwrap());
}

fn reader(disk: &SimDisk, path: &str) -> Result<LogStore, StoreError> {
    LogStore::open_read_only_on(Arc::new(disk.clone()), Path::new(path))
}

fn back_up(disk: &SimDisk) -> Result<BackupReport, RescueError> {
    let store = reader(disk, STORE)?;
    backup_on(disk, &store.shared, Path::new(BACKUP), &())
}

/// Contents of the backup; `None` when there is none.
fn held(disk: &SimDisk, name: &str) -> Option<Shown> {
    let target = PathBuf::from(format!("/disk/check/{name}"));
    match restore_on(disk, Path::new(BACKUP), &target, &()) {
        Ok(_) => {
            let store = reader(disk, target.to_str().unwrap()).unwrap();
            assert!(verified(&store).is_whole());
            Some(shown(&store).unwrap())
        }
        Err(RescueError::NotABackup { .. }) => None,
        Err(error) => panic!("neither the earlier backup nor the new one: {error}"),
    }
}

/// A disk with a store that has grown since it was backed up.
fn disk_with_backup() -> SimDisk {
    let disk = disk_with_store();
    back_up(&disk).unwrap();
    write(&disk, &requests()[3..]);
    disk
}

fn operations(disk: &SimDisk, run: impl FnOnce(&SimDisk)) -> usize {
    let before = disk.operations();
    run(disk);
    disk.operations() - before
}

#[test]
fn the_earlier_backup_or_the_new_one_is_there_whatever_operation_the_power_fails_at() {
    let (early, late) = (shown(&model(&requests()[..3])).unwrap(), shown(&model(&requests())).unwrap());
    let kinds = [Unsynced::Lost, Unsynced::Kept].into_iter().chain((0..3).map(Unsynced::Mixed));
    for unsynced in kinds {
        let mut outcomes = [0, 0, 0];
        for has_backup in [false, true] {
            let disk = || if has_backup { disk_with_backup() } else { disk_with_store() };
            let now = if has_backup { &late } else { &early };
            for at in 0..operations(&disk(), |disk| drop(back_up(disk).unwrap())) {
                let context = format!("power lost at operation {at}, {unsynced:?}");
                let disk = disk();
                disk.fail_after(at, Fault::PowerLoss);
                // The removal of unneeded files may fail, because the backup is complete by then.
                let done = back_up(&disk).is_ok();
                disk.power_cycle(unsynced);
                match held(&disk, "after") {
                    None => {
                        assert!(!has_backup && !done, "{context}: the earlier backup is gone");
                        outcomes[0] += 1;
                    }
                    Some(held) if has_backup && held == early && !done => outcomes[1] += 1,
                    Some(held) => {
                        assert!(held == *now, "{context}: what was backed up is not what was written");
                        outcomes[2] += 1;
                    }
                }
                back_up(&disk).unwrap_or_else(|error| panic!("{context}: {error}"));
                assert!(held(&disk, "again").as_ref() == Some(now), "{context}: the next backup");
            }
        }
        assert!(outcomes.iter().all(|count| *count > 0), "every outcome is met: {outcomes:?}");
    }
}

#[test]
fn an_operation_that_fails_leaves_a_usable_backup_and_the_next_one_succeeds() {
    let (early, late) = (shown(&model(&requests()[..3])).unwrap(), shown(&model(&requests())).unwrap());
    for kind in [io::ErrorKind::Other, io::ErrorKind::StorageFull] {
        for at in 0..operations(&disk_with_backup(), |disk| drop(back_up(disk).unwrap())) {
            let context = format!("operation {at}: {kind:?}");
            let disk = disk_with_backup();
            disk.fail_after(at, Fault::Fail(kind));
            let outcome = back_up(&disk);
            let held_now = held(&disk, "after").unwrap();
            assert!(held_now == late || (outcome.is_err() && held_now == early), "{context}");
            back_up(&disk).unwrap_or_else(|error| panic!("{context}: {error}"));
            disk.power_cycle(Unsynced::Lost);
            assert!(held(&disk, "again").unwrap() == late, "{context}");
        }
    }
}

#[test]
fn a_restore_that_loses_power_leaves_a_whole_store_or_none() {
    let disk = disk_with_store();
    back_up(&disk).unwrap();
    let run = |disk: &SimDisk| restore_on(disk, Path::new(BACKUP), Path::new(RESTORED), &()).map(drop);
    let early = shown(&model(&requests()[..3])).unwrap();
    let operations = operations(&disk, |disk| run(disk).unwrap());
    for unsynced in [Unsynced::Lost, Unsynced::Kept, Unsynced::Mixed(1), Unsynced::Mixed(2)] {
        for at in 0..operations {
            let disk = disk_with_store();
            back_up(&disk).unwrap();
            disk.fail_after(at, Fault::PowerLoss);
            let done = run(&disk).is_ok();
            disk.power_cycle(unsynced);
            match reader(&disk, RESTORED) {
                Ok(store) => assert_eq!(shown(&store).unwrap(), early, "operation {at}, {unsynced:?}"),
                // FORMAT is written last: segments without it look like a store that lost it.
                Err(StoreError::NotAStore { .. } | StoreError::Damaged { .. }) => {
                    assert!(!done, "operation {at}, {unsynced:?}");
                }
                Err(error) => panic!("operation {at}, {unsynced:?}: {error}"),
            }
        }
    }
}

#[test]
fn a_damaged_backup_is_found_and_makes_no_store() {
    let dir = tempfile::tempdir().unwrap();
    let (path, backup) = (dir.path().join("store"), dir.path().join("backup"));
    let store = sample_store(&path);
    store.backup(&backup, &()).unwrap();
    for (name, bytes) in files_in(&backup) {
        let file = backup.join(&name);
        for wreck in 0..3 {
            let mut wrecked = bytes.clone();
            let middle = wrecked.len() / 2;
            match wreck {
                0 => wrecked[middle] ^= 1,
                1 => wrecked.truncate(middle),
                _ => wrecked.push(0),
            }
            fs::write(&file, wrecked).unwrap();
            match check_backup(&backup, None, &()) {
                Ok(check) => assert!(matches!(check.damaged.as_slice(), [(path, _)] if *path == file), "{check:?}"),
                Err(error) => assert!(error.is_damage() && name.ends_with("MANIFEST"), "{error}"),
            }
            let target = dir.path().join("restored");
            let error = restore(&backup, &target, &()).unwrap_err();
            assert!(matches!(&error, RescueError::DamagedBackup { path, .. } if *path == file), "{error}");
            assert!(!target.exists(), "nothing is made of it");
        }
        // Without the damaged file, the next backup makes the backup whole.
        fs::remove_file(&file).unwrap();
        store.backup(&backup, &()).unwrap();
        assert!(check_backup(&backup, None, &()).unwrap().damaged.is_empty());
    }
}

#[test]
fn damage_of_the_store_never_replaces_what_the_backup_holds_from_before() {
    let dir = tempfile::tempdir().unwrap();
    let (path, backup) = (dir.path().join("store"), dir.path().join("backup"));
    let store = sample_store(&path);
    let before = shown(&store).unwrap();
    store.backup(&backup, &()).unwrap();
    drop(store);
    let file = path.join(segment(2));
    let mut bytes = fs::read(&file).unwrap();
    bytes[64 + 52 + 20] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let store = LogStore::open_read_only(&path).unwrap();
    let error = store.backup(&backup, &()).unwrap_err();
    assert!(matches!(&error, RescueError::WouldLoseGood { path, offset: 64 } if *path == file), "{error}");
    assert_eq!(shown(&restored(&backup).1).unwrap(), before);
    // A backup elsewhere takes it as it is, and reports it.
    let elsewhere = store.backup(dir.path().join("elsewhere"), &()).unwrap();
    assert!(matches!(elsewhere.damage.as_slice(), [damage] if damage.path == file), "{elsewhere:?}");
}

#[test]
fn a_store_that_has_lost_a_segment_or_its_end_never_replaces_a_backup() {
    let cut_behind_a_frame: fn(&Path, &Path) = |path, file| {
        let bytes = fs::read(file).unwrap();
        let place = |offset| Place { store: store_id(&files_in(path)), segment: 2, offset };
        let (first, _) = FrameHeader::parse(&bytes[64..], &place(64)).unwrap();
        fs::write(file, &bytes[..64 + first.frame_bytes()]).unwrap();
    };
    type Wreck = Box<dyn Fn(&Path)>;
    let wrecks: [(&str, Wreck); 3] = [
        ("a segment in the middle", Box::new(|path| fs::remove_file(path.join(segment(2))).unwrap())),
        (
            "the last segment",
            Box::new(|path| {
                let last = files_in(path)
                    .into_keys()
                    .filter(|name| name.extension().is_some_and(|kind| kind == "seg"))
                    .max()
                    .unwrap();
                fs::remove_file(path.join(last)).unwrap();
            }),
        ),
        ("frames of a segment", Box::new(move |path| cut_behind_a_frame(path, &path.join(segment(2))))),
    ];
    for (what, wreck) in wrecks {
        let dir = tempfile::tempdir().unwrap();
        let (path, backup) = (dir.path().join("store"), dir.path().join("backup"));
        let store = sample_store(&path);
        let before = shown(&store).unwrap();
        store.backup(&backup, &()).unwrap();
        let held = files_in(&backup);
        drop(store);
        wreck(&path);
        let store = LogStore::open_read_only(&path).unwrap();
        let error = store.backup(&backup, &()).unwrap_err();
        assert!(error.is_damage() && error.to_string().contains("the backup holds"), "{what}: {error}");
        assert!(held == files_in(&backup), "{what}");
        assert_eq!(shown(&restored(&backup).1).unwrap(), before, "{what}");
        let elsewhere = store.backup(dir.path().join("elsewhere"), &()).unwrap();
        assert!(!elsewhere.damage.is_empty(), "{what}");
        assert!(!verified(&store).is_whole(), "{what}");
    }
}

#[test]
fn an_end_that_was_lost_before_the_machine_was_started_anew_never_replaces_a_backup() {
    let dir = tempfile::tempdir().unwrap();
    let (path, backup) = (dir.path().join("store"), dir.path().join("backup"));
    let store = LogStore::open(&path).unwrap();
    let say = |store: &LogStore, text| perform(store, &Request::Append("a", vec![draft(text, 10)])).unwrap();
    (1..=3).for_each(|text| say(&store, text));
    store.backup(&backup, &()).unwrap();
    drop(store);
    let file = path.join(segment(1));
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 40]).unwrap();
    fs::remove_file(path.join("HORIZON")).unwrap();
    let store = LogStore::open(&path).unwrap();
    assert!(store.report().torn.is_some() && verified(&store).is_whole(), "nothing tells of what is gone");
    say(&store, 4);
    let error = store.backup(&backup, &()).unwrap_err();
    assert!(matches!(&error, RescueError::WouldLoseRecords { path } if *path == file), "{error}");
    assert_eq!(verified(&restored(&backup).1).nodes, 3);
    // A copy that has become damaged is nothing to be kept.
    let copy = files_in(&backup).into_keys().find(|name| name.to_string_lossy().contains(".seg")).unwrap();
    let mut bytes = fs::read(backup.join(&copy)).unwrap();
    bytes[100] ^= 1;
    fs::write(backup.join(&copy), bytes).unwrap();
    store.backup(&backup, &()).unwrap();
    assert_eq!(verified(&restored(&backup).1), verified(&store));
}

#[test]
fn a_damaged_store_is_backed_up_again_as_it_grows() {
    let dir = tempfile::tempdir().unwrap();
    let (path, backup) = (dir.path().join("store"), dir.path().join("backup"));
    let store = LogStore::open(&path).unwrap();
    for conversation in ["a", "b", "a", "b"] {
        perform(&store, &Request::Append(conversation, vec![draft(1, 10)])).unwrap();
    }
    drop(store);
    let file = path.join(segment(1));
    let mut bytes = fs::read(&file).unwrap();
    bytes[64 + 52 + 20] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let store = LogStore::open(&path).unwrap();
    for _ in 0..3 {
        let report = store.backup(&backup, &()).unwrap();
        assert!(matches!(report.damage.as_slice(), [damage] if damage.path == file), "{report:?}");
        perform(&store, &Request::Append("b", vec![draft(2, 10)])).unwrap();
    }
    store.backup(&backup, &()).unwrap();
    drop(store);
    // The rest of the backup is good, and is not given up.
    let held = files_in(&backup);
    bytes = fs::read(&file).unwrap();
    let last = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[last] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let store = LogStore::open_read_only(&path).unwrap();
    let error = store.backup(&backup, &()).unwrap_err();
    assert!(matches!(&error, RescueError::WouldLoseGood { .. }), "{error}");
    assert!(held == files_in(&backup));
}

#[test]
fn a_segment_that_was_rewritten_is_copied_anew() {
    let dir = tempfile::tempdir().unwrap();
    let (path, backup) = (dir.path().join("store"), dir.path().join("backup"));
    let store = sample_store(&path);
    store.backup(&backup, &()).unwrap();
    drop(store);
    let file = path.join(segment(1));
    // The same records in the same places, in other frames.
    let (bytes, id) = (fs::read(&file).unwrap(), store_id(&files_in(&path)));
    let mut rewritten = bytes[..SEGMENT_HEADER as usize].to_vec();
    while rewritten.len() < bytes.len() {
        let place = Place { store: id, segment: 1, offset: u32::try_from(rewritten.len()).unwrap() };
        let (header, records) = FrameHeader::parse(&bytes[rewritten.len()..], &place).unwrap();
        let mut payload = Payload::default();
        payload.push(records);
        payload.finish(&FrameHeader { durable: SEGMENT_HEADER, ..header }, &place, &mut rewritten);
    }
    assert_ne!(rewritten, bytes);
    fs::write(&file, rewritten).unwrap();
    let store = open(&path);
    let report = store.backup(&backup, &()).unwrap();
    assert_eq!((report.copied, report.removed, report.damage), (1, 1, vec![]));
    assert_eq!(shown(&restored(&backup).1).unwrap(), shown(&store).unwrap());
}

#[test]
fn a_vacuumed_and_compressed_store_is_backed_up_examined_and_salvaged() {
    let dir = tempfile::tempdir().unwrap();
    let (path, backup) = (dir.path().join("store"), dir.path().join("backup"));
    let store = sample_store(&path);
    perform(&store, &Request::Record("a", vec![Event::Title("another title".into())])).unwrap();
    store.backup(&backup, &()).unwrap();
    let compress = VacuumOptions::compress(CompressionOptions::default());
    let vacuumed = store.vacuum(compress, &()).unwrap();
    assert!(vacuumed.replaced > 0 && vacuumed.dropped > 0, "{vacuumed:?}");
    let report = store.backup(&backup, &()).unwrap();
    assert_eq!((report.copied, report.removed, report.damage), (vacuumed.replaced, vacuumed.replaced, vec![]));
    let (_dir, copy) = restored(&backup);
    assert_eq!((shown(&copy).unwrap(), verified(&copy)), (shown(&store).unwrap(), verified(&store)));
    assert!(examine(&path, &()).unwrap().is_whole());
    let target = dir.path().join("salvaged");
    assert!(salvage(&path, &target, &()).unwrap().target.is_whole());
    assert_eq!(verified(&open(&target)), verified(&store));
}

#[test]
fn a_backup_goes_to_a_directory_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let (path, backup) = (dir.path().join("store"), dir.path().join("backup"));
    let store = sample_store(&path);
    for inside in [path.clone(), path.join("cache/backup"), path.join("cache/../x")] {
        let error = store.backup(&inside, &()).unwrap_err();
        assert!(matches!(error, RescueError::Inside { .. }), "{error}");
    }
    store.backup(&backup, &()).unwrap();
    let other = sample_store(&dir.path().join("other"));
    assert!(matches!(other.backup(&backup, &()).unwrap_err(), RescueError::OtherStore { .. }));
    let full = other.backup(dir.path(), &()).unwrap_err();
    assert!(matches!(&full, RescueError::NotABackup { why, .. } if why.contains("it holds `")), "{full}");
    let held = crate::log::upkeep::backup::lock(&Disk, &backup).unwrap();
    assert!(matches!(store.backup(&backup, &()).unwrap_err(), RescueError::Busy { .. }));
    drop(held);
    store.backup(&backup, &()).unwrap();
    for (what, from, to) in
        [("no backup", dir.path(), dir.path().join("new")), ("no empty directory", &backup, dir.path().join("other"))]
    {
        assert!(restore(from, &to, &()).is_err(), "{what}");
    }
}
