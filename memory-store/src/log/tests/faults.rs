//! Stores on a disk that fails at its n-th operation, for every n.

use std::{
    io,
    path::Path,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use memory_core::port::{Store, StoreError};

use super::sample::{Request, all, draft, id, model, node, perform, requests, shown, tiny_segments};
use crate::{
    LogStore,
    log::{
        media::{
            Media,
            sim::{Fault, SimDisk, Unsynced},
        },
        write::lock::Lock,
    },
};

pub(super) const PATH: &str = "/disk/store";

pub(super) fn open(disk: &SimDisk) -> Result<LogStore, StoreError> {
    LogStore::open_on(Arc::new(disk.clone()), Path::new(PATH), tiny_segments())
}

pub(super) fn empty_disk() -> SimDisk {
    let disk = SimDisk::default();
    let media: &dyn Media = &disk;
    media.create_dir_all(Path::new("/disk")).unwrap();
    for dir in ["/", "/disk"] {
        media.sync_dir(Path::new(dir)).unwrap();
    }
    disk
}

pub(super) fn perform_all(store: &LogStore, requests: &[Request]) {
    for request in requests {
        perform(store, request).unwrap_or_else(|error| panic!("{request:?}: {error}"));
    }
}

pub(super) fn without_checkpoint(disk: &SimDisk) {
    drop(Media::remove(disk, &Path::new(PATH).join("cache/checkpoint")));
}

/// Fails each operation of `run`, which performs `changes` after `before` and returns how many were acknowledged. Those
/// hold afterwards, and one more may have come to disk; with the others performed again, `check` is called.
pub(super) fn fail_at_each_operation(
    [before, changes]: [&[Request]; 2],
    name: &str,
    run: impl Fn(&LogStore) -> usize,
    check: impl Fn(&LogStore, &SimDisk, &str),
) {
    let operations = {
        let disk = empty_disk();
        let store = open(&disk).unwrap();
        perform_all(&store, before);
        let before = disk.operations();
        run(&store);
        disk.operations() - before
    };
    for at in 0..operations {
        for fault in [Fault::PowerLoss, Fault::Fail(io::ErrorKind::Other)] {
            let unsynced = [Unsynced::Lost, Unsynced::Kept, Unsynced::Mixed(at as u64)][at % 3];
            let context = format!("{name}: {fault:?} at operation {at} of {operations}, {unsynced:?}");
            let disk = empty_disk();
            let store = open(&disk).unwrap();
            perform_all(&store, before);
            disk.fail_after(at, fault);
            let done = run(&store);
            drop(store);
            disk.power_cycle(unsynced);
            let store = open(&disk).unwrap_or_else(|error| panic!("{context}: {error:?}"));
            assert!(store.report().damage.is_empty(), "{context}: {:?}", store.report().damage);
            let is = |count: usize| {
                let requests = [before, &changes[..count]].concat();
                shown(&store).unwrap() == shown(&model(&requests)).unwrap()
            };
            let there = (done..=changes.len().min(done + 1)).find(|count| is(*count));
            let there = there.unwrap_or_else(|| panic!("{context}: neither {done} nor one more"));
            perform_all(&store, &changes[there..]);
            check(&store, &disk, &context);
        }
    }
}

#[test]
fn a_store_is_there_after_a_power_failure_however_many_directories_were_made_for_it() {
    for path in ["/made/for/store", "/store", "store", "made/store"] {
        let disk = SimDisk::default();
        let path = Path::new(path);
        let store = LogStore::open_on(Arc::new(disk.clone()), path, tiny_segments()).unwrap();
        perform(&store, &Request::Append("a", vec![draft(1, 10)])).unwrap();
        let before = shown(&store).unwrap();
        drop(store);
        disk.power_cycle(Unsynced::Lost);
        let store = LogStore::open_on(Arc::new(disk), path, tiny_segments()).unwrap();
        assert!(!store.report().created, "{}", path.display());
        assert_eq!(shown(&store).unwrap(), before, "{}", path.display());
    }
}

/// Makes a store at [`PATH`] on disks that fail at each operation of making it, and checks what a reader and the next
/// writer find, now and after the power is back.
fn fail_at_each_operation_of_making_a_store(empty_disk: impl Fn() -> SimDisk, fault: Fault) {
    let operations = {
        let disk = empty_disk();
        let before = disk.operations();
        open(&disk).unwrap();
        disk.operations() - before
    };
    assert!(operations > 10, "{operations}");
    let kinds = [Unsynced::Lost, Unsynced::Kept].into_iter().chain((0..8).map(Unsynced::Mixed));
    for (unsynced, at) in kinds.flat_map(|unsynced| (0..operations).map(move |at| (unsynced, at))) {
        let context = format!("{fault:?} at operation {at} of {operations}, {unsynced:?}");
        let disk = empty_disk();
        let read = || match LogStore::open_read_only_on(Arc::new(disk.clone()), Path::new(PATH)) {
            Ok(store) => assert!(store.report().damage.is_empty(), "{context}: {:?}", store.report().damage),
            Err(StoreError::NotAStore { .. }) => {}
            Err(error) => panic!("{context}: {error}"),
        };
        disk.fail_after(at, fault);
        let is_made = open(&disk).is_ok();
        read();
        disk.power_cycle(unsynced);
        read();
        let store = open(&disk).unwrap_or_else(|error| panic!("{context}: {error:?}"));
        assert!(store.report().damage.is_empty() && !(store.report().created && is_made), "{context}");
        perform(&store, &Request::Append("a", vec![draft(1, 10)])).unwrap();
        let left = Media::list(&disk, Path::new("/disk")).unwrap();
        assert_eq!(left, ["store"], "{context}: nothing is left over");
    }
}

/// A disk with an empty directory at [`PATH`].
fn empty_directory() -> SimDisk {
    let disk = empty_disk();
    let media: &dyn Media = &disk;
    media.create_dir_all(Path::new(PATH)).unwrap();
    media.sync_dir(Path::new("/disk")).unwrap();
    disk
}

/// The same, next to the directory of a process that lost power before it could rename it.
fn empty_directory_and_a_leftover() -> SimDisk {
    let disk = empty_disk();
    disk.fail_after(12, Fault::PowerLoss);
    open(&disk).unwrap_err();
    disk.power_cycle(Unsynced::Kept);
    let media: &dyn Media = &disk;
    assert_eq!(media.list(Path::new("/disk")).unwrap(), [".store.memory-new"]);
    media.create_dir_all(Path::new(PATH)).unwrap();
    media.sync_dir(Path::new("/disk")).unwrap();
    disk
}

#[test]
fn a_store_is_whole_or_not_there_whatever_operation_of_making_it_fails() {
    for fault in [Fault::PowerLoss, Fault::Fail(io::ErrorKind::Other), Fault::Fail(io::ErrorKind::StorageFull)] {
        fail_at_each_operation_of_making_a_store(empty_disk, fault);
        fail_at_each_operation_of_making_a_store(empty_directory, fault);
    }
    // A leftover that cannot be removed stays, and is harmless.
    fail_at_each_operation_of_making_a_store(empty_directory_and_a_leftover, Fault::PowerLoss);
}

/// Outcome of the requests: those that were acknowledged, and the first whose fate is not known.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    acknowledged: Vec<Request>,
    unknown: Option<Request>,
}

pub(super) fn run(disk: &SimDisk) -> Outcome {
    let mut outcome = Outcome::default();
    let Ok(store) = open(disk) else { return outcome };
    for request in requests() {
        match perform(&store, &request) {
            Ok(()) => {
                assert!(outcome.unknown.is_none(), "nothing is written after a failure that was no full disk");
                outcome.acknowledged.push(request);
            }
            // Nothing was written: neither this request nor those that build on it.
            Err(StoreError::DiskFull { .. }) => {}
            Err(StoreError::NoteConflict { .. } | StoreError::Invalid { .. }) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                let is_first = outcome.unknown.is_none();
                assert!(is_first || matches!(error, StoreError::Poisoned { .. }), "{error:?}");
                outcome.unknown.get_or_insert(request);
            }
        }
    }
    // The store shows exactly the acknowledged requests, at any failure.
    assert_eq!(shown(&store).unwrap(), shown(&model(&outcome.acknowledged)).unwrap());
    outcome
}

/// Checks that the store shows all acknowledged requests and no part of a request; returns the requests that it holds.
fn check(store: &LogStore, outcome: &Outcome, context: &str) -> Vec<Request> {
    assert!(store.report().damage.is_empty(), "{context}: {:?}", store.report().damage);
    let shown_now = shown(store).unwrap_or_else(|error| panic!("{context}: {error}"));
    let verified = pollster::block_on(store.verify(None)).unwrap();
    assert!(verified.is_whole(), "{context}: {:?}", verified.damage);
    let mut held = outcome.acknowledged.clone();
    if shown_now == shown(&model(&held)).unwrap() {
        return held;
    }
    held.extend(outcome.unknown.clone());
    assert_eq!(shown_now, shown(&model(&held)).unwrap(), "{context}");
    held
}

/// Operations of a run in which nothing fails.
pub(super) fn operations() -> usize {
    let disk = empty_disk();
    let before = disk.operations();
    let outcome = run(&disk);
    assert_eq!(outcome.acknowledged.len(), requests().len());
    disk.operations() - before
}

#[test]
pub(super) fn lossless_whatever_operation_the_power_fails_at() {
    let kinds = [Unsynced::Lost, Unsynced::Kept].into_iter().chain((0..4).map(Unsynced::Mixed));
    let operations = operations();
    for unsynced in kinds {
        for at in 0..operations {
            let context = format!("power lost at operation {at} of {operations}, {unsynced:?}");
            let disk = empty_disk();
            disk.fail_after(at, Fault::PowerLoss);
            let outcome = run(&disk);
            disk.power_cycle(unsynced);
            let store = open(&disk).unwrap_or_else(|error| panic!("{context}: {error:?}"));
            let held = check(&store, &outcome, &context);
            go_on(&store, held, &context);
        }
    }
}

#[test]
fn lossless_for_every_caller_of_a_group_that_loses_power() {
    const CALLERS: usize = 30;
    for at in 0..120 {
        let disk = empty_disk();
        let store = open(&disk).unwrap();
        disk.fail_after(at, Fault::PowerLoss);
        let a = id("a");
        let mut appends: Vec<_> = (0..CALLERS).map(|n| store.append(&a, vec![draft(n, n * 20)])).collect();
        // All are let in before the first answer is waited for, so that they share commit groups as the writer
        // thread finds them.
        let mut context = Context::from_waker(Waker::noop());
        let early: Vec<_> = appends.iter_mut().map(|append| append.as_mut().poll(&mut context)).collect();
        let answers = early.into_iter().zip(appends).map(|(early, append)| match early {
            Poll::Ready(answer) => answer,
            Poll::Pending => pollster::block_on(append),
        });
        let answers: Vec<_> = answers.map(|answer| answer.ok().map(|appended| appended[0].node)).collect();
        drop(store);

        disk.power_cycle(Unsynced::Mixed(at as u64));
        let store = open(&disk).unwrap();
        assert!(store.report().damage.is_empty(), "operation {at}: {:?}", store.report().damage);
        let nodes = pollster::block_on(store.nodes(&a, all())).unwrap_or_default();
        let texts: Vec<_> = nodes.iter().map(|node| node.message.text()).collect();
        for (caller, answer) in answers.iter().enumerate() {
            let text = draft(caller, caller * 20).message.text();
            let found: Vec<_> = (1..).zip(&texts).filter(|(_, there)| **there == text).map(|(n, _)| node(n)).collect();
            match answer {
                Some(number) => assert_eq!(found, [*number], "operation {at}, caller {caller}"),
                None => assert!(found.len() <= 1, "operation {at}, caller {caller}: written twice"),
            }
        }
        assert!(texts.len() <= CALLERS);
    }
}

/// The store takes the rest of the requests as if nothing had happened.
fn go_on(store: &LogStore, mut held: Vec<Request>, context: &str) {
    for request in requests().split_off(held.len()) {
        perform(store, &request).unwrap_or_else(|error| panic!("{context}: {error}"));
        held.push(request);
    }
    assert_eq!(shown(store).unwrap(), shown(&model(&held)).unwrap(), "{context}");
}

#[test]
fn lossless_when_the_power_fails_again_during_recovery() {
    for at in (0..operations()).step_by(3) {
        for again in 0..12 {
            let context = format!("power lost at operation {at}, and at {again} of reopening");
            let disk = empty_disk();
            disk.fail_after(at, Fault::PowerLoss);
            let outcome = run(&disk);
            disk.power_cycle(Unsynced::Mixed(at as u64));
            disk.fail_after(again, Fault::PowerLoss);
            // The contents must still be there afterwards, even if this opening fails.
            let seen = open(&disk).ok().map(|store| check(&store, &outcome, &context));
            disk.power_cycle(Unsynced::Mixed(again as u64));
            let store = open(&disk).unwrap_or_else(|error| panic!("{context}: {error:?}"));
            let held = check(&store, &outcome, &context);
            if let Some(seen) = seen {
                assert_eq!(held.len(), seen.len(), "{context}: what was read once stays");
            }
        }
    }
}

#[test]
fn a_failed_write_or_sync_poisons_the_store_until_it_is_reopened() {
    for at in 0..operations() {
        let context = format!("operation {at} fails");
        let disk = empty_disk();
        disk.fail_after(at, Fault::Fail(io::ErrorKind::Other));
        let outcome = run(&disk);
        // The page cache of the same kernel still has the bytes of the failed sync, as if they were written.
        let store = open(&disk).unwrap_or_else(|error| panic!("{context}: {error:?}"));
        let held = check(&store, &outcome, &context);
        drop(store);
        disk.power_cycle(Unsynced::Lost);
        let store = open(&disk).unwrap_or_else(|error| panic!("{context}: {error:?}"));
        let outcome = Outcome { acknowledged: held, unknown: None };
        let held = check(&store, &outcome, &format!("{context}, reopened, then a power loss"));
        go_on(&store, held, &context);
    }
}

#[test]
fn a_full_disk_leaves_the_log_intact_and_is_over_when_there_is_space() {
    let mut refused = 0;
    for at in 0..operations() {
        let context = format!("no space at operation {at}");
        let disk = empty_disk();
        disk.fail_after(at, Fault::Fail(io::ErrorKind::StorageFull));
        let outcome = run(&disk);
        refused += usize::from(outcome.unknown.is_none() && outcome.acknowledged.len() < requests().len());
        for unsynced in [Unsynced::Kept, Unsynced::Lost] {
            disk.power_cycle(unsynced);
            check(&open(&disk).unwrap(), &outcome, &context);
        }
    }
    assert!(refused > 10, "most often a full disk costs the request and no more; here {refused} times");
}

#[test]
fn a_read_only_directory_is_a_typed_error() {
    let mut refused = 0;
    for at in 0..10 {
        let disk = empty_directory();
        disk.fail_after(at, Fault::Fail(io::ErrorKind::ReadOnlyFilesystem));
        match open(&disk) {
            Err(StoreError::Io { .. }) => refused += 1,
            Err(error) => panic!("operation {at}: {error:?}"),
            // The failed operation would only have written down who holds the lock.
            Ok(_) => {}
        }
        open(&disk).unwrap_or_else(|error| panic!("after operation {at} failed: {error:?}"));
    }
    assert!(refused >= 7, "{refused}");
}

#[test]
fn who_holds_the_write_lock_for_too_long_is_named() {
    let disk = empty_disk();
    let options = tiny_segments().lock_timeout(Duration::from_millis(1));
    let store = LogStore::open_on(Arc::new(disk.clone()), Path::new(PATH), options).unwrap();
    let a = id("a");
    pollster::block_on(store.append(&a, vec![draft(1, 10)])).unwrap();

    let log = Path::new(PATH).join("log");
    let stuck = Lock::write(&disk, Path::new(PATH), &log).unwrap();
    stuck.take(&disk, Duration::from_secs(10), || ()).unwrap();
    stuck.sign(&disk);
    let opened = LogStore::open_on(Arc::new(disk.clone()), Path::new(PATH), options).unwrap_err();
    let appended = pollster::block_on(store.append(&a, vec![draft(2, 10)])).unwrap_err();
    for refused in [opened, appended] {
        let StoreError::Locked { pid, host, .. } = &refused else { panic!("{refused:?}") };
        assert!(*pid == std::process::id() && !host.is_empty());
        assert!(refused.is_retryable());
    }
    drop(stuck);
    let appended = pollster::block_on(store.append(&a, vec![draft(2, 10)])).unwrap();
    assert_eq!(appended[0].node, node(2), "a turned away message took no number");
}

#[test]
fn two_openings_write_in_turn_and_see_each_other() {
    let disk = empty_disk();
    let both = [open(&disk).unwrap(), open(&disk).unwrap()];
    let reader = LogStore::open_read_only_on(Arc::new(disk.clone()), Path::new(PATH)).unwrap();
    let mut done = Vec::new();
    for (request, writer) in requests().into_iter().zip(both.iter().cycle()) {
        perform(writer, &request).unwrap();
        done.push(request);
        let truth = shown(&model(&done)).unwrap();
        for store in both.iter().chain([&reader]) {
            assert_eq!(shown(store).unwrap(), truth);
        }
    }
    for store in both.iter().chain([&reader]) {
        assert!(pollster::block_on(store.verify(None)).unwrap().is_whole());
    }
    drop(both);
    assert_eq!(shown(&open(&disk).unwrap()).unwrap(), shown(&model(&done)).unwrap());
}

#[test]
fn what_a_writer_left_that_failed_is_taken_over_by_the_next() {
    for at in 0..operations() {
        let context = format!("operation {at} fails");
        let disk = empty_disk();
        let Ok(other) = open(&disk) else { panic!("{context}: nothing fails yet") };
        disk.fail_after(at, Fault::Fail(io::ErrorKind::Other));
        let mut outcome = run(&disk);
        disk.fail_after(usize::MAX / 2, Fault::PowerLoss);
        // The failed writer is gone. The other one was open all the time, and takes over the unfinished end.
        let takes_over = Request::Append("z", vec![draft(1, 10)]);
        perform(&other, &takes_over).unwrap_or_else(|error| panic!("{context}: {error}"));
        outcome.acknowledged.push(takes_over.clone());
        let held = check(&other, &outcome, &context);
        let rest = requests().split_off(held.len() - 1);
        rest.iter().for_each(|request| perform(&other, request).unwrap());

        let truth = shown(&model(&[requests(), vec![takes_over]].concat())).unwrap();
        let reader = LogStore::open_read_only_on(Arc::new(disk.clone()), Path::new(PATH)).unwrap();
        assert!(shown(&other).unwrap() == truth && shown(&reader).unwrap() == truth, "{context}");
        drop(other);
        disk.power_cycle(Unsynced::Lost);
        assert!(shown(&open(&disk).unwrap()).unwrap() == truth, "{context}");
    }
}

#[test]
fn a_store_at_rest_ends_with_its_last_frame() {
    let disk = empty_disk();
    run(&disk);
    let media: &dyn Media = &disk;
    let log = Path::new(PATH).join("log");
    let names = media.list(&log).unwrap();
    assert!(names.len() > 4, "the sample fills several segments: {names:?}");
    for name in names {
        let bytes = disk.contents(&log.join(&name)).unwrap();
        assert!(!bytes.ends_with(&[0; 16]), "{name}: zeros written ahead are cut off");
    }
}
