//! The write lock, taken for each commit group, and the lease for background work.

use std::{
    io,
    path::{Path, PathBuf},
    process,
    sync::Arc,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use memory_core::{ConversationId, Hash, Timestamp, port::StoreError};

use crate::log::{
    failure::io_error,
    media::{Access, DirLock, Media, read_part},
    read::directory::{LEASE_FILE, LOCK_FILE},
};

/// The size of a holder's record in its file, padded with spaces.
const SIGNATURE_BYTES: usize = 384;
/// Directory of the turns that are answered, in that of the caches.
const TURNS: &str = "turns";
/// Pauses between two tries: the first and the longest.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(1);

/// The right to do background work on a store, held by one process at a time, until drop.
#[derive(Debug)]
pub(crate) struct HeldLease {
    lock: Lock,
}

impl HeldLease {
    /// Takes the lease of the store at `path`, waiting no longer than `at_most`.
    ///
    /// # Errors
    /// [`StoreError::Locked`] with the name of the process that has it.
    pub(crate) fn wait(media: &dyn Media, path: &Path, at_most: Duration) -> Result<Self, StoreError> {
        let lock = Lock::lease(media, path)?;
        lock.take(media, at_most, || ())?;
        lock.sign(media);
        Ok(Self { lock })
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        self.lock.release();
    }
}

/// The right to answer in a conversation, held by one agent at a time, until drop. A directory of that time is locked,
/// since the conversation itself has no file.
#[derive(Debug)]
pub(crate) struct HeldTurn {
    lock: Lock,
    media: Arc<dyn Media>,
}

impl HeldTurn {
    /// # Errors
    /// [`StoreError::Locked`] with the name of the process that answers.
    pub(crate) fn take(
        media: &Arc<dyn Media>,
        cache: &Path,
        conversation: &ConversationId,
    ) -> Result<Self, StoreError> {
        // A name of a conversation may be secret, or too long for a file.
        let dir = cache.join(TURNS).join(Hash::of_parts([conversation.as_str().as_bytes()]).to_string());
        loop {
            media.create_dir_all(&dir).map_err(io_error("create", &dir))?;
            let lock = match media.dir_lock(&dir) {
                // The turn before has just ended, and its directory with it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                lock => lock.map_err(io_error("lock", &dir))?,
            };
            let lock = Lock { lock, file: dir.join(LOCK_FILE), path: dir.clone() };
            if !lock.try_take()? {
                return Err(lock.held(&**media));
            }
            if lock.is_at(&dir) {
                lock.sign(&**media);
                return Ok(Self { lock, media: Arc::clone(media) });
            }
        }
    }
}

impl Drop for HeldTurn {
    fn drop(&mut self) {
        // A directory that stays is that of the next turn, or of an earlier process that was killed.
        drop(self.media.remove(&self.lock.file).and_then(|()| self.media.remove_dir(&self.lock.path)));
        self.lock.release();
    }
}

/// A lock on one of the store's directories, since nobody deletes these by mistake. The lock ends with its process.
#[derive(Debug)]
pub(crate) struct Lock {
    /// The store.
    path: PathBuf,
    lock: Box<dyn DirLock>,
    /// The file that names the holder.
    file: PathBuf,
}

impl Lock {
    /// The write lock of the store at `path`: a lock on its directory `log`.
    pub(crate) fn write(media: &dyn Media, path: &Path, log: &Path) -> Result<Self, StoreError> {
        Self::on(media, path, log, LOCK_FILE)
    }

    /// The lease of the store at `path`: a lock on the directory itself.
    pub(crate) fn lease(media: &dyn Media, path: &Path) -> Result<Self, StoreError> {
        Self::on(media, path, path, LEASE_FILE)
    }

    fn on(media: &dyn Media, path: &Path, dir: &Path, file: &str) -> Result<Self, StoreError> {
        let lock = media.dir_lock(dir).map_err(io_error("lock", dir))?;
        Ok(Self { path: path.to_owned(), lock, file: path.join(file) })
    }

    /// Takes the lock if it is free.
    pub(crate) fn try_take(&self) -> Result<bool, StoreError> {
        self.lock.try_lock().map_err(io_error("lock", &self.file))
    }

    /// Takes the lock, waiting for it no longer than `at_most`. Calls `waiting` from time to time meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Locked`] with the holder's name when it was not free in time.
    pub(crate) fn take(&self, media: &dyn Media, at_most: Duration, waiting: impl Fn()) -> Result<(), StoreError> {
        if self.try_take()? {
            return Ok(());
        }
        let mut tries = 0u32;
        let (start, mut pause) = (Instant::now(), FIRST_PAUSE);
        while !self.try_take()? {
            if start.elapsed() >= at_most {
                return Err(self.held(media));
            }
            if tries.is_multiple_of(4) {
                waiting();
            }
            tries = tries.wrapping_add(1);
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Ok(())
    }

    pub(crate) fn release(&self) {
        if let Err(error) = self.lock.unlock() {
            tracing::error!(path = %self.file.display(), %error, "a lock could not be let go");
        }
    }

    /// True if the locked directory still has this name.
    pub(crate) fn is_at(&self, dir: &Path) -> bool {
        self.lock.is_at(dir)
    }

    /// Records the holder of the lock. It is only informative, so failing to write it does no harm.
    pub(crate) fn sign(&self, media: &dyn Media) {
        let host = gethostname::gethostname();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let since = Timestamp::from_millis(i64::try_from(since).unwrap_or(i64::MAX));
        // The length is fixed, so that one write replaces the last holder's text.
        let text = format!("pid {}\nhost {}\nsince {since}\n", process::id(), host.to_string_lossy());
        let text = format!("{text:SIGNATURE_BYTES$}");
        let file = match media.open(&self.file, Access::Write) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => media.open(&self.file, Access::Create),
            file => file,
        };
        let written = file.and_then(|file| file.write_at(text.as_bytes(), 0));
        if let Err(error) = written {
            tracing::debug!(path = %self.file.display(), %error, "the holder of a lock is not written down");
        }
    }

    /// The error that names the holder.
    pub(crate) fn held(&self, media: &dyn Media) -> StoreError {
        let bytes = media.open(&self.file, Access::Read).and_then(|open| read_part(&*open, 0, SIGNATURE_BYTES as u64));
        let bytes = bytes.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        StoreError::Locked {
            place: (&self.path).into(),
            pid: field("pid").and_then(|pid| pid.parse().ok()).unwrap_or(0),
            host: field("host").unwrap_or("an unknown host").to_owned(),
        }
    }
}
