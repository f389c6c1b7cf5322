//! Vectors of texts that were embedded before, kept on disk under a keyed hash of the text.

mod embedder;
mod generation;

use std::{
    fmt,
    fs::{self, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use memory_core::ModelId;
use memory_files::{Links, open_with};

pub use self::embedder::CachedEmbedder;
use self::generation::{Generation, size_of};

/// The vectors of a text, one a chunk.
type Vectors = Vec<Vec<f32>>;

/// Stands for a model and a text.
type Digest = [u8; 32];

/// The file that is written to, and the one before it.
const RECENT: &str = "recent";
const OLDER: &str = "older";
/// Who holds a lock on this file may write.
const LOCK: &str = "lock";

/// What a cache holds if nothing is said: some 160,000 messages of 384 components each.
const DEFAULT_BYTES: u64 = 256 << 20;

/// The key of a cache: 32 secret random bytes, the same whenever the cache is opened.
///
/// Texts cannot be guessed from the files by whoever does not have it.
#[derive(Clone, PartialEq, Eq)]
pub struct CacheKey([u8; 32]);

impl CacheKey {
    /// The key of these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// A key for this use alone, so that the bytes may serve others too.
    fn derive(&self, use_of_it: &str) -> [u8; 32] {
        blake3::derive_key(use_of_it, &self.0)
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CacheKey(..)")
    }
}

/// Keeps the vectors of texts in a directory of its own.
///
/// Nothing depends on it: what it gives is what a model gave for the same text, bit for bit, and what it lost, through
/// damage or for want of room, is embedded again. A failing disk makes it forget, not fail; that is logged.
///
/// Room is bounded: vectors go to one file until that has half of the bytes allowed, which then takes the place of the
/// one before it. What is asked for in the older file is written to the newer one again, so that what is in use stays.
/// Several processes may use one directory. `docs/format.md` says what is in the files.
#[derive(Debug)]
pub struct EmbeddingCache {
    directory: PathBuf,
    digests: [u8; 32],
    check: Digest,
    max_bytes: u64,
    writes: bool,
    files: Mutex<Files>,
}

/// What is known of the files.
#[derive(Debug, Default)]
struct Files {
    recent: Option<Generation>,
    older: Option<Generation>,
    /// Set by the first failure, so that it is logged once.
    failed: bool,
}

impl EmbeddingCache {
    /// The cache in `directory`, which need not exist. Reads and writes nothing yet.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, key: &CacheKey) -> Self {
        Self {
            directory: directory.into(),
            digests: key.derive("memory-embed 2026 digests of texts in a cache of embeddings"),
            check: key.derive("memory-embed 2026 recognizes the key of a cache of embeddings"),
            max_bytes: DEFAULT_BYTES,
            writes: true,
            files: Mutex::default(),
        }
    }

    /// At most this many bytes on disk, 256 MiB by default.
    #[must_use]
    pub const fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Changes nothing on disk.
    #[must_use]
    pub const fn read_only(mut self) -> Self {
        self.writes = false;
        self
    }

    /// Forgets everything.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn clear(&self) -> io::Result<()> {
        let mut files = self.files();
        *files = Files::default();
        for name in [RECENT, OLDER] {
            match fs::remove_file(self.directory.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn digest(&self, model: &ModelId, text: &str) -> Digest {
        let model = model.as_str();
        let mut hasher = blake3::Hasher::new_keyed(&self.digests);
        hasher.update(&(model.len() as u64).to_le_bytes()).update(model.as_bytes()).update(text.as_bytes());
        hasher.finalize().into()
    }

    /// For each digest the vectors kept under it, if they have that many components.
    fn get(&self, digests: &[Digest], dimensions: usize) -> Vec<Option<Vectors>> {
        let mut files = self.files();
        if let Err(error) = self.reload(&mut files) {
            self.fail(&mut files, &error);
            return vec![None; digests.len()];
        }
        let mut aged = Vec::new();
        let mut found = Vec::with_capacity(digests.len());
        for digest in digests {
            let Files { recent, older, .. } = &mut *files;
            let mut vectors = recent.as_mut().and_then(|recent| recent.get(digest));
            if vectors.is_none() {
                vectors = older.as_mut().and_then(|older| older.get(digest));
                aged.extend(vectors.clone().map(|vectors| (*digest, vectors)));
            }
            found.push(vectors.filter(|vectors| vectors.iter().all(|vector| vector.len() == dimensions)));
        }
        self.write(&mut files, &aged);
        found
    }

    /// Keeps vectors, as far as there is room.
    fn put(&self, records: &[(Digest, Vectors)]) {
        self.write(&mut self.files(), records);
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        // Whatever a panic left is checked against the disk before it is believed.
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Learns what is in the files by now: another process may have written to them, or put others in their place.
    fn reload(&self, files: &mut Files) -> io::Result<()> {
        let recent = self.path(RECENT);
        let there = Generation::name(&recent, &self.check)?;
        if files.recent.as_ref().map(Generation::id) != there {
            let known = files.recent.take();
            let older = self.path(OLDER);
            let older_there = Generation::name(&older, &self.check)?;
            files.older = match known {
                Some(known) if Some(known.id()) == older_there => Some(known),
                _ => Generation::open(&older, &self.check)?,
            };
            files.recent = Generation::open(&recent, &self.check)?;
        }
        // The older file may still have grown before it became that.
        [&mut files.recent, &mut files.older].into_iter().flatten().try_for_each(Generation::refresh)
    }

    fn write(&self, files: &mut Files, records: &[(Digest, Vectors)]) {
        let bytes: u64 = records.iter().map(|(_, vectors)| size_of(vectors)).sum();
        if !self.writes || files.failed || records.is_empty() || bytes > self.max_bytes / 2 {
            return;
        }
        if let Err(error) = self.try_write(files, records, bytes) {
            self.fail(files, &error);
        }
    }

    fn try_write(&self, files: &mut Files, records: &[(Digest, Vectors)], bytes: u64) -> io::Result<()> {
        memory_files::create_dir_all(&self.directory)?;
        memory_files::make_way(&self.path(LOCK))?;
        let mut options = memory_files::options();
        let lock = open_with(options.create(true).truncate(false).write(true), &self.path(LOCK), Links::Refuse)?;
        match lock.try_lock() {
            Ok(()) => {}
            // Another process writes at this moment: what is lost is a little work.
            Err(TryLockError::WouldBlock) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        self.reload(files)?;
        if files.recent.as_ref().is_some_and(|recent| recent.end() + bytes > self.max_bytes / 2) {
            files.recent = None;
            fs::rename(self.path(RECENT), self.path(OLDER))?;
            files.older = Generation::open(&self.path(OLDER), &self.check)?;
        }
        let recent = match files.recent.take() {
            Some(recent) => recent,
            None => Generation::create(&self.directory, &self.path(RECENT), &self.check)?,
        };
        files.recent.insert(recent).append(records)
    }

    fn fail(&self, files: &mut Files, error: &io::Error) {
        if !files.failed {
            let directory: &Path = &self.directory;
            tracing::warn!(directory = %directory.display(), %error, "the cache of embeddings cannot be used");
        }
        *files = Files { failed: true, ..Files::default() };
    }
}

#[cfg(test)]
mod tests;
