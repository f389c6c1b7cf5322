//! Backups that are made while a memory is open, also by a process that is killed.
#![expect(clippy::unwrap_used, reason = "whatever fails here fails a test")]

use std::{
    env,
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use memory::{
    Access, BackgroundWork, BackupError, Builder, Config, Message, OpenError, OwnerId, Timestamp, port::Clock,
};
use memory_core::port::{Source as _, Store as _};
use memory_store::{LogStore, backup_taken, check_backup, restore};
use pollster::block_on;

use crate::support::{Dir, wait_until};

const HOUR: i64 = 3_600_000;

/// A clock that a test sets.
#[derive(Debug)]
struct Hand(AtomicI64);

impl Hand {
    /// The system's time, some hours later.
    fn later(hours: i64) -> Arc<Self> {
        let now = Clock::now(&memory::port::SystemClock).as_millis();
        Arc::new(Self(AtomicI64::new(now + hours * HOUR)))
    }
}

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

fn backed_up(dir: &Dir, backup: &Path) -> Builder {
    Builder::of(Config::new(dir.store(), Access::Write).without_model().backup_directory(backup))
}

fn taken(backup: &Path) -> Option<Timestamp> {
    backup_taken(backup).unwrap()
}

#[test]
fn a_store_is_backed_up_while_it_is_open_and_not_again_before_it_is_due() {
    let dir = Dir::new();
    let backup = dir.beside("backup");
    let memory = backed_up(&dir, &backup).open().unwrap();
    wait_until("the first backup", || taken(&backup).is_some());
    drop(memory);
    let first = taken(&backup);
    assert!(check_backup(&backup, None, &()).unwrap().damaged.is_empty());

    let memory = backed_up(&dir, &backup).clock(Hand::later(23)).open().unwrap();
    block_on(memory.conversation("talk").unwrap().append(Message::user("Hi."))).unwrap();
    // Waits for what runs in the background.
    drop(memory);
    assert_eq!(taken(&backup), first, "it is due after 24 hours");

    let memory = backed_up(&dir, &backup).clock(Hand::later(24)).open().unwrap();
    wait_until("the second backup", || taken(&backup) > first);
    assert!(memory.failures().is_empty(), "{:?}", memory.failures());
    drop(memory);
    restore(&backup, dir.beside("restored"), &()).unwrap();
    let restored = LogStore::open_read_only(dir.beside("restored")).unwrap();
    assert_eq!(block_on(restored.conversations()).unwrap().len(), 1);
}

#[test]
fn no_backup_is_made_unless_a_directory_is_given() {
    let dir = Dir::new();
    let memory = dir.words().clock(Hand::later(1_000)).open().unwrap();
    block_on(memory.conversation("talk").unwrap().append(Message::user("Hi."))).unwrap();
    drop(memory);
    let beside: Vec<_> = dir.store().parent().unwrap().read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(beside, [dir.store()]);
}

#[test]
fn a_backup_that_fails_is_reported_and_stops_nothing() {
    let dir = Dir::new();
    let backup = dir.beside("backup");
    std::fs::write(&backup, "a file").unwrap();
    let memory = backed_up(&dir, &backup).open().unwrap();
    wait_until("the failure is reported", || {
        memory.failures().iter().any(|failure| failure.work == BackgroundWork::Backup)
    });
    let talk = memory.conversation("talk").unwrap();
    block_on(talk.append(Message::user("Hi."))).unwrap();
}

#[test]
fn a_backup_of_an_owner_and_one_inside_of_the_store_are_refused() {
    let dir = Dir::new();
    let config = Config::new(dir.store(), Access::Write).without_model();
    let of_owner = config.clone().owner(OwnerId::new("ana").unwrap()).backup_directory(dir.beside("backup"));
    let refused = |config| Builder::of(config).open().unwrap_err();
    assert!(matches!(refused(of_owner), OpenError::Backup(BackupError::OfOwner(_))));
    let inside = config.backup_directory(dir.store().join("backup"));
    assert!(matches!(refused(inside), OpenError::Backup(BackupError::InsideStore { .. })));
    assert!(!dir.store().exists(), "nothing is made");
}

/// Names the store and the directory of its backups to the child.
const STORE: &str = "MEMORY_TEST_BACKED_UP_STORE";
const BACKUP: &str = "MEMORY_TEST_BACKUP";

/// The process that is killed; nothing where the test below has not started it.
#[test]
fn append_and_back_up_until_killed() {
    let (Some(store), Some(backup)) = (env::var_os(STORE), env::var_os(BACKUP)) else { return };
    let clock = Hand::later(0);
    let config = Config::new(store, Access::Write).without_model().backup_directory(backup);
    loop {
        // Each opening makes a backup, which is due.
        clock.0.fetch_add(48 * HOUR, Ordering::Relaxed);
        let memory = Builder::of(config.clone()).clock(clock.clone()).open().unwrap();
        let talk = memory.conversation("talk").unwrap();
        for number in 0..200 {
            block_on(talk.append(Message::user(format!("message {number} {}", "word ".repeat(200))))).unwrap();
        }
    }
}

#[test]
fn a_process_that_is_killed_while_it_backs_up_leaves_a_whole_backup() {
    let dir = Dir::new();
    let backup = dir.beside("backup");
    for round in 0..4 {
        let mut before = taken(&backup);
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "backups::append_and_back_up_until_killed"])
            .env(STORE, dir.store())
            .env(BACKUP, &backup)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // After another number of them in each round, while the next one is on its way.
        for _ in 0..=round {
            wait_until("a backup is made", || taken(&backup) > before);
            before = taken(&backup);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let check = check_backup(&backup, None, &()).unwrap();
        assert!(check.damaged.is_empty(), "{:?}", check.damaged);
        let restored = dir.beside(&format!("restored-{round}"));
        restore(&backup, &restored, &()).unwrap();
        let restored = LogStore::open_read_only(&restored).unwrap();
        assert!(block_on(restored.verify(None)).unwrap().is_whole());
    }
    // The store goes on, and so do its backups.
    let before = taken(&backup);
    let memory = backed_up(&dir, &backup).clock(Hand::later(48)).open().unwrap();
    wait_until("the next backup", || taken(&backup) > before);
    assert!(memory.failures().is_empty(), "{:?}", memory.failures());
}
