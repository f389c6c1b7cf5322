//! The bytes of a backup's files: read, copied and hashed block by block.

use std::io;

use memory_core::Hash;

use crate::log::media::{MediaFile, read_from};

const AT_ONCE: usize = 1 << 20;

/// Passes the first `length` bytes of a file to a function, block by block.
fn each_block(
    file: &dyn MediaFile,
    length: u64,
    progress: &dyn Fn(u64),
    mut each: impl FnMut(&[u8], u64) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffer = vec![0; AT_ONCE.min(usize::try_from(length).unwrap_or(AT_ONCE))];
    let mut at = 0;
    while at < length {
        let wanted = usize::try_from(length - at).unwrap_or(AT_ONCE).min(buffer.len());
        let block = buffer.get_mut(..wanted).unwrap_or_default();
        let read = file.read_at(block, at)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        each(block.get(..read).unwrap_or_default(), at)?;
        at += read as u64;
        progress(at);
    }
    Ok(())
}

/// The BLAKE3 hash of the first `length` bytes of a file.
pub(super) fn hash(file: &dyn MediaFile, length: u64, progress: &dyn Fn(u64)) -> io::Result<Hash> {
    let mut hasher = blake3::Hasher::new();
    each_block(file, length, progress, |block, _| {
        hasher.update(block);
        Ok(())
    })?;
    Ok(Hash::from_bytes(*hasher.finalize().as_bytes()))
}

/// Copies the first `length` bytes of a file; returns their BLAKE3 hash.
pub(super) fn copy_bytes(
    from: &dyn MediaFile,
    to: &dyn MediaFile,
    length: u64,
    progress: &dyn Fn(u64),
) -> io::Result<Hash> {
    let mut hasher = blake3::Hasher::new();
    each_block(from, length, progress, |block, at| {
        hasher.update(block);
        to.write_at(block, at)
    })?;
    Ok(Hash::from_bytes(*hasher.finalize().as_bytes()))
}

/// The contents of a small file; more than `most` bytes are an error.
pub(super) fn read_small(file: &dyn MediaFile, most: u64) -> io::Result<Vec<u8>> {
    if file.size()? > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    read_from(file, 0)
}
