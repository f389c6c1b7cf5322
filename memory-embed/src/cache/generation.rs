//! One file of a cache: a header and append-only records.

use std::{collections::HashMap, fs::File, io, path::Path};

use memory_files::{DataFile, Links, open_with, or_missing, seal::KeySet};
use tempfile::NamedTempFile;

use super::{TextHash, Vectors};
use crate::files::if_there;

const MAGIC: [u8; 8] = *b"MEMEMBED";
/// Format 1 had no hash of only the text, so that no text could be forgotten.
const FORMAT: u32 = 2;
/// Name prefix of an unfinished file.
pub(super) const PARTIAL: &str = ".recent-";
/// Magic, format, id, key check, checksum.
const HEADER: usize = 64;
/// Hash, components, vectors, checksum of the vectors, checksum of this header.
const RECORD: usize = 48;
/// Maximum bytes of the vectors of one text. Larger ones are not cached.
const MAX_RECORD: u64 = 64 << 20;

/// Mark of the files of a cache, and the keys that they are encrypted with.
#[derive(Debug)]
pub(super) struct Check {
    /// Check value in each header that identifies files of this key.
    pub(super) of_key: [u8; 32],
    pub(super) keys: KeySet,
}

/// Distinguishes a file from its successor under the same path.
pub(super) type GenerationId = [u8; 16];

#[derive(Debug)]
pub(super) struct Generation {
    file: DataFile,
    id: GenerationId,
    /// End of the valid records so far.
    end: u64,
    locations: HashMap<TextHash, Location>,
}

/// Location of a text's vectors.
#[derive(Clone, Copy, Debug)]
struct Location {
    at: u64,
    dimensions: u32,
    vectors: u32,
    crc: u32,
}

impl Location {
    fn bytes(&self) -> u64 {
        (u64::from(self.dimensions) * u64::from(self.vectors)).saturating_mul(4)
    }
}

/// Bytes of a record with these vectors.
pub(super) fn size_of(vectors: &Vectors) -> u64 {
    let components: usize = vectors.iter().map(Vec::len).sum();
    RECORD as u64 + 4 * components as u64
}

impl Generation {
    /// The id of the file at `path`; `None` if it is missing or has another key or format.
    pub(super) fn id_at(path: &Path, check: &Check) -> io::Result<Option<GenerationId>> {
        Ok(open(path, check)?.map(|(_, id)| id))
    }

    /// Opens the file at `path` without reading its records; `None` as in [`id_at`](Self::id_at).
    pub(super) fn open(path: &Path, check: &Check) -> io::Result<Option<Self>> {
        let generation = |(file, id)| Self { file, id, end: HEADER as u64, locations: HashMap::new() };
        Ok(open(path, check)?.map(generation))
    }

    /// Replaces the file at `path` with an empty one.
    pub(super) fn create(directory: &Path, path: &Path, check: &Check) -> io::Result<Self> {
        let (partial, generation) = Self::begin(directory, check)?;
        partial.persist(path).map_err(|error| error.error)?;
        Ok(generation)
    }

    /// Creates an empty file without a name.
    fn begin(directory: &Path, check: &Check) -> io::Result<(NamedTempFile, Self)> {
        let id = fastrand::u128(..).to_le_bytes();
        let partial = tempfile::Builder::new().prefix(PARTIAL).tempfile_in(directory)?;
        let file = DataFile::create(partial.reopen()?, &check.keys)?;
        file.write_all_at(&header(&id, &check.of_key), 0)?;
        Ok((partial, Self { file, id, end: HEADER as u64, locations: HashMap::new() }))
    }

    /// Replaces the file at `path`, which is this one, with some of its records. The caller holds the lock.
    pub(super) fn retain(
        &mut self,
        directory: &Path,
        path: &Path,
        check: &Check,
        is_kept: impl Fn(&TextHash) -> bool,
    ) -> io::Result<()> {
        let (partial, mut rest) = Self::begin(directory, check)?;
        let mut kept: Vec<_> =
            self.locations.iter().filter(|(hash, _)| is_kept(hash)).map(|(h, at)| (*h, *at)).collect();
        kept.sort_unstable_by_key(|(_, location)| location.at);
        for (hash, location) in kept {
            if let Some(vectors) = self.read(&location) {
                rest.append(&[(hash, vectors)])?;
            }
        }
        rest.file.sync_all()?;
        partial.persist(path).map_err(|error| error.error)?;
        Ok(())
    }

    /// True if a record has a hash that `is_sought` accepts.
    pub(super) fn holds(&self, is_sought: impl Fn(&TextHash) -> bool) -> bool {
        self.locations.keys().any(is_sought)
    }

    /// True if no bytes follow the valid records.
    pub(super) fn is_whole(&self) -> io::Result<bool> {
        Ok(self.file.size()? <= self.end)
    }

    pub(super) fn texts(&self) -> u64 {
        self.locations.len() as u64
    }

    /// Number of texts with damaged vectors.
    pub(super) fn damaged(&mut self) -> usize {
        let all: Vec<Location> = self.locations.values().copied().collect();
        all.iter().filter(|location| self.read(location).is_none()).count()
    }

    pub(super) fn id(&self) -> GenerationId {
        self.id
    }

    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Reads the headers of appended records up to the first incomplete one.
    pub(super) fn refresh(&mut self) -> io::Result<()> {
        let length = self.file.size()?;
        let mut header = [0; RECORD];
        while self.end + (RECORD as u64) <= length {
            self.file.read_exact_at(&mut header, self.end)?;
            let at = self.end + RECORD as u64;
            let Some((hash, location)) = decode(&header, at) else { break };
            if location.bytes() > MAX_RECORD || at + location.bytes() > length {
                break;
            }
            self.locations.insert(hash, location);
            self.end = at + location.bytes();
        }
        Ok(())
    }

    /// Vectors under `hash`. Damaged vectors are dropped.
    pub(super) fn get(&mut self, hash: &TextHash) -> Option<Vectors> {
        let location = *self.locations.get(hash)?;
        let read = self.read(&location);
        if read.is_none() {
            tracing::warn!(at = location.at, "a cached embedding is damaged and is computed again");
            self.locations.remove(hash);
        }
        read
    }

    fn read(&mut self, location: &Location) -> Option<Vectors> {
        // At most MAX_RECORD, and within the file.
        let mut bytes = vec![0; usize::try_from(location.bytes()).ok()?];
        self.file.read_exact_at(&mut bytes, location.at).ok()?;
        if crc32c::crc32c(&bytes) != location.crc {
            return None;
        }
        let dimensions = usize::try_from(location.dimensions).ok()?;
        let (components, _) = bytes.as_chunks::<4>();
        let components: Vec<f32> = components.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        Some(components.chunks_exact(dimensions).map(<[f32]>::to_vec).collect())
    }

    /// Writes records after the last valid one, in one call. The caller holds the lock.
    pub(super) fn append(&mut self, records: &[(TextHash, Vectors)]) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut locations = Vec::with_capacity(records.len());
        for (hash, vectors) in records {
            let dimensions = vectors.first().map_or(0, Vec::len);
            let body: Vec<u8> = vectors.iter().flatten().flat_map(|component| component.to_le_bytes()).collect();
            let location = Location {
                at: self.end + (bytes.len() + RECORD) as u64,
                dimensions: u32::try_from(dimensions).unwrap_or(0),
                vectors: u32::try_from(vectors.len()).unwrap_or(0),
                crc: crc32c::crc32c(&body),
            };
            let is_uniform = vectors.iter().all(|vector| vector.len() == dimensions);
            if body.is_empty() || !is_uniform || location.bytes() != body.len() as u64 || location.bytes() > MAX_RECORD
            {
                continue;
            }
            bytes.extend_from_slice(&encode(hash, &location));
            bytes.extend_from_slice(&body);
            locations.push((*hash, location));
        }
        // Truncates a torn write.
        self.file.set_size(self.end)?;
        self.file.write_all_at(&bytes, self.end)?;
        self.end += bytes.len() as u64;
        self.locations.extend(locations);
        Ok(())
    }
}

fn open(path: &Path, check: &Check) -> io::Result<Option<(DataFile, GenerationId)>> {
    // Falls back to opening the file read-only.
    let writable = open_with(File::options().read(true).write(true), path, Links::Refuse);
    let opened = writable.or_else(|error| match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => memory_files::open(path, Links::Refuse),
        _ => or_missing(error),
    });
    let Some(file) = if_there(opened)? else { return Ok(None) };
    let mut found = [0; HEADER];
    let read = DataFile::of(file, &check.keys).and_then(|file| file.read_exact_at(&mut found, 0).map(|()| file));
    let file = match read {
        Ok(file) => file,
        // A file that is cut short, or not encrypted as the store is, is replaced.
        Err(error) if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let id = found.get(12..28).and_then(|id| id.try_into().ok()).unwrap_or_default();
    Ok((header(&id, &check.of_key) == found).then_some((file, id)))
}

fn header(id: &GenerationId, check: &[u8; 32]) -> [u8; HEADER] {
    let fields = [&MAGIC[..], &FORMAT.to_le_bytes(), id, check];
    with_checksum(&fields)
}

fn encode(hash: &TextHash, location: &Location) -> [u8; RECORD] {
    with_checksum(&[
        hash,
        &location.dimensions.to_le_bytes(),
        &location.vectors.to_le_bytes(),
        &location.crc.to_le_bytes(),
    ])
}

fn decode(header: &[u8; RECORD], at: u64) -> Option<(TextHash, Location)> {
    let (hash, rest) = header.split_first_chunk::<32>()?;
    let (numbers, _) = rest.as_chunks::<4>();
    let [dimensions, vectors, crc, _] = *numbers else { return None };
    let location = Location {
        at,
        dimensions: u32::from_le_bytes(dimensions),
        vectors: u32::from_le_bytes(vectors),
        crc: u32::from_le_bytes(crc),
    };
    (encode(hash, &location) == *header && location.bytes() > 0).then_some((*hash, location))
}

/// Concatenates the fields and their checksum, which takes the last four bytes.
fn with_checksum<const N: usize>(fields: &[&[u8]]) -> [u8; N] {
    let mut bytes = [0; N];
    let sum = crc32c::crc32c(&fields.concat()).to_le_bytes();
    for (byte, field) in bytes.iter_mut().zip(fields.iter().copied().flatten().chain(&sum)) {
        *byte = *field;
    }
    bytes
}
