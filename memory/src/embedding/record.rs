//! The record of the model of a store's vectors, a file in the store.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use memory_core::port::Embedder;
use memory_files::Links;

/// Name of the record in the store's directory.
const NAME: &str = "MODEL";

const FIRST_LINE: &str = "memory-model 1";
/// Limit on the bytes of a record, above any real size: the name of a model is a path at most.
const LARGEST: u64 = 1 << 20;

/// The record of a store's embedding model. `docs/format.md` defines its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelRecord {
    /// Name of the model when it was chosen, which finds it again.
    pub name: String,
    /// Id of the model, which identifies its vectors.
    pub id: String,
    /// Number of components of a vector.
    pub dimensions: usize,
}

/// Reasons why the record cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The file cannot be read or written.
    #[error("cannot read or write {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Cause of the failure.
        #[source]
        source: io::Error,
    },
    /// The file is damaged.
    #[error(
        "{path} is damaged: remove it, and the next command chooses the model anew and embeds what has no vectors by it"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
    },
}

impl ModelRecord {
    /// The record of `embedder`, which `name` finds again.
    #[must_use]
    pub fn of(name: &str, embedder: &dyn Embedder) -> Self {
        Self { name: name.to_owned(), id: embedder.model().as_str().to_owned(), dimensions: embedder.dimensions() }
    }

    /// Reads the record of the store in `store`; `None` if it has none yet.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read.
    pub fn read(store: &Path) -> Result<Option<Self>, RecordError> {
        let path = store.join(NAME);
        match memory_files::read(&path, Links::Refuse, LARGEST) {
            Ok(bytes) => Self::decode(&bytes).map(Some).ok_or(RecordError::Damaged { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(RecordError::Io { path, source }),
        }
    }

    /// Writes the record into the store atomically, replacing the earlier one.
    ///
    /// # Errors
    /// If the file cannot be written; the earlier record stays.
    pub fn write(&self, store: &Path) -> Result<(), RecordError> {
        let path = store.join(NAME);
        self.replace(store, &path).map_err(|source| RecordError::Io { path, source })
    }

    fn replace(&self, store: &Path, path: &Path) -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".model-").tempfile_in(store)?;
        file.write_all(self.encode().as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        #[cfg(unix)]
        fs::File::open(store)?.sync_all()?;
        Ok(())
    }

    fn encode(&self) -> String {
        let Self { name, id, dimensions } = self;
        let body = format!("{FIRST_LINE}\nname {name}\nid {id}\ndimensions {dimensions}\n");
        let crc = crc32c::crc32c(body.as_bytes());
        format!("{body}crc32c {crc:08x}\n")
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let text = str::from_utf8(bytes).ok()?;
        let mut lines = text.lines();
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let version = field("memory-model")?;
        let record = Self {
            name: field("name")?.to_owned(),
            id: field("id")?.to_owned(),
            dimensions: field("dimensions")?.parse().ok()?,
        };
        (version == "1" && record.encode() == text).then_some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> ModelRecord {
        ModelRecord { name: "toy/int8".to_owned(), id: "toy/int8@0123".to_owned(), dimensions: 4 }
    }

    #[test]
    fn a_record_reads_back_and_is_replaced_whole() {
        let store = tempfile::tempdir().unwrap();
        assert_eq!(ModelRecord::read(store.path()).unwrap(), None);
        record().write(store.path()).unwrap();
        assert_eq!(ModelRecord::read(store.path()).unwrap(), Some(record()));
        let other = ModelRecord { name: "other".to_owned(), ..record() };
        other.write(store.path()).unwrap();
        assert_eq!(ModelRecord::read(store.path()).unwrap(), Some(other));
        assert_eq!(fs::read_dir(store.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_bytes_are_those_of_the_format() {
        let expected = "memory-model 1\nname toy/int8\nid toy/int8@0123\ndimensions 4\ncrc32c ";
        let encoded = record().encode();
        assert!(encoded.starts_with(expected) && encoded.len() == expected.len() + 9, "{encoded}");
    }

    #[test]
    fn any_damage_is_told() {
        let encoded = record().encode().into_bytes();
        for at in 0..encoded.len() {
            for bit in 0..8 {
                let mut damaged = encoded.clone();
                damaged[at] ^= 1 << bit;
                assert_eq!(ModelRecord::decode(&damaged), None, "bit {bit} of byte {at}");
            }
            assert_eq!(ModelRecord::decode(&encoded[..at]), None, "cut at {at}");
        }
        let store = tempfile::tempdir().unwrap();
        fs::write(store.path().join(NAME), "memory").unwrap();
        let error = ModelRecord::read(store.path()).unwrap_err();
        assert!(matches!(error, RecordError::Damaged { .. }), "{error}");
    }
}
