//! Turns of processes that write cache files of one directory.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use memory_files::{Links, open_dir};

/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(1);

/// The right to write to the files of a directory, held by one opening at a time. It ends with its process.
pub(super) struct Turn {
    _dir: File,
}

impl Turn {
    /// Waits for the right to write to the files of `dir`, which is made if it is missing; `None` when another process
    /// keeps the right.
    pub(super) fn wait(dir: &Path) -> io::Result<Option<Self>> {
        Self::within(dir, PATIENCE)
    }

    /// The right to write where no other process has it.
    pub(super) fn now(dir: &Path) -> io::Result<Option<Self>> {
        Self::within(dir, Duration::ZERO)
    }

    fn within(dir: &Path, patience: Duration) -> io::Result<Option<Self>> {
        memory_files::create_dir_all(dir)?;
        // The directory is locked, since its files are replaced now and then.
        let dir = open_dir(dir, Links::Refuse)?;
        let start = Instant::now();
        loop {
            match dir.try_lock() {
                Ok(()) => return Ok(Some(Self { _dir: dir })),
                Err(TryLockError::WouldBlock) if start.elapsed() < patience => thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}
