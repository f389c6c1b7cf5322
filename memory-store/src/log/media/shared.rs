//! Words of memory that processes share, in a mapped file.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use memmap2::{MmapOptions, MmapRaw};
use memory_core::Hash;
use memory_files::{Links, open_with};

use super::{Media, WORDS, Words};

const BYTES: usize = WORDS * size_of::<u64>();
/// Where Linux names the current run of the machine.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// A mapped file of [`WORDS`] words.
#[derive(Debug)]
pub(super) struct SharedWords {
    map: MmapRaw,
    writable: bool,
    /// Device and inode.
    file: (u64, u64),
    identity: [u8; 32],
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
            // Written, and not only extended: a page for which a full disk has no room would kill a process that writes
            // to the map. And appended, so that it overwrites nothing that another process has put there meanwhile; it
            // does no harm if both append.
            let missing = vec![0; BYTES - usize::try_from(metadata.len()).unwrap_or(0)];
            open_with(OpenOptions::new().append(true), path, Links::Refuse)?.write_all(&missing)?;
            if file.metadata()?.len() < BYTES as u64 {
                return Err(io::Error::other("the file was replaced while it was opened"));
            }
        }
        let options = {
            let mut options = MmapOptions::new();
            options.len(BYTES);
            options
        };
        let map = if writable { options.map_raw(&file)? } else { options.map_raw_read_only(&file)? };
        // Where the run of the machine has no name, each opening has an identity of its own: the words are valid for
        // those who share them now, and not for later openings.
        let boot = fs::read(BOOT_ID).unwrap_or_else(|_| format!("{:p}-{}", map.as_ptr(), std::process::id()).into());
        let file = (metadata.dev(), metadata.ino());
        let identity = *Hash::of_parts([boot.as_slice(), &file.0.to_le_bytes(), &file.1.to_le_bytes()]).as_bytes();
        Ok(Self { map, writable, file, identity })
    }

    fn word(&self, index: usize) -> Option<&AtomicU64> {
        if index >= WORDS {
            return None;
        }
        let start = self.map.as_ptr().cast::<AtomicU64>();
        // SAFETY: the map is `BYTES` long, begins at a page and lives as long as `self`; every access to it, in this
        // process and in others, is atomic. The file never gets shorter while it is open.
        #[expect(unsafe_code, reason = "memory shared with other processes has no safe reference")]
        unsafe {
            Some(&*start.add(index))
        }
    }
}

impl Words for SharedWords {
    fn identity(&self) -> [u8; 32] {
        self.identity
    }

    fn is_at(&self, _media: &dyn Media, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == self.file)
    }

    fn load(&self, index: usize) -> u64 {
        self.word(index).map_or(0, |word| word.load(Ordering::SeqCst))
    }

    fn store(&self, index: usize, value: u64) {
        if let Some(word) = self.word(index).filter(|_| self.writable) {
            word.store(value, Ordering::SeqCst);
        }
    }

    fn add(&self, index: usize) {
        if let Some(word) = self.word(index).filter(|_| self.writable) {
            word.fetch_add(1, Ordering::SeqCst);
        }
    }
}
