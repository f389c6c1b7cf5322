//! Words that processes share, in a small file.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
    process,
    sync::atomic::{AtomicBool, Ordering},
    time::SystemTime,
};

use memory_core::Hash;
use memory_files::{Links, open_with};

use super::{Media, WORDS, Words, cut_safe_map::CutSafeMap};

const WORD: usize = size_of::<u64>();
const BYTES: usize = WORDS * WORD;
/// File in which Linux names the current run of the machine.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// A file of [`WORDS`] words, mapped if possible, otherwise read and written by position. Either way, the other
/// processes load stored words at once, since all use the page cache.
#[derive(Debug)]
pub(super) struct SharedWords {
    file: File,
    map: Option<CutSafeMap>,
    writable: bool,
    /// Device and inode.
    inode: (u64, u64),
    identity: [u8; 32],
    /// True once a word could not be written, so that other processes lack it.
    failed: AtomicBool,
}

impl SharedWords {
    pub(super) fn open(path: &Path, writable: bool) -> io::Result<Self> {
        let mut options = memory_files::options();
        let file = open_with(options.read(true).write(writable).create(writable).truncate(false), path, Links::Refuse)?;
        let metadata = file.metadata()?;
        if metadata.len() < BYTES as u64 {
            if !writable {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            // Zeros are written, since a mere extension would report a full disk only at the first stored word. They
            // are appended, so that they overwrite nothing of another process; two appends do no harm.
            let missing = vec![0; BYTES - usize::try_from(metadata.len()).unwrap_or(0)];
            open_with(OpenOptions::new().append(true), path, Links::Refuse)?.write_all(&missing)?;
            if file.metadata()?.len() < BYTES as u64 {
                return Err(io::Error::other("the file was replaced while it was opened"));
            }
        }
        // If the run of the machine has no name, each opening has its own identity: the words are valid for those who
        // share them now, not for later openings.
        let boot = fs::read(BOOT_ID).unwrap_or_else(|_| format!("{:?}-{}", SystemTime::now(), process::id()).into());
        let inode = (metadata.dev(), metadata.ino());
        let identity = *Hash::of_parts([boot.as_slice(), &inode.0.to_le_bytes(), &inode.1.to_le_bytes()]).as_bytes();
        let map = CutSafeMap::of(&file, WORDS, writable)?;
        Ok(Self { file, map, writable, inode, identity, failed: AtomicBool::new(false) })
    }
}

impl Words for SharedWords {
    fn identity(&self) -> [u8; 32] {
        self.identity
    }

    fn is_at(&self, _media: &dyn Media, path: &Path) -> bool {
        let is_whole = |there: fs::Metadata| (there.dev(), there.ino()) == self.inode && there.len() >= BYTES as u64;
        let is_cut = self.map.as_ref().is_some_and(CutSafeMap::is_cut);
        !is_cut && !self.failed.load(Ordering::Relaxed) && fs::metadata(path).is_ok_and(is_whole)
    }

    fn load(&self, first: usize, words: &mut [u64]) {
        if let Some(map) = &self.map {
            for (index, word) in (first..).zip(words) {
                *word = map.word(index).map_or(0, |word| word.load(Ordering::SeqCst));
            }
            return;
        }
        let mut bytes = [0; BYTES];
        let length = (words.len() * WORD).min(BYTES.saturating_sub(first * WORD));
        let read = bytes.get_mut(..length).map(|bytes| self.file.read_exact_at(bytes, (first * WORD) as u64));
        let is_read = matches!(read, Some(Ok(())));
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<WORD>().0) {
            *word = if is_read { u64::from_ne_bytes(*bytes) } else { 0 };
        }
    }

    fn store(&self, first: usize, words: &[u64]) {
        if !self.writable || first + words.len() > WORDS {
            return;
        }
        if let Some(map) = &self.map {
            for (index, value) in (first..).zip(words) {
                map.word(index).into_iter().for_each(|word| word.store(*value, Ordering::SeqCst));
            }
            return;
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        if let Err(error) = self.file.write_all_at(&bytes, (first * WORD) as u64) {
            tracing::error!(%error, "the durable watermark cannot be written");
            self.failed.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(words: &SharedWords, first: usize) -> [u64; 2] {
        let mut loaded = [9; 2];
        words.load(first, &mut loaded);
        loaded
    }

    #[test]
    fn a_file_that_is_cut_while_it_is_open_reads_as_zeros_and_is_noticed() {
        for is_mapped in [true, false] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("HORIZON");
            let [mut ours, mut theirs] = [true, false].map(|writable| SharedWords::open(&path, writable).unwrap());
            assert!(ours.map.is_some() && theirs.map.is_some());
            if !is_mapped {
                (ours.map, theirs.map) = (None, None);
            }
            ours.store(3, &[u64::MAX, 7]);
            assert_eq!((load(&theirs, 3), load(&theirs, WORDS - 1)), ([u64::MAX, 7], [0, 0]));
            assert!(ours.is_at(&crate::log::media::Disk, &path));
            File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
            assert_eq!(load(&theirs, 3), [0, 0]);
            assert!(!ours.is_at(&crate::log::media::Disk, &path));
            ours.store(0, &[1]);
            assert!(!ours.is_at(&crate::log::media::Disk, &path), "it stays noticed");
            // Another map of the same file, after these, is not taken for a cut one.
            drop((ours, theirs));
            let ours = SharedWords::open(&path, true).unwrap();
            assert!(ours.is_at(&crate::log::media::Disk, &path));
            ours.store(3, &[9]);
            assert_eq!(load(&ours, 3), [9, 0]);
        }
    }
}
