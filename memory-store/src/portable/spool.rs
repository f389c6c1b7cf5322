//! A stream that is kept in a temporary file while it is read, within a bound.

use std::{
    fs::File,
    io::{self, Read, Seek, Write},
};

/// Limits beyond which a file or a stream is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadLimits {
    /// Bytes of the longest line.
    pub line: u64,
    /// Bytes of a stream, which is kept in a temporary file because it is read twice.
    pub stream: u64,
}

impl Default for ReadLimits {
    /// A line of 64 MiB, a stream of 4 GiB.
    fn default() -> Self {
        Self { line: 64 << 20, stream: 4 << 30 }
    }
}

impl ReadLimits {
    memory_core::setters! { const line: u64, const stream: u64 }
}

/// The source of an [`io::Error`] for a stream that is longer than [`ReadLimits::stream`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it goes on after {0} bytes, and no more is kept of a stream: store it in a file and read that, or raise the limit \
     (`memory import --max-piped`)"
)]
pub struct StreamTooLong(pub u64);

/// Reads a stream, and keeps the bytes in a temporary file that has no name.
pub struct Spool<'a> {
    from: &'a mut dyn Read,
    file: File,
    most: u64,
    kept: u64,
}

impl std::fmt::Debug for Spool<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { most, kept, .. } = self;
        f.debug_struct("Spool").field("most", most).field("kept", kept).finish_non_exhaustive()
    }
}

impl<'a> Spool<'a> {
    /// Keeps at most `most` bytes of a stream.
    ///
    /// # Errors
    /// When no temporary file can be made.
    pub fn new(from: &'a mut dyn Read, most: u64) -> io::Result<Self> {
        Ok(Self { from, file: tempfile::tempfile()?, most, kept: 0 })
    }

    /// The file of the bytes that were read, at its beginning.
    ///
    /// # Errors
    /// When the file cannot be rewound.
    pub fn into_file(mut self) -> io::Result<File> {
        self.file.rewind()?;
        Ok(self.file)
    }
}

impl Read for Spool<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.kept += read as u64;
        if self.kept > self.most {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, StreamTooLong(self.most)));
        }
        self.file.write_all(buffer.get(..read).unwrap_or_default())?;
        Ok(read)
    }
}
