//! Checks a library's file before the system opens it.
//!
//! The system's loader maps what the header names without looking at the file's size, so a truncated copy ends the
//! process with SIGBUS as soon as a missing page is touched. On Linux the ELF header, all segments and all sections
//! are checked against the file; elsewhere the magic number alone.

use std::{fs, path::Path};

use crate::error::LoadError;

/// The least bytes that a header of any format takes.
const SMALLEST: u64 = 64;

/// Checks that `path` is a whole library for this machine, of at most `largest` bytes.
pub(crate) fn check(path: &Path, largest: u64) -> Result<(), LoadError> {
    let unreadable = |source| LoadError::Unreadable { path: path.to_owned(), source };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    let not_a_library = |why| LoadError::NotALibrary { path: path.to_owned(), why };
    if !metadata.is_file() {
        return Err(not_a_library("it is no regular file"));
    }
    let size = metadata.len();
    if size > largest {
        return Err(LoadError::TooLarge { path: path.to_owned(), size, most: largest });
    }
    if size < SMALLEST {
        return Err(not_a_library("it is too small"));
    }
    let image = fs::read(path).map_err(unreadable)?;
    match format::check(&image) {
        Ok(()) => Ok(()),
        Err(Fault::Foreign(why)) => Err(not_a_library(why)),
        Err(Fault::Short(needed)) => Err(LoadError::Truncated { path: path.to_owned(), size, needed }),
    }
}

/// What is wrong with an image.
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    /// It is something else.
    Foreign(&'static str),
    /// It ends before the byte that its header names.
    Short(u64),
}

#[cfg(not(any(windows, target_vendor = "apple")))]
mod format {
    //! ELF, by the System V gABI.

    use super::Fault;

    const DYNAMIC: u64 = 3;
    const LOAD: u64 = 1;
    const NO_BITS: u64 = 8;

    /// Machines whose numbers are known; on others the number is not checked.
    const MACHINE: Option<u64> = if cfg!(target_arch = "x86_64") {
        Some(62)
    } else if cfg!(target_arch = "aarch64") {
        Some(183)
    } else {
        None
    };

    /// Where the fields of a header lie, for 64 and for 32 bits.
    struct Layout {
        word: usize,
        program_headers: usize,
        section_headers: usize,
        /// The first of: size and count of program headers, size and count of section headers; 2 bytes each.
        counts: usize,
        segment_offset: usize,
        segment_size: usize,
        section_offset: usize,
        section_size: usize,
    }

    const LAYOUT: Layout = if cfg!(target_pointer_width = "64") {
        Layout {
            word: 8,
            program_headers: 32,
            section_headers: 40,
            counts: 54,
            segment_offset: 8,
            segment_size: 32,
            section_offset: 24,
            section_size: 32,
        }
    } else {
        Layout {
            word: 4,
            program_headers: 28,
            section_headers: 32,
            counts: 42,
            segment_offset: 4,
            segment_size: 16,
            section_offset: 16,
            section_size: 20,
        }
    };

    pub(super) fn check(image: &[u8]) -> Result<(), Fault> {
        if !image.starts_with(b"\x7fELF") {
            return Err(Fault::Foreign("it does not begin as an ELF file does"));
        }
        let class = if cfg!(target_pointer_width = "64") { 2 } else { 1 };
        let order = if cfg!(target_endian = "little") { 1 } else { 2 };
        if image.get(4) != Some(&class) || image.get(5) != Some(&order) {
            return Err(Fault::Foreign("it is for another word size or byte order"));
        }
        if number(image, 16, 2)? != DYNAMIC {
            return Err(Fault::Foreign("it is no shared library"));
        }
        if MACHINE.is_some_and(|machine| number(image, 18, 2) != Ok(machine)) {
            return Err(Fault::Foreign("it is for another processor"));
        }
        let segments = table(image, LAYOUT.program_headers, LAYOUT.counts)?;
        if segments.count == 0 {
            return Err(Fault::Foreign("it has nothing to load"));
        }
        for at in segments.entries() {
            if number(image, at, 4)? == LOAD {
                inside(image, word(image, at + LAYOUT.segment_offset)?, word(image, at + LAYOUT.segment_size)?)?;
            }
        }
        let sections = table(image, LAYOUT.section_headers, LAYOUT.counts + 4)?;
        for at in sections.entries() {
            if number(image, at + 4, 4)? != NO_BITS {
                inside(image, word(image, at + LAYOUT.section_offset)?, word(image, at + LAYOUT.section_size)?)?;
            }
        }
        Ok(())
    }

    /// Headers that lie one after the other.
    struct Table {
        start: usize,
        size: usize,
        count: usize,
    }

    impl Table {
        fn entries(&self) -> impl Iterator<Item = usize> {
            let (start, size) = (self.start, self.size);
            // The table lies inside the image, so nothing overflows.
            (0..self.count).map(move |index| start + index * size)
        }
    }

    /// The table whose start stands at `offset`, its entries' size and number at `counts`.
    fn table(image: &[u8], offset: usize, counts: usize) -> Result<Table, Fault> {
        let start = word(image, offset)?;
        let (size, count) = (number(image, counts, 2)?, number(image, counts + 2, 2)?);
        inside(image, start, size * count)?;
        let narrow = |number: u64| usize::try_from(number).map_err(|_| Fault::Short(number));
        Ok(Table { start: narrow(start)?, size: narrow(size)?, count: narrow(count)? })
    }

    /// That `size` bytes from `start` lie in the image.
    fn inside(image: &[u8], start: u64, size: u64) -> Result<(), Fault> {
        let end = start.saturating_add(size);
        if u64::try_from(image.len()).is_ok_and(|length| end <= length) { Ok(()) } else { Err(Fault::Short(end)) }
    }

    fn word(image: &[u8], at: usize) -> Result<u64, Fault> {
        number(image, at, LAYOUT.word)
    }

    /// The number of `width` bytes at `at`, in this machine's byte order.
    fn number(image: &[u8], at: usize, width: usize) -> Result<u64, Fault> {
        let end = at.saturating_add(width);
        let bytes = image.get(at..end).ok_or_else(|| Fault::Short(u64::try_from(end).unwrap_or(u64::MAX)))?;
        let value = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
        Ok(if cfg!(target_endian = "little") { bytes.iter().rev().fold(0, value) } else { bytes.iter().fold(0, value) })
    }
}

#[cfg(target_vendor = "apple")]
mod format {
    //! Mach-O, for one processor or several.

    use super::Fault;

    pub(super) fn check(image: &[u8]) -> Result<(), Fault> {
        let thin = image.starts_with(&0xfeed_facf_u32.to_ne_bytes());
        let fat = image.starts_with(&0xcafe_babe_u32.to_be_bytes());
        if thin || fat { Ok(()) } else { Err(Fault::Foreign("it does not begin as a Mach-O file does")) }
    }
}

#[cfg(windows)]
mod format {
    //! PE: a DOS header that names the offset of the PE header.

    use super::Fault;

    pub(super) fn check(image: &[u8]) -> Result<(), Fault> {
        let foreign = Fault::Foreign("it does not begin as a PE file does");
        let offset = image.get(60..64).filter(|_| image.starts_with(b"MZ")).and_then(|bytes| bytes.try_into().ok());
        let Some(offset) = offset.map(u32::from_le_bytes) else { return Err(foreign) };
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        match image.get(start..start.saturating_add(4)) {
            Some(b"PE\0\0") => Ok(()),
            Some(_) => Err(foreign),
            None => Err(Fault::Short(u64::from(offset) + 4)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_library_says_why() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.so");
        assert!(matches!(check(&path, 9), Err(LoadError::Unreadable { .. })));
        assert!(matches!(check(directory.path(), 9), Err(LoadError::NotALibrary { why: "it is no regular file", .. })));
        fs::write(&path, "").unwrap();
        assert!(matches!(check(&path, 9), Err(LoadError::NotALibrary { why: "it is too small", .. })));
        fs::write(&path, [b'x'; 100]).unwrap();
        assert!(matches!(check(&path, 99), Err(LoadError::TooLarge { size: 100, most: 99, .. })));
        assert!(matches!(check(&path, 100), Err(LoadError::NotALibrary { .. })));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn every_beginning_of_a_real_image_is_refused_without_opening_it() {
        let mut image = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(format::check(&image), Ok(()), "a test binary is position-independent, so it passes as a library");
        while image.pop().is_some() {
            assert!(matches!(format::check(&image), Err(Fault::Short(_) | Fault::Foreign(_))));
            image.truncate(image.len() * 9 / 10);
        }
    }
}
