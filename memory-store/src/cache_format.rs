//! What the cache files beside a log begin with: what they are, and of which store.

use std::{
    fs::{File, OpenOptions},
    io,
    path::Path,
};

use memory_core::{ConversationId, Hash, ModelId};
use memory_files::{Links, or_missing};

use crate::{checksum, log::StoreId};

/// Bytes at the beginning of a cache file that say what it is and of which store.
pub(crate) const NAMED_BY: usize = 8 + 4 + 16;

/// No cache file that is read as a whole is longer.
const LONGEST: u64 = 4 << 30;

/// All of a cache file. What is no regular file is missing: it is made again.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    memory_files::read(path, Links::Refuse, LONGEST).or_else(or_missing)
}

/// Opens a cache file for reading, as [`read`] does.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    memory_files::open(path, Links::Refuse).or_else(or_missing)
}

/// Opens a cache file for writing, as [`read`] does.
pub(crate) fn open_written(path: &Path) -> io::Result<File> {
    memory_files::open_with(OpenOptions::new().read(true).write(true), path, Links::Refuse).or_else(or_missing)
}

/// Makes a cache file, empty, in place of whatever stands there. The caller has the [turn](crate::turn::Turn).
pub(crate) fn create(path: &Path) -> io::Result<File> {
    memory_files::make_way(path)?;
    let mut options = memory_files::options();
    memory_files::open_with(options.read(true).write(true).create(true).truncate(true), path, Links::Refuse)
}

/// A kind of cache file. Its version is a number of its own, apart from that of the store's format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheFormat {
    pub(crate) magic: [u8; 8],
    pub(crate) version: u32,
}

impl CacheFormat {
    /// The first bytes of a file that is derived from the log of this store.
    fn named_by(self, store: StoreId) -> Vec<u8> {
        [self.magic.as_slice(), &self.version.to_le_bytes(), &store].concat()
    }

    /// Whether the file that begins with `header` was derived from the log of this store.
    pub(crate) fn is_of_store(self, header: &[u8; NAMED_BY], store: StoreId) -> bool {
        self.named_by(store) == header
    }

    /// Names everything that must be the same for a file to be of use; compared as a whole. `fields` stand before the
    /// names, of which each has its length before it, and a checksum over all ends it.
    pub(crate) fn header(self, store: StoreId, fields: &[u8], names: [&str; 2]) -> Vec<u8> {
        let mut out = self.named_by(store);
        out.extend_from_slice(fields);
        for name in names {
            out.extend_from_slice(&(name.len() as u64).to_le_bytes());
            out.extend_from_slice(name.as_bytes());
        }
        let crc = checksum::crc32c(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }
}

/// What the files of a conversation and a model are called, but for their extensions.
pub(crate) fn file_name(conversation: &ConversationId, model: &ModelId) -> String {
    Hash::of_parts([conversation.as_str().as_bytes(), model.as_str().as_bytes()]).to_string()
}

/// Whether what was read is not what should be there, so that it is made anew. Any other failure, as of a process that has
/// no descriptors or no memory left, says nothing about the file: it is not to be taken for damaged.
pub(crate) fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData)
}
