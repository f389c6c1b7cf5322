//! Limits of readers.

/// Limits on the input of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a record: a line, or an element of a list, such as a conversation of an export. Memory is proportional
    /// to the largest record.
    pub record: u64,
    /// Bytes that an archive may unpack to.
    pub unpacked: u64,
    /// Maximum ratio of unpacked to packed bytes; applies above 64 MiB.
    pub ratio: u64,
    /// Files of a directory or archive.
    pub files: usize,
}

impl Default for Limits {
    /// Records of 64 MiB, archives of 16 GiB with a ratio of 400, and 100,000 files.
    fn default() -> Self {
        Self { record: 64 << 20, unpacked: 16 << 30, ratio: 400, files: 100_000 }
    }
}

impl Limits {
    memory_core::setters! { const record: u64, const unpacked: u64, const ratio: u64, const files: usize }
}
