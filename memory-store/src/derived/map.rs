//! Memory-mapped rows of a cache file. An encrypted file is decrypted into memory once.

use std::{fmt, io, mem, slice};

use memory_files::DataFile;

use super::packs::{FileSource, Packed};

/// Offset of the first row: a cache line, so that rows of 384 dimensions are aligned to cache lines.
pub(super) const ROWS_AT: usize = 64;

/// Rows of a file, mapped.
pub(super) struct RowMap {
    of: Mapped,
    /// Bytes from the start of the file.
    length: usize,
}

/// Mapping of a file.
enum Mapped {
    Alone(memmap2::Mmap),
    /// In a pack, which is mapped once for all its files.
    Packed(Packed),
}

impl RowMap {
    /// Maps the first `bytes` bytes of rows.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file is shorter; other errors if it cannot be mapped.
    #[expect(unsafe_code, reason = "a map is unsafe while others may change the file")]
    pub(super) fn of(source: &FileSource, bytes: usize) -> io::Result<Self> {
        let length = bytes.checked_add(ROWS_AT).ok_or(io::ErrorKind::InvalidData)?;
        if source.len()? < length as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let file = match source {
            FileSource::Loose(file) => file,
            FileSource::Packed(packed) => return Ok(Self { of: Mapped::Packed(packed.clone()), length }),
        };
        if file.is_sealed() {
            return Ok(Self { of: Mapped::Alone(decrypted(file, length)?), length });
        }
        let file = file.file();
        // SAFETY: the bytes must not change under the slices. Rows that a block of the cache file names are never
        // written again and never cut off by this program: appending writes after them, and any other change makes a
        // new file and renames it over the name, while the map keeps the old one alive. Changes by other programs
        // cannot be ruled out: changed bytes fail their checksum, a cut ends the process with SIGBUS.
        let map = unsafe { memmap2::MmapOptions::new().len(length).map(file) }?;
        Ok(Self { of: Mapped::Alone(map), length })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        let all = match &self.of {
            Mapped::Alone(map) => map,
            Mapped::Packed(packed) => packed.bytes(),
        };
        all.get(ROWS_AT..self.length).unwrap_or_default()
    }

    pub(super) fn codes(&self) -> &[i8] {
        let bytes = self.bytes();
        #[expect(unsafe_code, reason = "bytes are seen as signed ones")]
        // SAFETY: both have one size, one alignment, and no invalid values; the slice lives as long as the map.
        unsafe {
            slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len())
        }
    }

    pub(super) fn components(&self) -> &[f32] {
        const { assert!(cfg!(target_endian = "little"), "components stand on disk as little-endian numbers") };
        let bytes = self.bytes();
        #[expect(unsafe_code, reason = "bytes are seen as numbers")]
        // SAFETY: a map begins at a page, and a file in a pack at a multiple of 64 (`Pack::open` looks), so byte 64 of
        // either is aligned. Every bit pattern is a number, and only whole ones are taken. The slice lives as long as
        // the map.
        unsafe {
            slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / mem::size_of::<f32>())
        }
    }
}

impl fmt::Debug for RowMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowMap({} bytes)", self.length)
    }
}

/// A file that this program replaces but never modifies.
pub(super) struct FileMap(memmap2::Mmap);

impl FileMap {
    /// Maps a whole file.
    ///
    /// # Errors
    /// If it cannot be mapped.
    #[expect(unsafe_code, reason = "a map is unsafe while others may change the file")]
    pub(super) fn of(file: &DataFile) -> io::Result<Self> {
        if file.is_sealed() {
            let length = usize::try_from(file.size()?).map_err(|_| io::ErrorKind::FileTooLarge)?;
            return decrypted(file, length).map(Self);
        }
        let file = file.file();
        // SAFETY: the bytes must not change under the slice. Only graphs and packs are mapped like this; the next one
        // is a new file, while the map keeps the old one alive. Changes by other programs cannot be ruled out: what is
        // read is checked when it is used, a cut ends the process.
        unsafe { memmap2::Mmap::map(file) }.map(Self)
    }
}

/// The first bytes of an encrypted file in memory of its own, which begins at a page as a mapped file does.
fn decrypted(file: &DataFile, length: usize) -> io::Result<memmap2::Mmap> {
    let mut memory = memmap2::MmapMut::map_anon(length.max(1))?;
    file.read_exact_at(memory.get_mut(..length).unwrap_or_default(), 0)?;
    memory.make_read_only()
}

impl AsRef<[u8]> for FileMap {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for FileMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileMap({} bytes)", self.0.len())
    }
}
