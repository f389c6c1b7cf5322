//! Turns of processes that write cache files in one directory.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use memory_core::port::DerivedError;
use memory_files::{Links, open_dir};

/// Maximum wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(1);

/// The exclusive right to write files in a directory, released when the process ends.
pub(super) struct Turn {
    _dir: File,
}

impl Turn {
    /// Waits for the right to write in `dir`, which is created if missing; `None` if another process keeps it.
    pub(super) fn wait(dir: &Path) -> io::Result<Option<Self>> {
        Self::within(dir, PATIENCE)
    }

    /// The same as [`Self::wait`], but an error if another process keeps the right.
    pub(super) fn required(dir: &Path) -> Result<Self, DerivedError> {
        let place = dir.display().to_string();
        match Self::wait(dir) {
            Ok(turn) => turn.ok_or(DerivedError::Busy { place }),
            Err(source) => Err(DerivedError::io("lock", place, source)),
        }
    }

    /// The right to write, if no other process has it.
    pub(super) fn now(dir: &Path) -> io::Result<Option<Self>> {
        Self::within(dir, Duration::ZERO)
    }

    fn within(dir: &Path, patience: Duration) -> io::Result<Option<Self>> {
        memory_files::create_dir_all(dir)?;
        // The directory itself is locked, because its files may be replaced.
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
