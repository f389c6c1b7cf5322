//! Sources of the bytes of a compressed segment.

use std::io;

use crate::log::media::MediaFile;

/// Bytes that are read by position: a file, or a buffer.
pub trait ReadAt {
    /// Number of bytes.
    ///
    /// # Errors
    /// When the system does not report it.
    fn size(&self) -> io::Result<u64>;

    /// Reads up to `buffer.len()` bytes from `offset`; fewer only at the end.
    ///
    /// # Errors
    /// When reading fails.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl ReadAt for [u8] {
    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.get(offset..)).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        if let Some((to, from)) = buffer.get_mut(..length).zip(rest.get(..length)) {
            to.copy_from_slice(from);
        }
        Ok(length)
    }
}

impl ReadAt for dyn MediaFile + '_ {
    fn size(&self) -> io::Result<u64> {
        MediaFile::size(self)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        MediaFile::read_at(self, buffer, offset)
    }
}

/// Exactly `length` bytes from `offset`.
pub(super) fn read_exact<F: ReadAt + ?Sized>(file: &F, offset: u64, length: u32) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length as usize];
    if file.read_at(&mut bytes, offset)? < bytes.len() {
        return Err(damaged("the compressed segment is cut short"));
    }
    Ok(bytes)
}

/// The error for bytes that could be read but are wrong.
pub(super) fn damaged(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
