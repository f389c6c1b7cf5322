//! Headers of derived files: kind, version, store and names.

use memory_core::Hash;

use crate::{checksum, wire::In};

/// Bytes at the start of a file with its kind, version and store.
pub(crate) const NAMED_BY: usize = 8 + 4 + 16;

/// Maximum bytes of a name.
const LONGEST_NAME: usize = 4096;

/// A kind of derived file, with a version independent of the store's format version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    pub(super) magic: [u8; 8],
    pub(super) version: u32,
}

pub(super) const VECTORS: Format = Format { magic: *b"MEMVEC\r\n", version: 4 };
/// Vector rows are unchanged since version 3.
pub(super) const VECTOR_ROWS: Format = Format { version: 3, ..VECTORS };
pub(super) const TOKENS: Format = Format { magic: *b"MEMTOK\r\n", version: 3 };
pub(super) const WORDS: Format = Format { magic: *b"MEMBLK\r\n", version: 3 };
/// Packs: files of many conversations, with a header of their own after the store.
pub(super) const PACKS: Format = Format { magic: *b"MEMPACK\n", version: 1 };
pub(super) const GRAPH: Format = Format { magic: *b"MEMHNSW\n", version: 3 };

/// True if a file that begins with `header` contains vectors, tokens or words derived from the log of this store, of
/// one conversation or many, in a readable format.
pub(crate) fn is_of_store(header: &[u8; NAMED_BY], store: [u8; 16]) -> bool {
    [VECTORS, VECTOR_ROWS, TOKENS, WORDS, PACKS].iter().any(|format| format.named_by(store) == header)
}

/// A parsed header.
#[derive(Debug)]
pub(super) struct Header<'a> {
    pub(super) store: [u8; 16],
    pub(super) fields: &'a [u8],
    pub(super) names: [&'a str; 2],
    /// Bytes after the header.
    pub(super) rest: &'a [u8],
}

/// Why bytes are not a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadHeader {
    /// The bytes end too soon.
    Short,
    /// The bytes have another format.
    Format,
    Damaged,
}

impl Format {
    /// Parses a header that [`Self::header`] wrote, with any names and this many bytes of fields.
    pub(super) fn read(self, bytes: &[u8], fields: usize) -> Result<Header<'_>, BadHeader> {
        let short = BadHeader::Short;
        let mut rest = In(bytes);
        let (magic, version) = (rest.array().ok_or(short)?, rest.array().ok_or(short)?);
        if magic != self.magic || u32::from_le_bytes(version) != self.version {
            return Err(BadHeader::Format);
        }
        let (store, fields) = (rest.array().ok_or(short)?, rest.take(fields).ok_or(short)?);
        let mut name = || {
            let length = usize::try_from(u64::from_le_bytes(rest.array().ok_or(short)?)).ok();
            let length = length.filter(|length| *length <= LONGEST_NAME).ok_or(BadHeader::Damaged)?;
            rest.take(length).ok_or(short)
        };
        let names = [name()?, name()?];
        let covered = bytes.len() - rest.0.len();
        let crc = u32::from_le_bytes(rest.array().ok_or(short)?);
        if bytes.get(..covered).map(checksum::crc32c) != Some(crc) {
            return Err(BadHeader::Damaged);
        }
        let [first, second] = names.map(|name| str::from_utf8(name).map_err(|_| BadHeader::Damaged));
        Ok(Header { store, fields, names: [first?, second?], rest: rest.0 })
    }

    /// First bytes of a file that is derived from the log of this store.
    pub(super) fn named_by(self, store: [u8; 16]) -> Vec<u8> {
        [self.magic.as_slice(), &self.version.to_le_bytes(), &store].concat()
    }

    /// The header, which contains everything that must match for a file to be valid and is compared as a whole:
    /// `fields`, then each name after its length, then a checksum.
    pub(super) fn header(self, store: [u8; 16], fields: &[u8], names: [&str; 2]) -> Vec<u8> {
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

/// Stem of the file names for a conversation and a model.
pub(super) fn file_name(conversation: &str, model: &str) -> String {
    Hash::of_parts([conversation.as_bytes(), model.as_bytes()]).to_string()
}
