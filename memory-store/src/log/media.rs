//! File system operations of the log, behind a trait so that tests can simulate a loss of power.

mod cut_safe_map;
mod disk;
mod map;
mod ram;
mod shared;
#[cfg(any(test, feature = "fuzzing"))]
#[cfg_attr(not(test), expect(dead_code, reason = "what fails is for tests alone"))]
pub(crate) mod sim;
mod zeros;

use std::{
    fmt, io,
    ops::Range,
    path::{Path, PathBuf},
};

pub(crate) use disk::Disk;
pub(crate) use map::{Map, prefetch};
pub(crate) use ram::Ram;

/// Purpose that a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reading a file that exists.
    Read,
    /// Reading and writing a file that exists.
    Write,
    /// Reading and writing a new file; an existing file of that name is emptied.
    Create,
}

/// A file system. Contract: only data that a returned `sync_*` covered is certain to survive a crash. A rename or a new
/// name survives once its directory was synced.
pub(crate) trait Media: fmt::Debug + Send + Sync {
    /// Names in a directory, in no order.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;
    fn create_dir_all(&self, dir: &Path) -> io::Result<()>;
    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn MediaFile>>;
    /// Renames a file, replacing one that has the new name; or a directory, replacing an empty one.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_dir(&self, dir: &Path) -> io::Result<()>;
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Refuses anything but a regular file, or a directory, under these names in a store. A missing name is not an
    /// error.
    fn check(&self, _store: &Path, _files: &[&str], _dirs: &[&str]) -> Result<(), (PathBuf, io::Error)> {
        Ok(())
    }
    /// Restricts the rights to a store to its owner, as far as possible.
    fn tighten(&self, _store: &Path) {}
    /// A lock on a directory, not yet taken.
    fn dir_lock(&self, dir: &Path) -> io::Result<Box<dyn DirLock>>;
    /// The words of a small file, shared by all openings of it. [`Access::Write`] creates a missing file, filled with
    /// zeros; otherwise a file too short is [`io::ErrorKind::UnexpectedEof`].
    fn words(&self, path: &Path, access: Access) -> io::Result<Box<dyn Words>>;
}

/// A lock that one opening at a time can hold, in any process, until the value or the process ends.
pub(crate) trait DirLock: fmt::Debug + Send + Sync {
    /// Takes the lock; `false` while another opening holds it.
    fn try_lock(&self) -> io::Result<bool>;
    fn unlock(&self) -> io::Result<()>;
    /// True if the directory still has this name.
    fn is_at(&self, dir: &Path) -> bool;
}

/// Words of a [shared file](Media::words).
pub(crate) const WORDS: usize = 16;

/// A small file as shared memory: the other processes load stored values in the order of the stores. After a crash it
/// is unknown which part is on disk.
pub(crate) trait Words: fmt::Debug + Send + Sync {
    /// Identity of the words, different for each file, machine, and run of a machine.
    fn identity(&self) -> [u8; 32];
    /// True if the file of this name holds these words, all of them, and every word could be stored.
    fn is_at(&self, media: &dyn Media, path: &Path) -> bool;
    /// Fills `words` from the words at `first`; with 0 beyond [`WORDS`], and if the file is incomplete. Each word was
    /// stored, but perhaps not together with the others.
    fn load(&self, first: usize, words: &mut [u64]);
    /// Stores words from `first` on. Does nothing beyond [`WORDS`], or if the file was opened for reading.
    fn store(&self, first: usize, words: &[u64]);
}

/// An open file, read and written by position.
pub(crate) trait MediaFile: fmt::Debug + Send + Sync {
    fn size(&self) -> io::Result<u64>;
    /// True if the file has this name. If not, its writes are lost when it is closed.
    fn is_at(&self, path: &Path) -> bool;
    /// Reads up to `buffer.len()` bytes; fewer only at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Writes zeros to `range`, which begins at the end of the file or after it.
    fn write_zeros(&self, range: Range<u64>) -> io::Result<()>;
    fn set_size(&self, size: u64) -> io::Result<()>;
    /// The contents in memory, without a copy; `None` if the file system cannot do that. Only for a file that is never
    /// again changed in place or cut.
    fn map(&self) -> io::Result<Option<Map>>;
    /// Syncs contents, and the size if it changed.
    fn sync_data(&self) -> io::Result<()>;
    /// Syncs contents and all metadata.
    fn sync_all(&self) -> io::Result<()>;
}

/// Longest file that this program writes: a segment of 1 GiB and a frame that exceeds it. The rest of a longer file is
/// foreign and not read.
const LONGEST: u64 = (1 << 30) + (257 << 20);

/// The bytes of a file from `offset` on.
pub(crate) fn read_from(file: &dyn MediaFile, offset: u64) -> io::Result<Vec<u8>> {
    read_part(file, offset, LONGEST.saturating_sub(offset))
}

/// At most `most` bytes of a file from `offset` on.
pub(crate) fn read_part(file: &dyn MediaFile, offset: u64, most: u64) -> io::Result<Vec<u8>> {
    let size = file.size()?.min(LONGEST).saturating_sub(offset).min(most);
    let size = usize::try_from(size).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    let mut bytes = vec![0; size];
    let read = file.read_at(&mut bytes, offset)?;
    bytes.truncate(read);
    Ok(bytes)
}
