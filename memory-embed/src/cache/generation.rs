//! One file of a cache: a header, and records that are only ever appended.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

use memory_files::{Links, open_with, or_missing};

use super::{Digest, Vectors};

const MAGIC: [u8; 8] = *b"MEMEMBED";
const FORMAT: u32 = 1;
/// Magic, format, name, check of the key, checksum.
const HEADER: usize = 64;
/// Digest, components, vectors, checksum of the vectors, checksum of this.
const RECORD: usize = 48;
/// The most that the vectors of a text take. A longer text is not kept.
const MAX_RECORD: u64 = 64 << 20;

/// Tells one file from the next under the same path.
pub(super) type Name = [u8; 16];

#[derive(Debug)]
pub(super) struct Generation {
    file: File,
    name: Name,
    /// Where the good records end, as far as the file was read.
    end: u64,
    places: HashMap<Digest, Place>,
}

/// Where the vectors of a text lie.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: u64,
    dimensions: u32,
    vectors: u32,
    crc: u32,
}

impl Place {
    fn bytes(&self) -> u64 {
        (u64::from(self.dimensions) * u64::from(self.vectors)).saturating_mul(4)
    }
}

/// Bytes that the vectors of a text take in a file.
pub(super) fn size_of(vectors: &Vectors) -> u64 {
    let components: usize = vectors.iter().map(Vec::len).sum();
    RECORD as u64 + 4 * components as u64
}

impl Generation {
    /// The name of the file at `path`; `None` if it is not there, or not one of this key and format.
    pub(super) fn name(path: &Path, check: &Digest) -> io::Result<Option<Name>> {
        Ok(open(path, check)?.map(|(_, name)| name))
    }

    /// The file at `path`, not read yet; `None` as for [`name`](Self::name).
    pub(super) fn open(path: &Path, check: &Digest) -> io::Result<Option<Self>> {
        let generation = |(file, name)| Self { file, name, end: HEADER as u64, places: HashMap::new() };
        Ok(open(path, check)?.map(generation))
    }

    /// An empty file in place of whatever is at `path`.
    pub(super) fn create(directory: &Path, path: &Path, check: &Digest) -> io::Result<Self> {
        let name = fastrand::u128(..).to_le_bytes();
        let mut partial = tempfile::Builder::new().prefix(".recent-").tempfile_in(directory)?;
        partial.write_all(&header(&name, check))?;
        let file = partial.persist(path).map_err(|error| error.error)?;
        Ok(Self { file, name, end: HEADER as u64, places: HashMap::new() })
    }

    pub(super) fn id(&self) -> Name {
        self.name
    }

    /// Where the next record goes.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Learns of the records that were appended since; stops before the first that is not whole.
    pub(super) fn refresh(&mut self) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        let mut header = [0; RECORD];
        while self.end + (RECORD as u64) <= length {
            self.file.seek(SeekFrom::Start(self.end))?;
            self.file.read_exact(&mut header)?;
            let at = self.end + RECORD as u64;
            let Some((digest, place)) = decode(&header, at) else { break };
            if place.bytes() > MAX_RECORD || at + place.bytes() > length {
                break;
            }
            self.places.insert(digest, place);
            self.end = at + place.bytes();
        }
        Ok(())
    }

    /// The vectors under `digest`. Those that are damaged are forgotten.
    pub(super) fn get(&mut self, digest: &Digest) -> Option<Vectors> {
        let place = *self.places.get(digest)?;
        let read = self.read(&place);
        if read.is_none() {
            tracing::warn!(at = place.at, "a cached embedding is damaged and is made again");
            self.places.remove(digest);
        }
        read
    }

    fn read(&mut self, place: &Place) -> Option<Vectors> {
        // At most MAX_RECORD, and no more than the file had.
        let mut bytes = vec![0; usize::try_from(place.bytes()).ok()?];
        self.file.seek(SeekFrom::Start(place.at)).ok()?;
        self.file.read_exact(&mut bytes).ok()?;
        if crc32c::crc32c(&bytes) != place.crc {
            return None;
        }
        let dimensions = usize::try_from(place.dimensions).ok()?;
        let (components, _) = bytes.as_chunks::<4>();
        let components: Vec<f32> = components.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        Some(components.chunks_exact(dimensions).map(<[f32]>::to_vec).collect())
    }

    /// Writes records behind the last good one, in one call. Only under the lock.
    pub(super) fn append(&mut self, records: &[(Digest, Vectors)]) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut places = Vec::with_capacity(records.len());
        for (digest, vectors) in records {
            let dimensions = vectors.first().map_or(0, Vec::len);
            let body: Vec<u8> = vectors.iter().flatten().flat_map(|component| component.to_le_bytes()).collect();
            let place = Place {
                at: self.end + (bytes.len() + RECORD) as u64,
                dimensions: u32::try_from(dimensions).unwrap_or(0),
                vectors: u32::try_from(vectors.len()).unwrap_or(0),
                crc: crc32c::crc32c(&body),
            };
            let is_even = vectors.iter().all(|vector| vector.len() == dimensions);
            if body.is_empty() || !is_even || place.bytes() != body.len() as u64 || place.bytes() > MAX_RECORD {
                continue;
            }
            bytes.extend_from_slice(&encode(digest, &place));
            bytes.extend_from_slice(&body);
            places.push((*digest, place));
        }
        // What a write that was cut short left.
        self.file.set_len(self.end)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(&bytes)?;
        self.end += bytes.len() as u64;
        self.places.extend(places);
        Ok(())
    }
}

fn open(path: &Path, check: &Digest) -> io::Result<Option<(File, Name)>> {
    // Written to by whoever holds the lock; a file that can only be read is of use too.
    let writable = open_with(File::options().read(true).write(true), path, Links::Refuse);
    let opened = writable.or_else(|error| match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => memory_files::open(path, Links::Refuse),
        _ => or_missing(error),
    });
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut found = [0; HEADER];
    match file.read_exact(&mut found) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let name = found.get(12..28).and_then(|name| name.try_into().ok()).unwrap_or_default();
    Ok((header(&name, check) == found).then_some((file, name)))
}

fn header(name: &Name, check: &Digest) -> [u8; HEADER] {
    let fields = [&MAGIC[..], &FORMAT.to_le_bytes(), name, check];
    checked(&fields)
}

fn encode(digest: &Digest, place: &Place) -> [u8; RECORD] {
    checked(&[digest, &place.dimensions.to_le_bytes(), &place.vectors.to_le_bytes(), &place.crc.to_le_bytes()])
}

fn decode(header: &[u8; RECORD], at: u64) -> Option<(Digest, Place)> {
    let (digest, rest) = header.split_first_chunk::<32>()?;
    let (numbers, _) = rest.as_chunks::<4>();
    let [dimensions, vectors, crc, _] = *numbers else { return None };
    let place = Place {
        at,
        dimensions: u32::from_le_bytes(dimensions),
        vectors: u32::from_le_bytes(vectors),
        crc: u32::from_le_bytes(crc),
    };
    (encode(digest, &place) == *header && place.bytes() > 0).then_some((*digest, place))
}

/// The fields one after another, and a checksum of them in the last four bytes.
fn checked<const N: usize>(fields: &[&[u8]]) -> [u8; N] {
    let mut bytes = [0; N];
    let sum = crc32c::crc32c(&fields.concat()).to_le_bytes();
    for (byte, field) in bytes.iter_mut().zip(fields.iter().copied().flatten().chain(&sum)) {
        *byte = *field;
    }
    bytes
}
