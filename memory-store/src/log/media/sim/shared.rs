//! Locks and shared words of the simulated disk.

use std::{
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use super::disk::{SimDisk, Write};
use crate::log::media::{DirLock, Media, Words};

#[derive(Debug)]
pub(super) struct SimLock {
    pub(super) disk: SimDisk,
    pub(super) dir: PathBuf,
    pub(super) boot: u64,
    pub(super) holds: AtomicBool,
}

impl DirLock for SimLock {
    fn try_lock(&self) -> io::Result<bool> {
        let mut disk = self.disk.lock();
        let free = disk.boots == self.boot && !disk.locked.contains_key(&self.dir);
        if free {
            disk.locked.insert(self.dir.clone(), thread::current().id());
        }
        self.holds.fetch_or(free, Ordering::SeqCst);
        Ok(free)
    }

    fn unlock(&self) -> io::Result<()> {
        let mut disk = self.disk.lock();
        if self.holds.swap(false, Ordering::SeqCst) && disk.boots == self.boot {
            disk.locked.remove(&self.dir);
        }
        Ok(())
    }

    fn is_at(&self, dir: &Path) -> bool {
        self.dir == dir && self.disk.lock().names.dirs.contains(dir)
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.unlock().unwrap();
    }
}

/// Words in memory: a change is no operation that could fail, and reaches the disk by chance.
#[derive(Debug)]
pub(super) struct SimWords {
    pub(super) disk: SimDisk,
    pub(super) file: usize,
    pub(super) boot: u64,
}

impl Words for SimWords {
    fn identity(&self) -> [u8; 32] {
        if self.disk.lock().is_lossless {
            // The identity is constant, so that the words are valid in any opening of a copy.
            return [7; 32];
        }
        let mut identity = [0; 32];
        identity[..8].copy_from_slice(&self.boot.to_le_bytes());
        identity[8..16].copy_from_slice(&self.file.to_le_bytes());
        identity
    }

    fn is_at(&self, _media: &dyn Media, path: &Path) -> bool {
        self.disk.lock().file_named(path).is_ok_and(|file| file == self.file)
    }

    fn load(&self, first: usize, words: &mut [u64]) {
        let disk = self.disk.lock();
        let bytes = disk.files[self.file].bytes.get(first * 8..).unwrap_or_default().as_chunks::<8>().0;
        words.fill(0);
        words.iter_mut().zip(bytes).for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
    }

    /// Stores word by word, so that any of them may be the last to reach the disk.
    fn store(&self, first: usize, words: &[u64]) {
        let mut disk = self.disk.lock();
        if !disk.power_lost && disk.boots == self.boot {
            for (index, word) in (first..).zip(words) {
                disk.write(self.file, Write::Bytes(index * 8, word.to_le_bytes().to_vec()));
            }
        }
    }
}
