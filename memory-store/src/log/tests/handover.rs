//! Remains of a failing writer, from which another goes on: nothing acknowledged may depend on them.

use std::{io, path::Path, sync::Arc};

use memory_core::port::{Store, StoreError};

use super::{
    faults::{PATH, empty_disk, open, operations, run},
    sample::{Request, all, draft, id, perform, requests, shown},
};
use crate::{
    LogOptions, LogStore,
    log::media::sim::{Fault, Unsynced},
};

fn say(store: &LogStore, number: usize, bytes: usize) -> Result<(), StoreError> {
    perform(store, &Request::Append("a", vec![draft(number, bytes)]))
}

#[test]
fn names_that_were_never_synced_are_before_anything_counts_on_them() {
    for at in 0..operations() {
        let context = format!("operation {at} fails");
        let disk = empty_disk();
        disk.fail_after(at, Fault::Fail(io::ErrorKind::Other));
        run(&disk);
        // The process ends here; the machine goes on, and another process opens the store and writes to it.
        let store = open(&disk).unwrap_or_else(|error| panic!("{context}: {error}"));
        perform(&store, &Request::Append("later", vec![draft(1, 10)])).unwrap();
        let should = shown(&store).unwrap();
        drop(store);
        disk.power_cycle(Unsynced::Lost);
        let store = open(&disk).unwrap_or_else(|error| panic!("{context}: {error}"));
        assert!(shown(&store).unwrap() == should, "{context}: {:?}", store.report());
    }
}

#[test]
fn a_full_disk_while_a_segment_gets_its_name_does_no_harm() {
    for at in 0..operations() {
        let disk = empty_disk();
        let Ok(store) = open(&disk) else { continue };
        disk.fail_after(at, Fault::Fail(io::ErrorKind::StorageFull));
        let is_full = |request| matches!(perform(&store, request), Err(StoreError::DiskFull { .. }));
        if !requests().iter().any(is_full) || say(&store, 1, 1).is_err() {
            continue;
        }
        let should = shown(&store).unwrap();
        drop(store);
        let store = open(&disk).unwrap();
        assert!(store.report().damage.is_empty(), "operation {at}: {:?}", store.report().damage);
        assert!(shown(&store).unwrap() == should, "operation {at}");
    }
}

#[test]
fn a_poisoned_writer_that_is_asked_again_harms_nobody() {
    let disk = empty_disk();
    let open = || LogStore::open_on(Arc::new(disk.clone()), Path::new(PATH), LogOptions::default()).unwrap();
    let (poisoned, two, three) = (open(), open(), open());
    say(&poisoned, 1, 30).unwrap();
    disk.fail_after(1, Fault::Fail(io::ErrorKind::Other));
    assert!((2..9).any(|number| say(&poisoned, number, 30).is_err()));
    say(&two, 20, 30).unwrap();
    say(&three, 30, 30).unwrap();
    for number in 21..26 {
        say(&two, number, 30).unwrap();
    }
    let nodes = |store: &LogStore| pollster::block_on(store.nodes(&id("a"), all())).unwrap().len();
    let before = nodes(&two);
    assert!(matches!(say(&poisoned, 9, 30), Err(StoreError::Poisoned { .. })));
    say(&three, 31, 30).unwrap();
    assert_eq!(nodes(&poisoned), before + 1, "it may still read");
    drop((poisoned, two, three));
    let store = open();
    assert!(store.report().damage.is_empty(), "{:?}", store.report().damage);
    assert_eq!(nodes(&store), before + 1);
}

#[test]
fn a_roll_over_that_failed_is_taken_over_by_a_writer_that_is_open_already() {
    for at in 0..12 {
        let disk = empty_disk();
        let (one, two) = (open(&disk).unwrap(), open(&disk).unwrap());
        say(&one, 1, 3_000).unwrap();
        disk.fail_after(at, Fault::Fail(io::ErrorKind::Other));
        if say(&one, 2, 1_500).is_ok() {
            continue;
        }
        disk.fail_after(usize::MAX / 2, Fault::PowerLoss);
        say(&two, 3, 10).unwrap();
        let should = shown(&two).unwrap();
        drop((one, two));
        let store = open(&disk).unwrap();
        assert!(store.report().damage.is_empty(), "operation {at}: {:?}", store.report().damage);
        assert!(shown(&store).unwrap() == should, "operation {at}");
    }
}
