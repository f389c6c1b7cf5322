//! Checks a library's file before the system opens it.
//!
//! The system's loader maps what the headers state without looking at the file's size, and runs what it has mapped. So
//! a truncated or damaged copy ends the process: with SIGBUS when a missing page is touched, with SIGSEGV when code
//! lies where no code may run. On Linux the headers are checked against the file and against each other. For the
//! formats of other systems it is checked that all segments and sections lie inside the file.

#[cfg(not(any(windows, target_vendor = "apple")))]
mod elf;
// Tested here, whatever system this is.
#[cfg(any(windows, target_vendor = "apple", test))]
mod ranges;

use std::{fs, path::Path};

use memory_files::Links;

use crate::{error::LoadError, sha256::Sha256};

#[cfg(not(any(windows, target_vendor = "apple")))]
use elf::check as check_format;

#[cfg(any(windows, target_vendor = "apple"))]
fn check_format(image: &[u8]) -> Result<(), Fault> {
    let format = if cfg!(windows) { object::BinaryFormat::Pe } else { object::BinaryFormat::MachO };
    ranges::check(image, format)
}

/// Checks that `path` is a whole library for this machine, of at most `largest` bytes, and returns its SHA-256.
pub(crate) fn check(path: &Path, largest: u64) -> Result<Sha256, LoadError> {
    let unreadable = |source| LoadError::Unreadable { path: path.to_owned(), source };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    let not_a_library = |why| LoadError::NotALibrary { path: path.to_owned(), why };
    if !metadata.is_file() {
        return Err(not_a_library("it is not a regular file"));
    }
    let size = metadata.len();
    if size > largest {
        return Err(LoadError::TooLarge { path: path.to_owned(), size, most: largest });
    }
    if size == 0 {
        return Err(not_a_library("it is empty"));
    }
    // The file may change between the size check and the read.
    let image = memory_files::read(path, Links::Follow, largest).map_err(unreadable)?;
    match check_format(&image) {
        Ok(()) => Ok(Sha256::of(&image)),
        Err(Fault::Foreign(why)) => Err(not_a_library(why)),
        Err(Fault::Damaged(why)) => Err(LoadError::Damaged { path: path.to_owned(), why }),
        Err(Fault::Short(needed)) => Err(LoadError::Truncated { path: path.to_owned(), size, needed }),
    }
}

/// A fault of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It is another kind of file.
    Foreign(&'static str),
    /// Its headers contradict each other.
    Damaged(&'static str),
    /// It ends before the byte that its header names.
    Short(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_library_says_why() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.so");
        assert!(matches!(check(&path, 9), Err(LoadError::Unreadable { .. })));
        assert!(matches!(
            check(directory.path(), 9),
            Err(LoadError::NotALibrary { why: "it is not a regular file", .. })
        ));
        fs::write(&path, "").unwrap();
        assert!(matches!(check(&path, 9), Err(LoadError::NotALibrary { why: "it is empty", .. })));
        fs::write(&path, [b'x'; 100]).unwrap();
        assert!(matches!(check(&path, 99), Err(LoadError::TooLarge { size: 100, most: 99, .. })));
        assert!(matches!(check(&path, 100), Err(LoadError::NotALibrary { .. })));
    }
}
