//! Keys of an encrypted store: from the master key to the key of one record.
//!
//! The master key opens the keys of the store, in `KEYRING`. From these HKDF derives a key for each conversation, and
//! from that and a random salt, which only `SALTS` holds, the key of each message, summary and note. Overwriting a salt
//! makes its record unreadable for ever.

mod record;
mod ring;
mod salts;

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fmt, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use memory_core::port::StoreError;
use memory_files::seal::{Deriving, KeySet, NONCE, SealKey, TAG, random};
use zeroize::Zeroizing;

pub(crate) use self::{
    record::{MOST_ADDED, OpenRecord, SEALED, Sealing, epoch_of, is_sealed, slot_of},
    ring::{RING_FILE, RING_TEMPORARY},
    salts::{Grave, SALTS_FILE, Slots, has_salt},
};
use self::{ring::Ring, salts::Salts};
use super::{
    failure::{Failure, io_error},
    format::frame::StoreId,
    media::{Access, Media, Ram, read_from},
    read::directory::sync_dir,
};

/// Most conversations whose keys are kept in memory.
const MOST_CONVERSATIONS: usize = 4096;

/// The key that opens an encrypted store.
#[derive(Clone, PartialEq, Eq)]
pub struct MasterKey(Master);

#[derive(Clone, PartialEq, Eq)]
enum Master {
    Bytes(SealKey),
    Passphrase(Zeroizing<String>),
}

impl MasterKey {
    /// A key of 32 random bytes, as in a key file.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Master::Bytes(SealKey::new(bytes)))
    }

    /// A passphrase, from which Argon2id derives the key when a store is opened.
    #[must_use]
    pub fn from_passphrase(passphrase: impl Into<String>) -> Self {
        Self(Master::Passphrase(Zeroizing::new(passphrase.into())))
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey(..)")
    }
}

/// Key and wish for encryption, with which a store is opened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unlock<'k> {
    pub(crate) key: Option<&'k MasterKey>,
    /// True if a new store is encrypted.
    pub(crate) encrypts_new: bool,
}

/// Keys of an open store; the default for one that is not encrypted.
#[derive(Clone, Default)]
pub(crate) struct Keys(Option<Arc<Inner>>);

struct Inner {
    media: Arc<dyn Media>,
    dir: PathBuf,
    store: StoreId,
    /// Key that seals the keys of the store.
    wrapping: Mutex<SealKey>,
    set: KeySet,
    /// Id of the keyring.
    ring: [u8; 16],
    /// Number of the keyring's change that `set` is from.
    number: AtomicU64,
    is_changing: AtomicBool,
    conversations: RwLock<HashMap<(u32, u64), Arc<ConversationKey>>>,
    salts: Salts,
}

/// Keys of one conversation.
pub(super) struct ConversationKey {
    records: Deriving,
    /// Key of all that has no salt of its own.
    rest: SealKey,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Keys(..)" } else { "Keys" })
    }
}

/// The error for a key that is missing or does not fit.
pub(crate) fn no_key(store: &Path, why: &str) -> StoreError {
    StoreError::Key { place: store.into(), why: why.to_owned() }
}

/// Change of how a store is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncryptionChange {
    /// Encrypts it with the given key.
    Encrypt,
    /// Decrypts it.
    Decrypt,
    /// Locks its keys with another master key. Nothing else is rewritten.
    NewMasterKey(MasterKey),
    /// Gives it new keys, and rewrites all of it.
    NewKeys,
}

/// First bytes of a file that is sealed as a whole.
pub(crate) const SEALED_FILE: [u8; 8] = *b"MEMSEAW\n";

const MISSING: &str = "it is encrypted, and no key was given: name its file by --key-file or MEMORY_KEY_FILE, or a \
                       command that prints it by --key-command or MEMORY_KEY_COMMAND, or give MEMORY_KEY or \
                       MEMORY_PASSPHRASE; key-file and key-command in the configuration do the same";
const NO_PASSPHRASE: &str =
    "it is encrypted and locked by a passphrase, and none was given: MEMORY_PASSPHRASE gives it";

const CHANGED: &str = "it was encrypted or decrypted since it was opened: open it again";

const RELOCKED: &str =
    "its keys were replaced and locked with another key or passphrase: restart this program with that one";

/// The error for an encrypted store without its key.
pub(crate) fn missing(store: &Path) -> StoreError {
    no_key(store, MISSING)
}

/// The error for a store that was encrypted or decrypted since it was opened.
pub(crate) fn changed(store: &Path) -> StoreError {
    no_key(store, CHANGED)
}

impl Keys {
    /// Makes the keys of a new store. `FORMAT` must not say yet that the store is encrypted.
    pub(crate) fn create(
        media: &Arc<dyn Media>,
        dir: &Path,
        store: StoreId,
        master: &MasterKey,
        is_changing: bool,
    ) -> Result<Self, StoreError> {
        let (mut ring, wrapping) = Ring::new(master)?;
        ring.add(dir, store, 1, &SealKey::random().map_err(io_error("draw a key for", dir))?, &wrapping)?;
        (ring.current, ring.is_changing) = (1, is_changing);
        salts::create(&**media, dir)?;
        ring.create(&**media, dir, store)?;
        Self::of(media, dir, store, &ring, wrapping)
    }

    /// Opens the keys of an encrypted store.
    pub(crate) fn open(
        media: &Arc<dyn Media>,
        dir: &Path,
        store: StoreId,
        master: Option<&MasterKey>,
    ) -> Result<Self, StoreError> {
        let ring = Ring::read(&**media, dir, store)?;
        let why = if ring.has_passphrase() { NO_PASSPHRASE } else { MISSING };
        let master = master.ok_or_else(|| no_key(dir, why))?;
        let wrapping = ring.wrapping(dir, master)?;
        Self::of(media, dir, store, &ring, wrapping)
    }

    fn of(
        media: &Arc<dyn Media>,
        dir: &Path,
        store: StoreId,
        ring: &Ring,
        wrapping: SealKey,
    ) -> Result<Self, StoreError> {
        let keys = ring.open(dir, store, &wrapping)?;
        Ok(Self::with(media, (dir, store), ring, wrapping, keys))
    }

    fn with(
        media: &Arc<dyn Media>,
        (dir, store): (&Path, StoreId),
        ring: &Ring,
        wrapping: SealKey,
        keys: BTreeMap<u32, SealKey>,
    ) -> Self {
        let set = KeySet::default();
        set.set(keys, ring.current);
        Self(Some(Arc::new(Inner {
            media: Arc::clone(media),
            dir: dir.to_owned(),
            store,
            wrapping: Mutex::new(wrapping),
            set,
            ring: ring.id,
            number: AtomicU64::new(ring.number),
            is_changing: AtomicBool::new(ring.is_changing),
            conversations: RwLock::default(),
            salts: Salts::default(),
        })))
    }

    /// Opens copies of `KEYRING` and `SALTS` with the key of this store. Errors name the place of the store.
    pub(crate) fn of_copies(&self, ring: &[u8], salts: &[u8]) -> Result<Self, StoreError> {
        let Some(inner) = &self.0 else { return Ok(Self::default()) };
        let media = in_memory(&inner.dir, ring, salts)?;
        let ring = Ring::read(&*media, &inner.dir, inner.store)?;
        Ok(Self::with(&media, (&inner.dir, inner.store), &ring, inner.wrapping(), inner.keys(&ring)?))
    }

    /// True if the store is encrypted.
    pub(crate) const fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Keys of the derived files.
    pub(crate) fn files(&self) -> KeySet {
        self.0.as_ref().map(|inner| inner.set.clone()).unwrap_or_default()
    }

    /// Seals the contents of a file that is written whole.
    pub(crate) fn seal_file<'b>(&self, bytes: &'b [u8]) -> io::Result<Cow<'b, [u8]>> {
        let epoch = self.current();
        let Some(key) = self.file_key(epoch) else { return Ok(Cow::Borrowed(bytes)) };
        let nonce = random::<NONCE>()?;
        let mut out = [&SEALED_FILE[..], &epoch.to_le_bytes(), &nonce].concat();
        let begin = out.len();
        out.extend_from_slice(bytes);
        let tag = key.seal(&nonce, &SEALED_FILE, out.get_mut(begin..).unwrap_or_default());
        out.extend_from_slice(&tag);
        Ok(Cow::Owned(out))
    }

    /// Opens a file of [`Self::seal_file`]; `None` if no key of this store has sealed it.
    pub(crate) fn open_file(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let (epoch, rest) = bytes.strip_prefix(&SEALED_FILE)?.split_first_chunk::<4>()?;
        let (nonce, rest) = rest.split_first_chunk::<NONCE>()?;
        let (sealed, tag) = rest.split_last_chunk::<TAG>()?;
        let mut out = sealed.to_vec();
        self.file_key(u32::from_le_bytes(*epoch))?.open(nonce, &SEALED_FILE, &mut out, tag).then_some(out)
    }

    fn file_key(&self, epoch: u32) -> Option<SealKey> {
        Some(self.0.as_ref()?.set.get(epoch)?.derive(&[b"memory 2026 whole file"]))
    }

    /// Epoch of the key that frames are written with; 0 if they are not encrypted.
    pub(crate) fn current(&self) -> u32 {
        self.0.as_ref().map_or(0, |inner| inner.set.current())
    }

    /// Reads the keyring again if another process has changed it.
    pub(crate) fn refresh(&self) -> Result<(), StoreError> {
        let Some(inner) = &self.0 else { return Ok(()) };
        inner.refresh(&inner.read()?)
    }

    /// [`Self::refresh`] for a process that is about to write with the current key, and so completes both copies of the
    /// keyring first. The caller holds the write lock.
    pub(crate) fn refresh_to_write(&self) -> Result<(), StoreError> {
        let Some(inner) = &self.0 else { return Ok(()) };
        let mut ring = inner.read()?;
        if ring.is_torn {
            ring.write(&*inner.media, &inner.dir, inner.store)?;
        }
        inner.refresh(&ring)
    }

    /// True while the store is being encrypted, decrypted or given new keys.
    pub(crate) fn is_changing(&self) -> bool {
        self.0.as_ref().is_some_and(|inner| inner.is_changing.load(Ordering::Acquire))
    }

    /// Change that was begun and is not complete; `None` if none is under way.
    pub(crate) fn change_under_way(&self) -> Option<EncryptionChange> {
        let inner = self.0.as_ref().filter(|_| self.is_changing())?;
        Some(match inner.set.current() {
            0 => EncryptionChange::Decrypt,
            _ if inner.set.count() == 1 => EncryptionChange::Encrypt,
            _ => EncryptionChange::NewKeys,
        })
    }

    /// Begins to write with a new key. The caller holds the lease and the write lock.
    pub(crate) fn begin_rotation(&self) -> Result<(), StoreError> {
        self.begin(|ring, inner| {
            let epoch = ring.epochs().max().unwrap_or(0) + 1;
            let key = SealKey::random().map_err(io_error("draw a key for", &inner.dir))?;
            ring.add(&inner.dir, inner.store, epoch, &key, &inner.wrapping())?;
            ring.current = epoch;
            Ok(())
        })
    }

    /// Begins to write without encryption. The caller holds the lease and the write lock.
    pub(crate) fn begin_decryption(&self) -> Result<(), StoreError> {
        self.begin(|ring, _| {
            ring.current = 0;
            Ok(())
        })
    }

    /// Begins a change, unless another one is under way or the keyring needs another master key.
    fn begin(&self, change: impl FnOnce(&mut Ring, &Inner) -> Result<(), StoreError>) -> Result<(), StoreError> {
        let Some(inner) = &self.0 else { return Ok(()) };
        let mut ring = inner.read()?;
        ring.open(&inner.dir, inner.store, &inner.wrapping())?;
        if ring.is_changing {
            return Err(no_key(&inner.dir, "another change of its keys is under way: try again"));
        }
        change(&mut ring, inner)?;
        ring.is_changing = true;
        ring.write(&*inner.media, &inner.dir, inner.store)?;
        inner.follow(&ring)
    }

    /// Drops all keys but that of `epoch`, with which all of the store is written. `false`, and all are kept, if
    /// another key is current. The caller holds the lease and the write lock.
    pub(crate) fn settle(&self, epoch: u32) -> Result<bool, StoreError> {
        let Some(inner) = &self.0 else { return Ok(false) };
        let mut ring = inner.read()?;
        if !ring.settle(epoch) {
            return Ok(false);
        }
        ring.write(&*inner.media, &inner.dir, inner.store)?;
        inner.follow(&ring)?;
        Ok(true)
    }

    /// Locks the keys with another master key. The caller holds the lease and the write lock.
    pub(crate) fn relock(&self, master: &MasterKey) -> Result<(), StoreError> {
        let Some(inner) = &self.0 else { return Ok(()) };
        let mut ring = inner.read()?;
        let keys = ring.open(&inner.dir, inner.store, &inner.wrapping())?;
        let wrapping = ring.relock(&inner.dir, inner.store, &keys, master)?;
        ring.write(&*inner.media, &inner.dir, inner.store)?;
        *inner.wrapping.lock().unwrap_or_else(PoisonError::into_inner) = wrapping;
        inner.follow(&ring)
    }

    /// Contents of `KEYRING`, in which a backup sees that the keys changed meanwhile.
    pub(crate) fn ring_bytes(&self) -> Result<Vec<u8>, StoreError> {
        let Some(inner) = &self.0 else { return Ok(Vec::new()) };
        let path = inner.dir.join(RING_FILE);
        let bytes = inner.media.open(&path, Access::Read).and_then(|file| read_from(&*file, 0));
        bytes.map_err(io_error("read", &path))
    }

    /// Reserves salts for at least `records` records, on disk. The caller holds the write lock.
    pub(crate) fn reserve(&self, records: u32) -> Result<Slots, Failure> {
        let Some(inner) = &self.0 else { return Ok(Slots::default()) };
        let path = inner.dir.join(SALTS_FILE);
        let reserved = inner.salts.reserve(&*inner.media, &path, records);
        reserved.map_err(|error| Failure::new("write", &path, &error))
    }

    /// Overwrites salts, so that their records can never be read again.
    pub(crate) fn shred(&self, graves: Vec<Grave>) -> Result<(), StoreError> {
        let Some(inner) = self.0.as_ref().filter(|_| !graves.is_empty()) else { return Ok(()) };
        let path = inner.dir.join(SALTS_FILE);
        inner.salts.shred(&*inner.media, &path, graves).map_err(io_error("overwrite a salt in", &path))
    }

    /// Forgets the salts in memory, some of which were overwritten.
    pub(crate) fn forget_salts(&self) {
        if let Some(inner) = &self.0 {
            inner.salts.forget();
        }
    }
}

/// Copies of the files of keys, in memory.
pub(crate) fn in_memory(dir: &Path, ring: &[u8], salts: &[u8]) -> Result<Arc<dyn Media>, StoreError> {
    let media: Arc<dyn Media> = Arc::new(Ram::default());
    for (name, bytes) in [(RING_FILE, ring), (SALTS_FILE, salts)] {
        let path = dir.join(name);
        let copied = media.open(&path, Access::Create).and_then(|file| file.write_at(bytes, 0));
        copied.map_err(io_error("copy", &path))?;
    }
    Ok(media)
}

/// Epochs of the keys in a keyring. Reading them needs no key.
pub(crate) fn epochs(media: &dyn Media, dir: &Path, store: StoreId) -> Result<Vec<u32>, StoreError> {
    Ok(Ring::read(media, dir, store)?.epochs().collect())
}

/// Epoch of the key of a file that begins with these bytes; 0 if it is not sealed.
pub(crate) fn epoch_of_file(begin: &[u8]) -> u32 {
    let epoch = begin.strip_prefix(&SEALED_FILE).and_then(<[u8]>::first_chunk::<4>);
    epoch.map_or(0, |epoch| u32::from_le_bytes(*epoch))
}

/// True if a call failed because the store was encrypted or decrypted since it was opened. Nothing was written, and the
/// store may be opened again.
#[must_use]
pub fn must_open_again(error: &StoreError) -> bool {
    matches!(error, StoreError::Key { why, .. } if why == CHANGED)
}

/// True if the store has a keyring, and no change of its keys is under way.
pub(crate) fn is_settled(media: &dyn Media, dir: &Path, store: StoreId) -> bool {
    Ring::read(media, dir, store).is_ok_and(|ring| !ring.is_changing)
}

/// Overwrites and removes the files of keys of a store that is no longer encrypted.
pub(crate) fn remove(media: &dyn Media, dir: &Path) -> Result<(), StoreError> {
    for name in [RING_TEMPORARY, RING_FILE, SALTS_FILE] {
        let path = dir.join(name);
        if overwrite(media, &path)? {
            media.remove(&path).map_err(io_error("remove", &path))?;
        }
    }
    sync_dir(media, dir)
}

/// Overwrites a file of keys with zeros; `false` if there is none.
pub(crate) fn overwrite(media: &dyn Media, path: &Path) -> Result<bool, StoreError> {
    let file = match media.open(path, Access::Write) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        opened => opened.map_err(io_error("open", path))?,
    };
    let zeros = [0; 4096];
    let overwritten = file.size().and_then(|size| {
        (0..size).step_by(zeros.len()).try_for_each(|at| file.write_at(&zeros, at))?;
        file.sync_data()
    });
    overwritten.map_err(io_error("overwrite", path))?;
    Ok(true)
}

/// True if there are files of keys.
pub(crate) fn is_there(media: &dyn Media, dir: &Path) -> Result<bool, StoreError> {
    let names = media.list(dir).map_err(io_error("list", dir))?;
    Ok([RING_TEMPORARY, RING_FILE, SALTS_FILE].iter().any(|file| names.iter().any(|name| name == file)))
}

impl Inner {
    /// The keyring on disk.
    fn read(&self) -> Result<Ring, StoreError> {
        let ring = match Ring::read(&*self.media, &self.dir, self.store) {
            Err(StoreError::Damaged { .. }) if !is_there(&*self.media, &self.dir)? => return Err(changed(&self.dir)),
            read => read?,
        };
        // A store that was decrypted and encrypted again has other keys and salts under the same epochs and slots.
        if ring.id == self.ring { Ok(ring) } else { Err(changed(&self.dir)) }
    }

    fn refresh(&self, ring: &Ring) -> Result<(), StoreError> {
        if ring.number == self.number.load(Ordering::Acquire) { Ok(()) } else { self.follow(ring) }
    }

    fn wrapping(&self) -> SealKey {
        self.wrapping.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keys of a keyring. One that another master key locks is usable as long as all of its keys are known already.
    fn keys(&self, ring: &Ring) -> Result<BTreeMap<u32, SealKey>, StoreError> {
        match ring.open(&self.dir, self.store, &self.wrapping()) {
            Err(StoreError::Key { .. }) => {
                let known: Option<BTreeMap<_, _>> = ring.epochs().map(|at| Some((at, self.set.get(at)?))).collect();
                known.ok_or_else(|| no_key(&self.dir, RELOCKED))
            }
            opened => opened,
        }
    }

    /// Uses the keys of a ring.
    fn follow(&self, ring: &Ring) -> Result<(), StoreError> {
        self.set.set(self.keys(ring)?, ring.current);
        self.is_changing.store(ring.is_changing, Ordering::Release);
        self.number.store(ring.number, Ordering::Release);
        Ok(())
    }

    /// The keys of a conversation; `None` without the key of that epoch.
    fn conversation(&self, epoch: u32, conversation: u64) -> Option<Arc<ConversationKey>> {
        let known = self.conversations.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(keys) = known.get(&(epoch, conversation)) {
            return Some(Arc::clone(keys));
        }
        drop(known);
        let of_store = self.set.get(epoch)?;
        let key = of_store.derive(&[b"memory 2026 conversation", &conversation.to_le_bytes()]);
        let rest = key.derive(&[b"memory 2026 rest"]);
        let keys = Arc::new(ConversationKey { records: Deriving::of(&key), rest });
        let mut known = self.conversations.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_CONVERSATIONS {
            known.clear();
        }
        known.insert((epoch, conversation), Arc::clone(&keys));
        Some(keys)
    }

    fn salt(&self, slot: u32) -> Result<([u8; 16], [u8; 8]), &'static str> {
        let path = self.dir.join(SALTS_FILE);
        self.salts.get(&*self.media, &path, slot).map_err(|error| {
            tracing::error!(path = %path.display(), slot, %error, "a salt cannot be read");
            "its salt in the file SALTS cannot be read"
        })
    }
}
