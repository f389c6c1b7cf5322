//! `KEYRING`: the keys of the store, each sealed with the master key, in two copies that are overwritten in place.

use std::{collections::BTreeMap, io, path::Path};

use argon2::{Algorithm, Argon2, Params, Version};
use memory_core::port::{Place, StoreError};
use memory_files::seal::{NONCE, SealKey, TAG, random};
use zeroize::Zeroize;

use super::{Master, MasterKey, no_key};
use crate::{
    checksum,
    log::{
        failure::io_error,
        format::frame::StoreId,
        media::{Access, Media, read_part},
        read::directory::sync_dir,
    },
    wire::In,
};

pub(crate) const RING_FILE: &str = "KEYRING";
pub(crate) const RING_TEMPORARY: &str = "KEYRING.tmp";
const MAGIC: [u8; 8] = *b"MEMKEYS\n";
const VERSION: u32 = 1;
/// Each copy has a page of its own, so that a write that is cut off damages one of them.
const COPY: usize = 4096;
const COPIES: usize = 2;
/// Most keys: the current one, and those that rotations replace.
const MOST_KEYS: u32 = 16;
/// Bytes of a keyring's id, in front of the checksum; zeros in keyrings of earlier versions.
const ID: usize = 16;

/// Kind of master key that opens the keyring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lock {
    Bytes,
    /// A passphrase, by Argon2id with this salt, KiB of memory and passes.
    Passphrase {
        salt: [u8; 16],
        memory: u32,
        passes: u32,
    },
}

const BYTES: u32 = 0;
const PASSPHRASE: u32 = 1;
/// Memory and passes for new passphrases: about a tenth of a second.
const MEMORY: u32 = 64 << 10;
const PASSES: u32 = 3;
/// Most memory in KiB, and passes, that a file may ask for.
const MOST_MEMORY: u32 = 4 << 20;
const MOST_PASSES: u32 = 64;

/// A key of the store, sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wrapped {
    epoch: u32,
    nonce: [u8; NONCE],
    key: [u8; 32],
    tag: [u8; TAG],
}

/// The contents of `KEYRING`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ring {
    /// Number of the last change, counting up.
    pub(super) number: u64,
    /// Random id, drawn when the store is encrypted: in another keyring the same epochs mean other keys.
    pub(super) id: [u8; ID],
    lock: Lock,
    /// Epoch of the key that frames are written with; 0 while the store is being decrypted.
    pub(super) current: u32,
    /// True while all frames and files are being rewritten.
    pub(super) is_changing: bool,
    keys: Vec<Wrapped>,
    /// True if a change reached only one of the two copies.
    pub(super) is_torn: bool,
}

impl Ring {
    /// A keyring without keys, and the key that seals those that are added.
    pub(super) fn new(master: &MasterKey) -> Result<(Self, SealKey), StoreError> {
        let failed = |error: io::Error| StoreError::Backend { backend: "random number source", source: error.into() };
        let lock = match &master.0 {
            Master::Bytes(_) => Lock::Bytes,
            Master::Passphrase(_) => {
                Lock::Passphrase { salt: random().map_err(failed)?, memory: MEMORY, passes: PASSES }
            }
        };
        let id = random().map_err(failed)?;
        let ring = Self { number: 0, id, lock, current: 0, is_changing: false, keys: Vec::new(), is_torn: false };
        let wrapping = ring.wrapping(Path::new(""), master)?;
        Ok((ring, wrapping))
    }

    /// The key that opens the keys of the store.
    pub(super) fn wrapping(&self, store: &Path, master: &MasterKey) -> Result<SealKey, StoreError> {
        let key = match (&master.0, self.lock) {
            (Master::Bytes(key), Lock::Bytes) => key.clone(),
            (Master::Passphrase(passphrase), Lock::Passphrase { salt, memory, passes }) => {
                let mut key = [0; 32];
                let params = Params::new(memory, passes, 1, Some(key.len()));
                let derived = params.and_then(|params| {
                    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
                    argon2.hash_password_into(passphrase.as_bytes(), &salt, &mut key)
                });
                derived.map_err(|error| no_key(store, &format!("its passphrase cannot be used: {error}")))?;
                let derived = SealKey::new(key);
                key.zeroize();
                derived
            }
            (Master::Bytes(_), Lock::Passphrase { .. }) => {
                return Err(no_key(
                    store,
                    "it is locked by a passphrase, and another key was given: MEMORY_PASSPHRASE alone gives it",
                ));
            }
            (Master::Passphrase(_), Lock::Bytes) => {
                return Err(no_key(store, "it is locked by a key file, and a passphrase was given"));
            }
        };
        Ok(key.derive(&[b"memory 2026 master"]))
    }

    /// Adds a key of the store.
    pub(super) fn add(
        &mut self,
        dir: &Path,
        store: StoreId,
        epoch: u32,
        key: &SealKey,
        wrapping: &SealKey,
    ) -> Result<(), StoreError> {
        let failed = |error: io::Error| StoreError::Backend { backend: "random number source", source: error.into() };
        if self.keys.len() >= MOST_KEYS as usize {
            let why = format!("it has {MOST_KEYS} keys already: complete the change of its keys first");
            return Err(no_key(dir, &why));
        }
        let nonce = random::<NONCE>().map_err(failed)?;
        let mut sealed = *key.bytes();
        let tag = wrapping.seal(&nonce, &place(store, epoch), &mut sealed);
        self.keys.push(Wrapped { epoch, nonce, key: sealed, tag });
        Ok(())
    }

    /// The keys of the store by their epochs.
    pub(super) fn open(
        &self,
        dir: &Path,
        store: StoreId,
        wrapping: &SealKey,
    ) -> Result<BTreeMap<u32, SealKey>, StoreError> {
        let mut keys = BTreeMap::new();
        for Wrapped { epoch, nonce, key, tag } in &self.keys {
            let mut key = *key;
            if !wrapping.open(nonce, &place(store, *epoch), &mut key, tag) {
                return Err(no_key(dir, "the key that was given is not that of this store"));
            }
            keys.insert(*epoch, SealKey::new(key));
            key.zeroize();
        }
        Ok(keys)
    }

    /// Reads the newest whole copy, and notes in `is_torn` if the other one differs.
    pub(super) fn read(media: &dyn Media, dir: &Path, store: StoreId) -> Result<Self, StoreError> {
        let path = dir.join(RING_FILE);
        let file = media.open(&path, Access::Read).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => damaged(&path, "the store is encrypted, and the file with its keys is missing"),
            _ => io_error("open", &path)(error),
        })?;
        let bytes = read_part(&*file, 0, (COPIES * COPY) as u64).map_err(io_error("read", &path))?;
        let copies: Vec<_> = bytes.chunks(COPY).map(|copy| Self::decode(copy, store)).collect();
        let newest = copies.iter().flatten().max_by_key(|ring| ring.number).cloned();
        let mut newest = newest.ok_or_else(|| damaged(&path, "none of its two copies is whole"))?;
        let is_same = |copy: &Option<Self>| {
            copy.as_ref().is_some_and(|copy| Self { number: newest.number, is_torn: false, ..copy.clone() } == newest)
        };
        newest.is_torn = copies.len() < COPIES || !copies.iter().all(is_same);
        Ok(newest)
    }

    /// Overwrites both copies, first the older one. Whatever fails in between, one of them is whole.
    pub(super) fn write(&mut self, media: &dyn Media, dir: &Path, store: StoreId) -> Result<(), StoreError> {
        let path = dir.join(RING_FILE);
        let file = media.open(&path, Access::Write).map_err(io_error("open", &path))?;
        let bytes = read_part(&*file, 0, (COPIES * COPY) as u64).map_err(io_error("read", &path))?;
        let number = |copy| Self::decode(bytes.chunks(COPY).nth(copy)?, store).map(|ring| ring.number);
        let order = if number(0) < number(1) { [0, 1] } else { [1, 0] };
        for copy in order {
            self.number += 1;
            let written = file.write_at(&self.encode(store), (copy * COPY) as u64).and_then(|()| file.sync_data());
            written.map_err(io_error("write", &path))?;
        }
        self.is_torn = false;
        Ok(())
    }

    /// Removes all keys but that of `epoch`. `false`, and nothing is removed, if that key is missing or not the current
    /// one.
    pub(super) fn settle(&mut self, epoch: u32) -> bool {
        let is_of = self.is_changing && self.current == epoch && self.epochs().any(|there| there == epoch);
        if is_of {
            self.keys.retain(|key| key.epoch == epoch);
            self.is_changing = false;
        }
        is_of
    }

    /// Seals the keys with another master key.
    pub(super) fn relock(
        &mut self,
        dir: &Path,
        store: StoreId,
        keys: &BTreeMap<u32, SealKey>,
        master: &MasterKey,
    ) -> Result<SealKey, StoreError> {
        let (new, wrapping) = Self::new(master)?;
        self.lock = new.lock;
        self.keys.clear();
        keys.iter().try_for_each(|(epoch, key)| self.add(dir, store, *epoch, key, &wrapping))?;
        Ok(wrapping)
    }

    /// True if a passphrase locks it.
    pub(super) fn has_passphrase(&self) -> bool {
        matches!(self.lock, Lock::Passphrase { .. })
    }

    /// The epochs of its keys.
    pub(super) fn epochs(&self) -> impl Iterator<Item = u32> {
        self.keys.iter().map(|key| key.epoch)
    }

    /// Writes a new file.
    pub(super) fn create(&mut self, media: &dyn Media, dir: &Path, store: StoreId) -> Result<(), StoreError> {
        let (temporary, path) = (dir.join(RING_TEMPORARY), dir.join(RING_FILE));
        let written = media.open(&temporary, Access::Create).and_then(|file| {
            for copy in 0..COPIES as u64 {
                self.number = copy + 1;
                file.write_at(&self.encode(store), copy * COPY as u64)?;
            }
            file.sync_all()
        });
        written.map_err(io_error("write", &temporary))?;
        media.rename(&temporary, &path).map_err(io_error("write", &path))?;
        sync_dir(media, dir)
    }

    fn encode(&self, store: StoreId) -> Vec<u8> {
        let mut out = Vec::with_capacity(COPY);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&store);
        out.extend_from_slice(&self.number.to_le_bytes());
        let (lock, salt, memory, passes) = match self.lock {
            Lock::Bytes => (BYTES, [0; 16], 0, 0),
            Lock::Passphrase { salt, memory, passes } => (PASSPHRASE, salt, memory, passes),
        };
        out.extend_from_slice(&lock.to_le_bytes());
        out.extend_from_slice(&salt);
        let count = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        for number in [memory, passes, self.current, u32::from(self.is_changing), count] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for Wrapped { epoch, nonce, key, tag } in &self.keys {
            out.extend_from_slice(&epoch.to_le_bytes());
            out.extend_from_slice(nonce);
            out.extend_from_slice(key);
            out.extend_from_slice(tag);
        }
        out.resize(COPY - 4 - ID, 0);
        out.extend_from_slice(&self.id);
        out.extend_from_slice(&checksum::crc32c(&out).to_le_bytes());
        out
    }

    fn decode(copy: &[u8], store: StoreId) -> Option<Self> {
        let (fields, crc) = copy.first_chunk::<COPY>()?.split_last_chunk::<4>()?;
        if checksum::crc32c(fields) != u32::from_le_bytes(*crc) {
            return None;
        }
        let id = *fields.last_chunk::<ID>()?;
        let mut fields = In(fields);
        let is_ours = fields.array()? == MAGIC && fields.array()? == VERSION.to_le_bytes() && fields.array()? == store;
        let number = u64::from_le_bytes(fields.array()?);
        let lock = u32::from_le_bytes(fields.array()?);
        let salt = fields.array()?;
        let mut next = || fields.array().map(u32::from_le_bytes);
        let (memory, passes, current, changing, count) = (next()?, next()?, next()?, next()?, next()?);
        let lock = match lock {
            BYTES => Lock::Bytes,
            PASSPHRASE if memory <= MOST_MEMORY && passes <= MOST_PASSES => Lock::Passphrase { salt, memory, passes },
            _ => return None,
        };
        let mut keys = Vec::new();
        for _ in 0..Some(count).filter(|count| *count <= MOST_KEYS)? {
            let epoch = u32::from_le_bytes(fields.array()?);
            keys.push(Wrapped { epoch, nonce: fields.array()?, key: fields.array()?, tag: fields.array()? });
        }
        is_ours.then_some(Self { number, id, lock, current, is_changing: changing == 1, keys, is_torn: false })
    }
}

/// Associated data of a sealed key.
fn place(store: StoreId, epoch: u32) -> Vec<u8> {
    [&b"memory 2026 store key"[..], &store, &epoch.to_le_bytes()].concat()
}

fn damaged(path: &Path, why: &str) -> StoreError {
    StoreError::Damaged { place: Place::from(path).offset(0), why: why.to_owned() }
}
