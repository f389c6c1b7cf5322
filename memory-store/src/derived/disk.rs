//! Opens derived files, encrypted as the log is. Anything but a regular file counts as missing, and is rebuilt.

use std::{fs, io, path::Path};

use memory_files::{DataFile, Links, or_missing, seal::KeySet};

pub(super) fn open(path: &Path, keys: &KeySet) -> io::Result<DataFile> {
    DataFile::open(path, Links::Refuse, keys).or_else(or_missing)
}

pub(super) fn open_written(path: &Path, keys: &KeySet) -> io::Result<DataFile> {
    DataFile::open_written(path, Links::Refuse, keys).or_else(or_missing)
}

/// Creates an empty file, replacing any existing one. The caller holds the [turn](super::turn::Turn).
pub(super) fn create(path: &Path, keys: &KeySet) -> io::Result<DataFile> {
    #[cfg(test)]
    stopping::step()?;
    memory_files::make_way(path)?;
    let mut options = memory_files::options();
    options.read(true).write(true).create(true).truncate(true);
    DataFile::create(memory_files::open_with(&options, path, Links::Refuse)?, keys)
}

/// True if the contents of a file are wrong, so that it must be rebuilt. Other failures, such as a lack of descriptors
/// or memory, say nothing about the file.
pub(super) fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData)
}

/// Renames a file, replacing any existing one.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(test)]
    stopping::step()?;
    fs::rename(from, to)
}

/// Removes a file if it exists.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    stopping::step()?;
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Stops a test's thread after some operations, like a crash.
#[cfg(test)]
pub(super) mod stopping {
    use std::{cell::Cell, io};

    thread_local! { static LEFT: Cell<Option<u32>> = const { Cell::new(None) } }

    /// Lets so many operations happen and fails all after them; `None` lets all happen.
    pub(in crate::derived) fn after(operations: Option<u32>) {
        LEFT.set(operations);
    }

    pub(super) fn step() -> io::Result<()> {
        match LEFT.get() {
            Some(0) => Err(io::Error::other("stopped by a test")),
            left => {
                LEFT.set(left.map(|left| left - 1));
                Ok(())
            }
        }
    }
}
