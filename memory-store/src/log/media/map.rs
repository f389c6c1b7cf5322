//! Files in memory without a copy.

use std::{fmt, fs::File, io, ops::Deref};

use crate::prefetch;

/// The contents of a file at the time of mapping.
pub(crate) struct Map(memmap2::Mmap);

impl Map {
    /// Maps all of `file`. [`MediaFile::map`](super::MediaFile::map) states the requirements on the file.
    #[expect(unsafe_code, reason = "a map is unsafe while others may change the file")]
    pub(super) fn of(file: &File) -> io::Result<Self> {
        // SAFETY: the bytes must not change under the slice. Only sealed segments and checkpoints are mapped. This
        // program never writes to one or cuts it: vacuum, compression and the next checkpoint make a new file and
        // rename it over the name, and the map keeps the old one alive. Changes by other programs cannot be ruled out:
        // changed bytes fail their checksum, a cut ends the process with SIGBUS.
        unsafe { memmap2::Mmap::map(file) }.map(Self)
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Map {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Map({} bytes)", self.len())
    }
}

/// Prefetches all of `bytes` at once. A reader would otherwise wait for one cache line after the other, since the
/// processor learns of the end only after reading the first.
///
/// Only the first lines go into the first-level cache: it fetches few lines at a time, and other reads wait meanwhile
/// (2 KB: points 1.16 times and runs 1.28 times as fast as with all lines there; AMD Zen 4).
#[inline]
pub(crate) fn prefetch(bytes: &[u8]) {
    let (first, rest) = bytes.split_at(bytes.len().min(FIRST_BYTES));
    prefetch::near(first);
    prefetch::far(rest);
}

/// Four cache lines.
const FIRST_BYTES: usize = 256;
