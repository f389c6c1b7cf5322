//! Encrypting, decrypting and giving new keys to a store in place, while others read and write it.
//!
//! The keyring says first what frames are written with from now on, then a vacuum writes all others again, then the
//! keyring forgets what nothing needs any more. In between the store is read with both: whoever opens it next for writing
//! goes on.

use std::{fs, io, path::Path, sync::Arc, time::Duration};

use memory_core::port::{Progress, StoreError};
use memory_files::{DataFile, Links, seal::KeySet};

use super::vacuum::{VacuumOptions, vacuum};
use crate::log::{
    LogOptions,
    failure::io_error,
    format::{
        frame::FrameKind,
        scan::{Found, Scan},
    },
    keys::{self, Keys, MasterKey, no_key},
    media::{Disk, Media},
    read::{
        directory::{CACHE, Directory, Format},
        watermark::{Durable, Watermark},
    },
    store::LogStore,
    write::{lock::Lock, shared::Shared},
};

/// Longest wait for the write lock.
const PATIENCE: Duration = Duration::from_secs(60);
/// Directories of derived files, each encrypted as the log is.
const DERIVED: [&str; 8] =
    ["vectors", "vectors/graphs", "vectors/packs", "tokens", "tokens/packs", "words", "embeddings", "capture"];

/// Change of how a store is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncryptionChange {
    /// Encrypts it with the key that is given.
    Encrypt,
    /// Decrypts it.
    Decrypt,
    /// Locks its keys with another master key. Nothing else is written again.
    NewMasterKey(MasterKey),
    /// Gives it new keys, and writes all of it again.
    NewKeys,
}

/// Changes how the store in a directory is encrypted, in place. Interrupted anywhere, the store opens with its key, and is
/// completed by the next opening for writing.
///
/// Programs of this version that have the store open go on, except where it is encrypted or decrypted: their next call
/// asks to open it again.
///
/// # Errors
/// [`StoreError::Key`] if the key is missing or another one, or the store is encrypted already, or not; and as for
/// [`LogStore::vacuum`].
pub fn change_encryption(
    path: impl AsRef<Path>,
    options: LogOptions,
    key: Option<&MasterKey>,
    change: &EncryptionChange,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    change_on(&(Arc::new(Disk) as Arc<dyn Media>), path.as_ref(), options, key, change, progress)
}

pub(crate) fn change_on(
    media: &Arc<dyn Media>,
    path: &Path,
    options: LogOptions,
    key: Option<&MasterKey>,
    change: &EncryptionChange,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    let options = options.must_exist();
    let store = LogStore::open_whole(Arc::clone(media), path, options, key)?;
    let is_encrypted = store.is_encrypted();
    let shared = &store.shared;
    match change {
        EncryptionChange::Encrypt if is_encrypted => return Err(no_key(path, "it is encrypted already")),
        EncryptionChange::Encrypt => {
            let key = key.ok_or_else(|| keys::missing(path))?;
            // One process does background work at a time, and this is the next.
            drop(store.shared_lease()?);
            locked(shared, || {
                Keys::create(media, path, shared.directory.id, key, true)?;
                Format { id: shared.directory.id, is_encrypted: true }.write(&**media, path)
            })?;
            drop(store);
            let store = LogStore::open_keyed(Arc::clone(media), path, options, Some(key))?;
            return finish(&store, progress).map(drop);
        }
        _ if !is_encrypted => return Err(no_key(path, "it is not encrypted: `memory encrypt` encrypts it")),
        EncryptionChange::NewMasterKey(master) => return locked(shared, || shared.directory.keys.relock(master)),
        EncryptionChange::NewKeys => locked(shared, || shared.directory.keys.begin_rotation())?,
        EncryptionChange::Decrypt => locked(shared, || shared.directory.keys.begin_decryption())?,
    }
    finish(&store, progress).map(drop)
}

/// Completes what was begun, unless another process works on it. True if the store is not encrypted any more, and must
/// be opened again.
pub(crate) fn resume(store: &LogStore) -> Result<bool, StoreError> {
    match finish(store, &()) {
        Err(StoreError::Locked { .. }) => Ok(false),
        finished => finished,
    }
}

fn finish(store: &LogStore, progress: &dyn Progress) -> Result<bool, StoreError> {
    let shared = &*store.shared;
    let Directory { path, id, keys, .. } = &shared.directory;
    let _lease = store.shared_lease()?;
    let epoch = keys.current();
    loop {
        pollster::block_on(store.seal())?;
        vacuum(shared, VacuumOptions::encrypted_with(epoch), progress)?;
        recode(&path.join(CACHE), &keys.files())?;
        let is_done = locked(shared, || {
            let durable = {
                let _held = shared.hold_following();
                shared.catch_up_locked()?
            };
            if !conforms(shared, epoch)? {
                return Ok(false);
            }
            if epoch == 0 {
                Format { id: *id, is_encrypted: false }.write(&*shared.media, path)?;
                keys::remove(&*shared.media, path)?;
            } else {
                keys.settle()?;
            }
            // Every process looks again.
            shared.tell(Durable { generation: durable.generation.wrapping_add(2), ..durable });
            Ok(true)
        })?;
        if is_done {
            return Ok(epoch == 0);
        }
    }
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

/// True if all frames are encrypted with the key of this epoch.
fn conforms(shared: &Shared, epoch: u32) -> Result<bool, StoreError> {
    let (segments, end) = {
        let state = shared.state();
        (Arc::clone(&state.segments), state.cursor.end)
    };
    for segment in segments.iter() {
        let mut image = segment.image().map_err(io_error("read", segment.path()))?;
        if segment.number() == end.segment {
            image.truncate(end.offset as usize);
        }
        let is_other = |found| match found {
            Found::Frame { header, .. } => header.kind == FrameKind::Batch && header.key_epoch != epoch,
            Found::Damage { .. } | Found::Torn { .. } => false,
        };
        if Scan::new(&image, shared.directory.id, segment.number(), true).any(is_other) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes derived files again that are not encrypted with the current key. One that cannot be read is removed: it is
/// derived again.
fn recode(cache: &Path, keys: &KeySet) -> Result<(), StoreError> {
    for dir in DERIVED.map(|dir| cache.join(dir)) {
        let entries = match fs::read_dir(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            listed => listed.map_err(io_error("list", &dir))?,
        };
        for entry in entries {
            let path = entry.map_err(io_error("list", &dir))?.path();
            let is_lock = path.extension().is_some_and(|kind| kind == "lock") || path.ends_with("lock");
            if !is_lock && path.is_file() && DataFile::epoch_at(&path) != Some(keys.current()) {
                rewritten(&path, keys).or_else(|_| fs::remove_file(&path)).map_err(io_error("encrypt", &path))?;
            }
        }
    }
    // The next opening writes a checkpoint.
    Ok(())
}

fn rewritten(path: &Path, keys: &KeySet) -> io::Result<()> {
    const MOST: u64 = 4 << 30;
    let contents = DataFile::open_any(path, Links::Refuse, keys)?.read_all(MOST)?;
    let new = tempfile::Builder::new().prefix(".encrypt-").tempfile_in(path.parent().unwrap_or(Path::new(".")))?;
    let file = DataFile::create(new.as_file().try_clone()?, keys)?;
    file.write_all_at(&contents, 0)?;
    file.sync_all()?;
    new.persist(path).map_err(|error| error.error)?;
    Ok(())
}
