//! Failures of the file system as errors of the store.

use std::{
    io,
    path::{Path, PathBuf},
};

use memory_core::port::StoreError;

/// A failure that several callers receive.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    action: &'static str,
    path: PathBuf,
    kind: io::ErrorKind,
    why: String,
    /// True if any part of the write may be on disk.
    leaves_doubt: bool,
}

impl Failure {
    pub(crate) fn new(action: &'static str, path: &Path, source: &io::Error) -> Self {
        Self { action, path: path.to_owned(), kind: source.kind(), why: source.to_string(), leaves_doubt: false }
    }

    /// The same failure, after which it is unknown which part of the write is on disk.
    pub(crate) fn leaving_doubt(self) -> Self {
        Self { leaves_doubt: true, ..self }
    }

    /// True if no space was left and nothing was written, so that free space ends the failure.
    pub(crate) fn is_disk_full(&self) -> bool {
        is_full(self.kind) && !self.leaves_doubt
    }

    /// The cause as text.
    pub(crate) fn why(&self) -> String {
        format!("could not {} {}: {}", self.action, self.path.display(), self.why)
    }
}

impl From<&Failure> for StoreError {
    fn from(failure: &Failure) -> Self {
        if failure.is_disk_full() {
            return Self::DiskFull { place: (&failure.path).into() };
        }
        let source = io::Error::new(failure.kind, failure.why.clone());
        Self::Io { action: failure.action, place: (&failure.path).into(), source }
    }
}

/// Turns an error of the file system into one of the store.
pub(crate) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    move |source| {
        let place = path.into();
        if is_full(source.kind()) { StoreError::DiskFull { place } } else { StoreError::Io { action, place, source } }
    }
}

fn is_full(kind: io::ErrorKind) -> bool {
    // `FileTooLarge` is a limit of the process (`ulimit -f`) or of the file system.
    matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
}

/// A copy of the error for another caller.
pub(crate) fn repeated(error: &StoreError) -> StoreError {
    match error {
        StoreError::Locked { place, pid, host } => {
            StoreError::Locked { place: place.clone(), pid: *pid, host: host.clone() }
        }
        StoreError::DiskFull { place } => StoreError::DiskFull { place: place.clone() },
        StoreError::Poisoned { place, why } => StoreError::Poisoned { place: place.clone(), why: why.clone() },
        StoreError::Key { place, why } => StoreError::Key { place: place.clone(), why: why.clone() },
        StoreError::Damaged { place, why } => StoreError::Damaged { place: place.clone(), why: why.clone() },
        StoreError::Io { action, place, source } => {
            StoreError::Io { action, place: place.clone(), source: io::Error::new(source.kind(), source.to_string()) }
        }
        StoreError::NewerRecord { place, kind, version } => {
            StoreError::NewerRecord { place: place.clone(), kind: *kind, version: *version }
        }
        other => StoreError::Backend { backend: "log", source: other.to_string().into() },
    }
}

/// Fills `bytes` from the operating system's source of random numbers.
pub(crate) fn fill_random(bytes: &mut [u8]) -> Result<(), StoreError> {
    let failed =
        |error: getrandom::Error| StoreError::Backend { backend: "random number source", source: error.into() };
    getrandom::fill(bytes).map_err(failed)
}
