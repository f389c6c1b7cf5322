//! Encryption, decryption and new keys of a store in place, while others read and write it.
//!
//! First the keyring names the key for new frames, then a vacuum rewrites all others, then the keyring forgets the keys
//! that nothing needs. In between both kinds of frames can be read, and the next opening for writing completes the
//! change.

use std::{
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use memory_core::port::{Place, Progress, StoreError};
use memory_files::{DataFile, Links, seal::KeySet};

use super::vacuum::{VacuumOptions, vacuum};
use crate::log::{
    LogOptions,
    failure::io_error,
    format::{
        frame::{FrameKind, records},
        scan::{Found, Scan},
    },
    keys::{self, EncryptionChange, Keys, MasterKey, epoch_of, no_key},
    media::{Disk, Media},
    read::{
        directory::{CACHE, Directory, Format, LOG, read_format},
        watermark::{Durable, Watermark},
    },
    store::LogStore,
    write::{
        checkpointer,
        lock::{HeldLease, Lock},
        owned::needs_keys,
        shared::Shared,
    },
};

/// Longest wait for the write lock.
const PATIENCE: Duration = Duration::from_secs(60);
/// Most rounds of rewriting. The second finds all with one key, unless a process of before the change was writing.
const MOST_ROUNDS: usize = 32;
/// Directories of derived files, each encrypted as the log is.
const DERIVED: [&str; 8] =
    ["vectors", "vectors/graphs", "vectors/packs", "tokens", "tokens/packs", "words", "embeddings", "capture"];

/// Beginning of the name of a derived file that is being rewritten.
const NEW: &str = ".encrypt-";

/// Outcome of a change of encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncryptionChanged {
    /// The change was made.
    Made,
    /// The same change had been interrupted, and was completed.
    Completed,
}

/// Changes the encryption of the store in a directory, in place. After an interruption at any point the store opens
/// with its key, and the next opening for writing completes the change.
///
/// One process at a time changes a store's encryption, vacuums it or completes an erasure: this waits for the others,
/// as long as the options allow. An interrupted change of the same kind is completed instead of made twice.
///
/// Programs of this version that have the store open go on under new keys. If it was encrypted or decrypted, their next
/// call fails and asks them to open it again.
///
/// # Errors
/// [`StoreError::Key`] if the key is missing or wrong, or the store is encrypted already, or is not;
/// [`StoreError::Locked`] if another process was at work for too long: nothing was changed; and as for
/// [`LogStore::vacuum`].
pub fn change_encryption(
    path: impl AsRef<Path>,
    options: LogOptions,
    key: Option<&MasterKey>,
    change: &EncryptionChange,
    progress: &dyn Progress,
) -> Result<EncryptionChanged, StoreError> {
    change_on(&(Arc::new(Disk) as Arc<dyn Media>), path.as_ref(), options, key, change, progress)
}

pub(crate) fn change_on(
    media: &Arc<dyn Media>,
    path: &Path,
    options: LogOptions,
    key: Option<&MasterKey>,
    change: &EncryptionChange,
    progress: &dyn Progress,
) -> Result<EncryptionChanged, StoreError> {
    // The key is checked before anything is changed.
    let mut directory = Directory::open(&**media, path)?;
    directory.unlock(media, key)?;
    change_from(media, &directory, options.must_exist(), key, change, progress).map_err(|error| {
        let is_begun = |now: Format| {
            now.is_encrypted != directory.is_encrypted || now.is_encrypted && !keys::is_settled(&**media, path, now.id)
        };
        let format = read_format(&**media, path).ok().flatten();
        if format.is_some_and(is_begun) { undone(path, error) } else { error }
    })
}

/// Makes a change of the store in a directory whose keys are open.
fn change_from(
    media: &Arc<dyn Media>,
    directory: &Directory,
    options: LogOptions,
    key: Option<&MasterKey>,
    change: &EncryptionChange,
    progress: &dyn Progress,
) -> Result<EncryptionChanged, StoreError> {
    let path = &*directory.path;
    // The lease keeps other changes out until this one is complete.
    let _lease = HeldLease::wait(&**media, path, options.lock_timeout)?;
    let is_put_right = *change == EncryptionChange::Encrypt && put_right(media, directory, options, key)?;
    let mut store = LogStore::open_keyed(Arc::clone(media), path, options, key)?;
    if let Some(under_way) = store.shared.directory.keys.change_under_way() {
        if finish(&store, progress)? {
            drop(store);
            store = LogStore::open_keyed(Arc::clone(media), path, options, key)?;
        }
        if under_way == *change {
            return Ok(EncryptionChanged::Completed);
        }
    } else if is_put_right {
        return Ok(EncryptionChanged::Completed);
    }
    if let Some(damage) = store.shared.current()?.damage.first() {
        return Err(damage.clone().into());
    }
    let (shared, is_encrypted) = (&store.shared, store.is_encrypted());
    match change {
        EncryptionChange::Encrypt if is_encrypted => return Err(no_key(path, "it is encrypted already")),
        EncryptionChange::Encrypt => {
            let key = key.ok_or_else(|| keys::missing(path))?;
            locked(shared, || {
                let durable = caught_up(shared)?;
                Keys::create(media, path, shared.directory.id, key, true)?;
                Format { id: shared.directory.id, is_encrypted: true }.write(&**media, path)?;
                look_again(shared, durable);
                Ok(())
            })?;
            drop(store);
            store = LogStore::open_keyed(Arc::clone(media), path, options, Some(key))?;
        }
        _ if !is_encrypted => return Err(no_key(path, "it is not encrypted: `memory encrypt` encrypts it")),
        EncryptionChange::NewMasterKey(master) => {
            locked(shared, || shared.directory.keys.relock(master))?;
            return Ok(EncryptionChanged::Made);
        }
        EncryptionChange::NewKeys => locked(shared, || shared.directory.keys.begin_rotation())?,
        EncryptionChange::Decrypt => locked(shared, || shared.directory.keys.begin_decryption())?,
    }
    finish(&store, progress)?;
    Ok(EncryptionChanged::Made)
}

/// Rewrites a `FORMAT` that is older than the store's encryption with this key. The caller holds the lease.
fn put_right(
    media: &Arc<dyn Media>,
    Directory { path, id, is_encrypted, .. }: &Directory,
    options: LogOptions,
    key: Option<&MasterKey>,
) -> Result<bool, StoreError> {
    if *is_encrypted || !keys::is_there(&**media, path)? {
        return Ok(false);
    }
    let lock = Lock::write(&**media, path, &path.join(LOG))?;
    lock.take(&**media, options.lock_timeout, || ())?;
    let is_of_before = needs_keys(&**media, path, *id)?;
    if is_of_before {
        Keys::open(media, path, *id, key)?;
        Format { id: *id, is_encrypted: true }.write(&**media, path)?;
    }
    lock.release();
    Ok(is_of_before)
}

/// Completes a change that was begun, unless another process works on it. True if the store is no longer encrypted, and
/// must be opened again.
pub(crate) fn resume(store: &LogStore) -> Result<bool, StoreError> {
    let _lease = match store.shared_lease() {
        Err(StoreError::Locked { .. }) => return Ok(false),
        lease => lease?,
    };
    match finish(store, &()) {
        // The store is readable with its old and new keys. The old ones stay until the fault is mended.
        Err(error @ (StoreError::Damaged { .. } | StoreError::Io { .. } | StoreError::DiskFull { .. }))
            if is_encrypted(&store.shared)? =>
        {
            tracing::warn!(%error, "a change of the store's encryption is not complete");
            Ok(false)
        }
        // The store was decrypted, or encrypted again, before the lease was free.
        Err(error) if keys::must_open_again(&error) => Ok(true),
        finished => finished,
    }
}

/// Error of a fault on the disk that states that the change is half done. A full disk elsewhere means that nothing was
/// written.
fn undone(path: &Path, error: StoreError) -> StoreError {
    let (kind, why) = match &error {
        StoreError::DiskFull { place } => (io::ErrorKind::StorageFull, format!("no space left for {place}")),
        StoreError::Io { source, .. } => (source.kind(), format!("{error}: {source}")),
        _ => return error,
    };
    let why = format!("{why}; the store can be read, and the next program that opens it for writing goes on");
    StoreError::Io {
        action: "complete the change of encryption of",
        place: path.into(),
        source: io::Error::new(kind, why),
    }
}

/// Completes the change that is under way by the keyring. The caller holds the lease. True if the store is no longer
/// encrypted.
fn finish(store: &LogStore, progress: &dyn Progress) -> Result<bool, StoreError> {
    let shared = &*store.shared;
    let Directory { path, keys, .. } = &shared.directory;
    for _ in 0..MOST_ROUNDS {
        // The keyring is read again, since another process may have completed the change before the lease was free.
        locked(shared, || if is_encrypted(shared)? { keys.refresh_to_write() } else { Err(keys::changed(path)) })?;
        if !keys.is_changing() {
            return Ok(false);
        }
        let epoch = keys.current();
        pollster::block_on(store.seal())?;
        vacuum(shared, VacuumOptions::encrypted_with(epoch), progress)?;
        recode(&path.join(CACHE), &keys.files())?;
        checkpointer::renew(shared)?;
        let proven = proven(shared, epoch)?;
        if locked(shared, || settle(shared, epoch, proven))? {
            return Ok(epoch == 0);
        }
    }
    Err(no_key(
        path,
        "it is written to with another key again and again: no key was removed, and the next opening goes on",
    ))
}

/// Ends the change if all of the store has the key of this epoch. The caller holds the lease and the write lock, so
/// that nothing is written meanwhile.
fn settle(shared: &Shared, epoch: u32, proven: Option<(u64, u32)>) -> Result<bool, StoreError> {
    let Directory { path, id, keys, .. } = &shared.directory;
    let durable = caught_up(shared)?;
    let from = proven.filter(|(generation, _)| *generation == durable.generation).map_or(0, |(_, active)| active);
    keys.refresh_to_write()?;
    let is_under_way = is_encrypted(shared)? && keys.is_changing() && keys.current() == epoch;
    if !is_under_way || !conforms(shared, epoch, from)? || !all_coded(&path.join(CACHE), epoch)? {
        return Ok(false);
    }
    checkpointer::remove_others(&*shared.media, &shared.directory.cache(), epoch)?;
    if epoch == 0 {
        Format { id: *id, is_encrypted: false }.write(&*shared.media, path)?;
        keys::remove(&*shared.media, path)?;
    } else if !keys.settle(epoch)? {
        return Ok(false);
    }
    look_again(shared, durable);
    Ok(true)
}

/// True if the store is encrypted by the present `FORMAT`.
fn is_encrypted(shared: &Shared) -> Result<bool, StoreError> {
    Ok(read_format(&*shared.media, &shared.directory.path)?.is_some_and(|format| format.is_encrypted))
}

/// Applies what other processes wrote. The caller holds the write lock.
fn caught_up(shared: &Shared) -> Result<Durable, StoreError> {
    let _held = shared.hold_following();
    shared.catch_up_locked()
}

/// Makes every process look again at `FORMAT` and the keyring. The caller holds the write lock.
fn look_again(shared: &Shared, durable: Durable) {
    shared.tell(Durable { generation: durable.generation.wrapping_add(2), ..durable });
}

/// Calls `change` with the write lock held.
fn locked<T>(shared: &Shared, change: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let lock = Lock::write(&*shared.media, &shared.directory.path, &shared.directory.log())?;
    lock.take(&*shared.media, PATIENCE, || shared.watermark().into_iter().for_each(Watermark::want))?;
    lock.sign(&*shared.media);
    let changed = change();
    lock.release();
    changed
}

/// Generation, and number of the first segment that is not sealed, if all sealed ones have the key of this epoch.
/// Sealed segments change only with the generation, so they need not be read again under the write lock.
fn proven(shared: &Shared, epoch: u32) -> Result<Option<(u64, u32)>, StoreError> {
    let generation = shared.generation();
    let active = shared.state().cursor.end.segment;
    Ok(conforming(shared, epoch, 0..active)?.then_some((generation, active)))
}

/// True if all frames from a segment on have the key of this epoch.
fn conforms(shared: &Shared, epoch: u32, from: u32) -> Result<bool, StoreError> {
    conforming(shared, epoch, from..u32::MAX)
}

fn conforming(shared: &Shared, epoch: u32, numbers: Range<u32>) -> Result<bool, StoreError> {
    let (segments, end) = {
        let state = shared.state();
        (Arc::clone(&state.segments), state.cursor.end)
    };
    for segment in segments.iter().filter(|segment| numbers.contains(&segment.number())) {
        let mut image = segment.image().map_err(io_error("read", segment.path()))?;
        if segment.number() == end.segment {
            image.truncate(end.offset as usize);
        }
        for found in Scan::new(&image, shared.directory.id, segment.number(), true) {
            let (offset, why) = match found {
                Found::Frame { header, payload, .. } => {
                    let is_of = |body: &[u8]| [None, Some(epoch)].contains(&epoch_of(body));
                    let is_other = header.kind == FrameKind::Batch && header.key_epoch != epoch;
                    if is_other || !records(payload).flatten().all(|(_, body)| is_of(body)) {
                        return Ok(false);
                    }
                    continue;
                }
                Found::Damage { offset, why, .. } => (offset, why),
                Found::Torn { offset, .. } => (offset, "the segment ends within a frame"),
            };
            // Damage keeps all keys, since its salvage may need one that nothing else needs.
            let place = Place::from(segment.path()).offset(u64::from(offset));
            return Err(StoreError::Damaged { place, why: why.to_owned() });
        }
    }
    Ok(true)
}

/// Rewrites derived files that are not encrypted with the current key. One that cannot be read is removed, and rebuilt
/// later.
fn recode(cache: &Path, keys: &KeySet) -> Result<(), StoreError> {
    let is_left = |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(NEW));
    for path in derived(cache)?.iter().filter(is_left) {
        fs::remove_file(path).or_else(or_gone).map_err(io_error("remove", path))?;
    }
    for path in derived(cache)?.iter().filter(|path| DataFile::epoch_at(path) != Some(keys.current())) {
        let recoded = rewritten(path, keys).or_else(|error| {
            tracing::debug!(path = %path.display(), %error, "a derived file is removed, since it cannot be written again");
            fs::remove_file(path)
        });
        recoded.or_else(or_gone).map_err(io_error("encrypt", path))?;
    }
    Ok(())
}

/// True if all derived files have the key of this epoch.
fn all_coded(cache: &Path, epoch: u32) -> Result<bool, StoreError> {
    Ok(derived(cache)?.iter().all(|path| DataFile::epoch_at(path) == Some(epoch) || !path.exists()))
}

/// The derived files, without empty ones that only serve as locks.
fn derived(cache: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut paths = Vec::new();
    for dir in DERIVED.map(|dir| cache.join(dir)) {
        let entries = match fs::read_dir(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            listed => listed.map_err(io_error("list", &dir))?,
        };
        for entry in entries {
            let path = entry.map_err(io_error("list", &dir))?.path();
            let is_lock = path.extension().is_some_and(|kind| kind == "lock") || path.ends_with("lock");
            if !is_lock && path.is_file() {
                paths.push(path);
            }
        }
    }
    Ok(paths)
}

/// Ignores a missing file, which another process may have removed.
fn or_gone(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

fn rewritten(path: &Path, keys: &KeySet) -> io::Result<()> {
    const MOST: u64 = 4 << 30;
    let contents = DataFile::open_any(path, Links::Refuse, keys)?.read_all(MOST)?;
    let new = tempfile::Builder::new().prefix(NEW).tempfile_in(path.parent().unwrap_or(Path::new(".")))?;
    let file = DataFile::create(new.as_file().try_clone()?, keys)?;
    file.write_all_at(&contents, 0)?;
    file.sync_all()?;
    new.persist(path).map_err(|error| error.error)?;
    Ok(())
}
