//! `SALTS`: a random salt for each record that can be erased. Salts are overwritten in place, after a mark next to the
//! salt, so that a half overwritten salt is never used.

use std::{
    collections::{HashMap, VecDeque},
    io, mem,
    path::Path,
    sync::{PoisonError, RwLock},
};

use memory_core::port::StoreError;
use zeroize::{Zeroize, Zeroizing};

use crate::log::{
    failure::io_error,
    media::{Access, Media},
};

pub(crate) const SALTS_FILE: &str = "SALTS";
/// Header in the place of slot 0, which no record has.
const HEADER: [u8; SLOT] = *b"MEMSALT\n\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
const SALT: usize = 16;
/// Bytes of a mark, zeros until the salt is overwritten.
const MARK: usize = 8;
const SLOT: usize = SALT + MARK;
/// Number of salts that are read at once.
const PAGE: u32 = 256;
/// Fewest salts that are drawn at once; the number doubles each time, up to [`MOST`].
const FEWEST: u32 = 64;
const MOST: u32 = 4096;

/// Reserved salts, each of which one record may use.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    free: VecDeque<(u32, [u8; SALT])>,
    /// Number of salts that were drawn last.
    drawn: u32,
}

impl Slots {
    pub(crate) fn len(&self) -> usize {
        self.free.len()
    }

    /// Number of salts to reserve so that each of `records` gets one; `None` if there are enough.
    pub(crate) fn wanted(&self, records: usize) -> Option<u32> {
        let missing = records.checked_sub(self.len()).filter(|missing| *missing > 0)?;
        let usual = self.drawn.saturating_mul(2).clamp(FEWEST, MOST);
        Some(u32::try_from(missing).unwrap_or(u32::MAX).max(usual))
    }

    pub(crate) fn add(&mut self, mut more: Self) {
        self.drawn = u32::try_from(more.len()).unwrap_or(u32::MAX);
        self.free.extend(mem::take(&mut more.free));
    }

    pub(crate) fn take(&mut self) -> Option<(u32, [u8; SALT])> {
        self.free.pop_front()
    }
}

/// Slot of a salt to overwrite, and its mark. The mark follows from the keys, so that damage is not taken for an
/// erasure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grave {
    pub(super) slot: u32,
    pub(super) mark: [u8; MARK],
}

/// Cache of the salts that were read.
#[derive(Default)]
pub(super) struct Salts {
    pages: RwLock<HashMap<u32, Zeroizing<Vec<u8>>>>,
}

/// Makes a file without salts.
pub(super) fn create(media: &dyn Media, dir: &Path) -> Result<(), StoreError> {
    let path = dir.join(SALTS_FILE);
    let written = media.open(&path, Access::Create).and_then(|file| {
        file.write_at(&HEADER, 0)?;
        file.sync_all()
    });
    written.map_err(io_error("write", &path))
}

/// True if the bytes of a file of salts have a salt in this slot, or the mark of one that was overwritten.
pub(crate) fn has_salt(salts: &[u8], slot: u32) -> bool {
    let entry = salts.chunks_exact(SLOT).nth(slot as usize);
    entry.is_some_and(|entry| entry.iter().any(|byte| *byte != 0))
}

impl Salts {
    /// The salt in a slot, and its mark.
    pub(super) fn get(&self, media: &dyn Media, path: &Path, slot: u32) -> io::Result<([u8; SALT], [u8; MARK])> {
        let (page, within) = (slot / PAGE, (slot % PAGE) as usize * SLOT);
        let parts = |page: &[u8]| {
            let (salt, mark) = page.get(within..within + SLOT)?.split_first_chunk()?;
            Some((*salt, mark.try_into().ok()?))
        };
        let known = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&page).and_then(|page| parts(page)) {
            return Ok(found);
        }
        drop(known);
        let mut bytes = Zeroizing::new(vec![0; PAGE as usize * SLOT]);
        let file = media.open(path, Access::Read)?;
        let read = file.read_at(&mut bytes, u64::from(page) * u64::from(PAGE) * SLOT as u64)?;
        bytes.truncate(read);
        let found = parts(&bytes);
        self.pages.write().unwrap_or_else(PoisonError::into_inner).insert(page, bytes);
        found.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    pub(super) fn reserve(&self, media: &dyn Media, path: &Path, count: u32) -> io::Result<Slots> {
        let file = media.open(path, Access::Write)?;
        let first = file.size()?.div_ceil(SLOT as u64).max(1);
        let last = u32::try_from(first + u64::from(count)).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let mut salts = Zeroizing::new(vec![0; count as usize * SALT]);
        getrandom::fill(&mut salts)?;
        let (salts, _) = salts.as_chunks::<SALT>();
        let slots: Zeroizing<Vec<u8>> =
            Zeroizing::new(salts.iter().flat_map(|salt| salt.iter().copied().chain([0; MARK])).collect());
        file.write_at(&slots, first * SLOT as u64)?;
        file.sync_data()?;
        let free = (last - count..last).zip(salts.iter().copied()).collect();
        Ok(Slots { free, drawn: count })
    }

    pub(super) fn shred(&self, media: &dyn Media, path: &Path, mut graves: Vec<Grave>) -> io::Result<()> {
        graves.sort_unstable_by_key(|grave| grave.slot);
        graves.dedup_by_key(|grave| grave.slot);
        let file = media.open(path, Access::Write)?;
        for is_overwritten in [false, true] {
            for run in graves.chunk_by(|a, b| a.slot + 1 == b.slot) {
                let Some(first) = run.first() else { continue };
                let at = u64::from(first.slot) * SLOT as u64;
                let mut slots = Zeroizing::new(vec![0; run.len() * SLOT]);
                if !is_overwritten && file.read_at(&mut slots, at)? < slots.len() {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                for (slot, grave) in slots.chunks_mut(SLOT).zip(run) {
                    slot.get_mut(SALT..).unwrap_or_default().copy_from_slice(&grave.mark);
                }
                file.write_at(&slots, at)?;
            }
            file.sync_data()?;
        }
        self.forget();
        Ok(())
    }

    pub(super) fn forget(&self) {
        self.pages.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        self.free.iter_mut().for_each(|(_, salt)| salt.zeroize());
    }
}
