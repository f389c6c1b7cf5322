//! Files in memory without a copy.

use std::{fmt, fs::File, io, ops::Deref};

use crate::prefetch;

/// The contents of a file as it was when it was mapped.
pub(crate) struct Map(memmap2::Mmap);

impl Map {
    /// Maps all of `file`. See [`MediaFile::map`](super::MediaFile::map) for what it asks of the file.
    #[expect(unsafe_code, reason = "a map is unsafe while others may change the file")]
    pub(super) fn of(file: &File) -> io::Result<Self> {
        // SAFETY: the bytes must not change under the slice that they are seen as. Only sealed segments
        // and checkpoints are mapped; this program never writes to one or cuts it: vacuum, compression and the next
        // checkpoint make a new file and rename it over the name, and the map keeps the old one alive. What another program does to the file is beyond what can
        // be ruled out: changed bytes fail their checksum, a cut ends the process with SIGBUS.
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

/// Asks the processor for all of `bytes` at once. Whatever reads them next would else wait for one cache line after the
/// other, since nothing tells the processor of the end before the first was read.
///
/// Only the first lines are asked into the first cache: it fetches few lines at a time, and while it does, what is read
/// meanwhile waits (2 KB: points 1.16 times and runs 1.28 times as fast as with all lines there; AMD Zen 4).
#[inline]
pub(crate) fn prefetch(bytes: &[u8]) {
    let (first, rest) = bytes.split_at(bytes.len().min(FIRST_BYTES));
    prefetch::near(first);
    prefetch::far(rest);
}

/// Four lines of the cache.
const FIRST_BYTES: usize = 256;
