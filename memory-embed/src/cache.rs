//! On-disk cache of vectors, keyed by a keyed hash of model and text.

mod derived;
mod embedder;
mod generation;

use std::{
    collections::HashSet,
    fmt,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use memory_core::ModelId;
use memory_files::{Links, open_with, seal::KeySet};

pub use self::embedder::CachedEmbedder;
use self::generation::{Check, Generation, size_of};
use crate::files::if_there;

/// The vectors of a text, one for each chunk.
type Vectors = Vec<Vec<f32>>;

/// Key of the vectors of a text by a model: a keyed hash of the text, by which the text can be forgotten for every
/// model, and a keyed hash of both.
type TextHash = [u8; 32];
/// The part of a [`TextHash`] that depends on the text alone.
type TextId = [u8; 16];

/// File that is appended to, and its predecessor.
const RECENT: &str = "recent";
const OLDER: &str = "older";
/// The holder of a lock on this file may write.
const LOCK: &str = "lock";

/// Maximum wait of forgetting for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(1);

/// Default limit in bytes: about 160,000 vectors of 384 components.
const DEFAULT_BYTES: u64 = 256 << 20;

/// Key of a cache: 32 secret random bytes, the same whenever the cache is opened.
///
/// Without the key nobody can test from the files whether a text was embedded.
#[derive(Clone, PartialEq, Eq)]
pub struct CacheKey([u8; 32]);

impl CacheKey {
    /// A key of these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Derives a key for one purpose, so that the same bytes can serve several purposes.
    fn derive(&self, purpose: &str) -> [u8; 32] {
        blake3::derive_key(purpose, &self.0)
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CacheKey(..)")
    }
}

/// Caches the vectors of texts in its own directory.
///
/// A hit returns exactly the vectors that the model computed. Vectors that are lost to damage or eviction are computed
/// again. A failing disk is logged once and disables the cache; it is not an error.
///
/// The cache does not know which conversation a text came from. As [`Derived`](memory_core::port::Derived) data it
/// forgets the texts that a request names, or everything if the request names none.
///
/// Two generations limit the size: vectors are appended to one file up to half of the allowed bytes; then it replaces
/// the older file. A hit in the older file is copied to the newer one, so that vectors in use stay. Several processes
/// may share one directory. `docs/format.md` describes the files.
#[derive(Debug)]
pub struct EmbeddingCache {
    directory: PathBuf,
    /// Key of the hashes of texts.
    text_key: [u8; 32],
    /// Key of the hashes of models and texts.
    hash_key: [u8; 32],
    /// Recognizes files of this key.
    check: Check,
    max_bytes: u64,
    writes: bool,
    files: Mutex<Generations>,
}

/// Files as last read.
#[derive(Debug, Default)]
struct Generations {
    recent: Option<Generation>,
    older: Option<Generation>,
    /// True after the first failure, so that it is logged once.
    failed: bool,
}

impl EmbeddingCache {
    /// A cache in `directory`, which need not exist. Does no IO.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, key: &CacheKey) -> Self {
        Self {
            directory: directory.into(),
            text_key: key.derive("memory-embed 2026 texts in a cache of embeddings whatever the model"),
            hash_key: key.derive("memory-embed 2026 digests of texts in a cache of embeddings"),
            check: Check {
                of_key: key.derive("memory-embed 2026 recognizes the key of a cache of embeddings"),
                keys: KeySet::default(),
            },
            max_bytes: DEFAULT_BYTES,
            writes: true,
            files: Mutex::default(),
        }
    }

    /// Sets the limit on bytes on disk. By default 256 MiB.
    #[must_use]
    pub const fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Encrypts the files with these keys, as the store of the cache is.
    #[must_use]
    pub fn encrypted_with(mut self, keys: KeySet) -> Self {
        self.check.keys = keys;
        self
    }

    /// Makes the cache read-only.
    #[must_use]
    pub const fn read_only(mut self) -> Self {
        self.writes = false;
        self
    }

    /// Removes all vectors, of every key and format. Waits a few seconds if another process is writing.
    ///
    /// # Errors
    /// If a file cannot be removed; `WouldBlock` if another process keeps writing.
    pub fn clear(&self) -> io::Result<()> {
        let mut files = self.files();
        if !self.directory.exists() {
            return Ok(());
        }
        let _lock = self.wait()?;
        *files = Generations::default();
        self.remove_leftovers()?;
        [RECENT, OLDER].iter().try_for_each(|name| remove(&self.path(name)))
    }

    /// Removes the vectors of these texts by every model; other vectors stay. Waits as [`clear`](Self::clear) does.
    /// After a crash each file is either unchanged or without them.
    ///
    /// # Errors
    /// If a file cannot be read or written; `WouldBlock` if another process keeps writing.
    pub fn forget(&self, texts: &[&str]) -> io::Result<()> {
        let gone: HashSet<TextId> = texts.iter().map(|text| self.text_id(text)).collect();
        let mut files = self.files();
        if gone.is_empty() || !self.directory.exists() {
            return Ok(());
        }
        let _lock = self.wait()?;
        self.remove_leftovers()?;
        *files = Generations::default();
        let mut generations = Vec::new();
        for path in [OLDER, RECENT].map(|name| self.path(name)) {
            match Generation::open(&path, &self.check)? {
                Some(mut generation) => {
                    generation.refresh()?;
                    generations.push((path, generation));
                }
                // The contents of this file are unknown and unused.
                None => remove(&path)?,
            }
        }
        let is_gone = |hash: &TextHash| gone.contains(&of_text(hash));
        let mut is_touched = false;
        for (_, generation) in &generations {
            is_touched |= generation.holds(is_gone) || !generation.is_whole()?;
        }
        if is_touched {
            // The older file is rewritten first, because other processes reread both files when the recent one is
            // replaced.
            for (path, generation) in &mut generations {
                generation.retain(&self.directory, path, &self.check, |hash| !is_gone(hash))?;
            }
        }
        File::open(&self.directory)?.sync_all()
    }

    /// Removes unfinished files of killed processes. The caller holds the lock.
    fn remove_leftovers(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            if entry.file_name().to_str().is_some_and(|name| name.starts_with(generation::PARTIAL)) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    fn text_id(&self, text: &str) -> TextId {
        of_text(blake3::keyed_hash(&self.text_key, text.as_bytes()).as_bytes())
    }

    fn hash(&self, model: &ModelId, text: &str) -> TextHash {
        let model = model.as_str();
        let mut hasher = blake3::Hasher::new_keyed(&self.hash_key);
        hasher.update(&(model.len() as u64).to_le_bytes()).update(model.as_bytes()).update(text.as_bytes());
        let mut hash = *hasher.finalize().as_bytes();
        hash.iter_mut().zip(self.text_id(text)).for_each(|(hash, of_text)| *hash = of_text);
        hash
    }

    /// Vectors under each hash, if they have this number of components.
    fn get(&self, hashes: &[TextHash], dimensions: usize) -> Vec<Option<Vectors>> {
        let mut files = self.files();
        if let Err(error) = self.reload(&mut files) {
            self.fail(&mut files, &error);
            return vec![None; hashes.len()];
        }
        let mut aged = Vec::new();
        let mut found = Vec::with_capacity(hashes.len());
        for hash in hashes {
            let Generations { recent, older, .. } = &mut *files;
            let mut vectors = recent.as_mut().and_then(|recent| recent.get(hash));
            if vectors.is_none() {
                vectors = older.as_mut().and_then(|older| older.get(hash));
                aged.extend(vectors.clone().map(|vectors| (*hash, vectors)));
            }
            found.push(vectors.filter(|vectors| vectors.iter().all(|vector| vector.len() == dimensions)));
        }
        self.write(&mut files, &aged);
        found
    }

    /// Stores vectors as far as there is room.
    fn put(&self, records: &[(TextHash, Vectors)]) {
        self.write(&mut self.files(), records);
    }

    fn files(&self) -> MutexGuard<'_, Generations> {
        // State that a panic left is compared with the disk before use.
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Updates the view of the files, which another process may have extended or replaced.
    fn reload(&self, files: &mut Generations) -> io::Result<()> {
        let recent = self.path(RECENT);
        let current = Generation::id_at(&recent, &self.check)?;
        if files.recent.as_ref().map(Generation::id) != current {
            let known = files.recent.take();
            let older = self.path(OLDER);
            let older_current = Generation::id_at(&older, &self.check)?;
            files.older = match known {
                Some(known) if Some(known.id()) == older_current => Some(known),
                _ => Generation::open(&older, &self.check)?,
            };
            files.recent = Generation::open(&recent, &self.check)?;
        }
        // The older file may have grown before it was replaced.
        [&mut files.recent, &mut files.older].into_iter().flatten().try_for_each(Generation::refresh)
    }

    fn write(&self, files: &mut Generations, records: &[(TextHash, Vectors)]) {
        let bytes: u64 = records.iter().map(|(_, vectors)| size_of(vectors)).sum();
        if !self.writes || files.failed || records.is_empty() || bytes > self.max_bytes / 2 {
            return;
        }
        if let Err(error) = self.try_write(files, records, bytes) {
            self.fail(files, &error);
        }
    }

    /// Opens the file whose lock is the right to write.
    fn lock(&self) -> io::Result<File> {
        memory_files::create_dir_all(&self.directory)?;
        memory_files::make_way(&self.path(LOCK))?;
        let mut options = memory_files::options();
        open_with(options.create(true).truncate(false).write(true), &self.path(LOCK), Links::Refuse)
    }

    /// Waits for the right to write, which is released when the file is closed.
    fn wait(&self) -> io::Result<File> {
        let (lock, start) = (self.lock()?, Instant::now());
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    fn try_write(&self, files: &mut Generations, records: &[(TextHash, Vectors)], bytes: u64) -> io::Result<()> {
        let lock = self.lock()?;
        match lock.try_lock() {
            Ok(()) => {}
            // Another process is writing. Only the work of embedding is lost.
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

    fn fail(&self, files: &mut Generations, error: &io::Error) {
        if !files.failed {
            let directory: &Path = &self.directory;
            tracing::warn!(directory = %directory.display(), %error, "the embedding cache cannot be used");
        }
        *files = Generations { failed: true, ..Generations::default() };
    }
}

/// The part of a hash that depends only on the text.
fn of_text(hash: &TextHash) -> TextId {
    hash.first_chunk().copied().unwrap_or_default()
}

/// Removes a file, if it is there.
fn remove(path: &Path) -> io::Result<()> {
    if_there(fs::remove_file(path)).map(drop)
}

#[cfg(test)]
mod tests;
