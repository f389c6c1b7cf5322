//! What is read at most.

/// Bounds of what a reader takes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a record: a line, or an element of a list, such as a whole conversation of an export. Memory grows with
    /// the largest record.
    pub record: u64,
    /// Bytes that an archive may unpack to.
    pub unpacked: u64,
    /// How many times its size an archive may unpack to, from 64 MiB on.
    pub ratio: u64,
    /// Files of a directory.
    pub files: usize,
}

impl Default for Limits {
    /// A record of 64 MiB, archives of 16 GiB that are packed at most 400 times, and 100,000 files.
    fn default() -> Self {
        Self { record: 64 << 20, unpacked: 16 << 30, ratio: 400, files: 100_000 }
    }
}

impl Limits {
    memory_core::setters! { const record: u64, const unpacked: u64, const ratio: u64, const files: usize }
}
