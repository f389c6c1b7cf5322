//! A pack: files of many conversations in one mapped file.

use std::{
    io,
    ops::Range,
    path::{Path, PathBuf},
};

use memory_core::Hash;
use memory_files::{DataFile, seal::KeySet};

use super::super::{disk, header::PACKS, map::FileMap};
use crate::{checksum, wire::In};

/// Magic, version, store, number of files, checksum of the directory, zeros, checksum over all of this.
const HEADER: usize = 64;
/// Name, padding zeros, offset, length, checksum of the file's bytes, zeros.
const ENTRY: usize = 96;
/// Maximum bytes of a file name.
const NAME: usize = 72;
/// Alignment of files within the pack, so that their rows are aligned.
const ALIGNED: usize = 64;

/// An opened pack.
#[derive(Debug)]
pub(in crate::derived) struct Pack {
    path: PathBuf,
    map: FileMap,
    files: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Entry<'a> {
    pub(super) name: &'a str,
    pub(super) place: Range<usize>,
    sum: u32,
}

#[derive(Debug)]
pub(super) struct NewEntry {
    pub(super) name: String,
    pub(super) length: u64,
}

impl Pack {
    /// Opens the pack at `path`.
    ///
    /// # Errors
    /// `InvalidData` if it is not a pack of this store, or its header or directory is damaged.
    pub(super) fn open(path: PathBuf, store: [u8; 16], keys: &KeySet) -> io::Result<Self> {
        let file = disk::open(&path, keys)?;
        if file.size()? < HEADER as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let map = FileMap::of(&file)?;
        let files = Self::check(map.as_ref(), store).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { path, map, files })
    }

    /// Number of its files; `None` if its header or directory is invalid.
    fn check(bytes: &[u8], store: [u8; 16]) -> Option<usize> {
        let (header, rest) = bytes.split_first_chunk::<HEADER>()?;
        let (fields, sum) = header.split_last_chunk::<4>()?;
        let named_by = PACKS.named_by(store);
        if !fields.starts_with(&named_by) || checksum::crc32c(fields) != u32::from_le_bytes(*sum) {
            return None;
        }
        let (files, fields) = fields.get(named_by.len()..)?.split_first_chunk::<4>()?;
        let files = usize::try_from(u32::from_le_bytes(*files)).ok()?;
        let directory = rest.get(..files.checked_mul(ENTRY)?)?;
        let is_good = checksum::crc32c(directory) == u32::from_le_bytes(*fields.first_chunk()?);
        let (entries, _) = directory.as_chunks::<ENTRY>();
        let within = |entry: &Entry<'_>| entry.place.end <= bytes.len() && entry.place.start.is_multiple_of(ALIGNED);
        let are_whole = entries.iter().all(|entry| Entry::read(entry).is_some_and(|entry| within(&entry)));
        (is_good && are_whole).then_some(files)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Number at the start of its name; later packs have higher numbers.
    pub(super) fn number(&self) -> u64 {
        let name = self.path.file_stem().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.split_once('-')).map(|(number, _)| number);
        number.and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    /// Bytes of the whole pack.
    pub(super) fn length(&self) -> u64 {
        self.map.as_ref().len() as u64
    }

    /// Its files, sorted by name.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        (0..self.files).filter_map(|at| self.entry(at))
    }

    fn entry(&self, at: usize) -> Option<Entry<'_>> {
        let begin = HEADER + at * ENTRY;
        Entry::read(self.map.as_ref().get(begin..begin + ENTRY)?.first_chunk()?)
    }

    /// Byte range of a file.
    pub(super) fn find(&self, name: &str) -> Option<Range<usize>> {
        let directory = self.bytes(HEADER..HEADER + self.files * ENTRY);
        let (entries, _) = directory.as_chunks::<ENTRY>();
        let wanted = padded(name)?;
        let at = entries.binary_search_by(|entry| entry.get(..NAME).unwrap_or_default().cmp(&wanted)).ok()?;
        entries.get(at).and_then(Entry::read).map(|entry| entry.place)
    }

    pub(in crate::derived) fn bytes(&self, place: Range<usize>) -> &[u8] {
        self.map.as_ref().get(place).unwrap_or_default()
    }

    /// True if no byte is damaged, including the zeros between files.
    pub(super) fn is_whole(&self) -> bool {
        let mut entries: Vec<_> = self.entries().collect();
        entries.sort_by_key(|entry| entry.place.start);
        let mut end = HEADER + self.files * ENTRY;
        for entry in entries {
            let is_good = checksum::crc32c(self.bytes(entry.place.clone())) == entry.sum;
            if !is_good || self.bytes(end..entry.place.start).iter().any(|byte| *byte != 0) {
                return false;
            }
            end = entry.place.end;
        }
        end == self.map.as_ref().len()
    }

    /// Writes a pack of these files, which are sorted by name and laid out in the order `laid`. `read` reads the file
    /// at an index of `entries`. Returns a hash of the contents.
    pub(super) fn write(
        file: &DataFile,
        store: [u8; 16],
        entries: &[NewEntry],
        laid: &[usize],
        mut read: impl FnMut(usize, &mut Vec<u8>) -> io::Result<()>,
    ) -> io::Result<Hash> {
        let mut at = (HEADER + entries.len() * ENTRY) as u64;
        let mut directory = vec![0; entries.len() * ENTRY];
        let mut bytes = Vec::new();
        for number in laid {
            let (Some(entry), (places, _)) = (entries.get(*number), directory.as_chunks_mut::<ENTRY>()) else {
                continue;
            };
            at = at.next_multiple_of(ALIGNED as u64);
            bytes.clear();
            read(*number, &mut bytes)?;
            if bytes.len() as u64 != entry.length || entry.name.len() > NAME {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a file changed while it was packed"));
            }
            file.write_all_at(&bytes, at)?;
            let sum = checksum::crc32c(&bytes);
            if let Some(place) = places.get_mut(*number) {
                Entry::write(place, &entry.name, at, entry.length, sum);
            }
            at += entry.length;
        }
        let mut header = PACKS.named_by(store);
        header.extend_from_slice(&u32::try_from(entries.len()).unwrap_or(u32::MAX).to_le_bytes());
        header.extend_from_slice(&checksum::crc32c(&directory).to_le_bytes());
        header.resize(HEADER - 4, 0);
        header.extend_from_slice(&checksum::crc32c(&header).to_le_bytes());
        header.extend_from_slice(&directory);
        file.write_all_at(&header, 0)?;
        file.sync_all()?;
        Ok(Hash::of_parts([header.as_slice()]))
    }
}

impl<'a> Entry<'a> {
    fn read(bytes: &'a [u8; ENTRY]) -> Option<Self> {
        let mut fields = In(bytes);
        let name = str::from_utf8(fields.take(NAME)?.split(|byte| *byte == 0).next()?).ok()?;
        let mut number = || usize::try_from(u64::from_le_bytes(fields.array()?)).ok();
        let (begin, length) = (number()?, number()?);
        let place = begin..begin.checked_add(length)?;
        Some(Self { name, place, sum: u32::from_le_bytes(fields.array()?) })
    }

    fn write(out: &mut [u8; ENTRY], name: &str, at: u64, length: u64, sum: u32) {
        let numbers = [at.to_le_bytes(), length.to_le_bytes()].concat();
        let name = padded(name).unwrap_or([0; NAME]);
        let fields = name.into_iter().chain(numbers).chain(sum.to_le_bytes());
        out.iter_mut().zip(fields).for_each(|(out, byte)| *out = byte);
    }
}

/// A name padded with zeros; `None` if it is too long.
fn padded(name: &str) -> Option<[u8; NAME]> {
    let mut padded = [0; NAME];
    padded.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
    Some(padded)
}
