//! Files of data, encrypted or not, read and written by position.

use std::{
    fmt,
    fs::{File, Metadata},
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{
    Links,
    regular::{open, open_with},
    seal::{KeySet, NONCE, SealKey, TAG, random},
};

/// Bytes of the header: magic, version, epoch of the key, name.
const HEADER: usize = 8 + 4 + 4 + 16;
const MAGIC: [u8; 8] = *b"MEMSEAL\n";
const VERSION: u32 = 1;
/// Bytes in front of a part: its place, then the nonce. The tag follows the part.
const PART: usize = PLACED + NONCE;
/// Bytes of a place: offset in the contents, length, kind, zeros.
const PLACED: usize = 8 + 4 + 1 + 3;
/// Most bytes of a part, so that a small read decrypts little.
const LONGEST: usize = 64 << 10;
/// Kind of a part with bytes.
const BYTES: u8 = 1;
/// Kind of a part that cuts the contents at its offset, or fills them up to there.
const CUT: u8 = 2;

/// A file of data. An encrypted one is a sequence of parts, each sealed on its own: a write appends parts, which cover
/// earlier ones, and overwrites nothing. `docs/format.md` defines the bytes.
#[derive(Debug)]
pub struct DataFile {
    file: File,
    sealed: Option<Sealed>,
}

struct Sealed {
    key: SealKey,
    name: [u8; 16],
    parts: Mutex<Parts>,
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealed(..)")
    }
}

/// Parts of a file, as far as they were read.
#[derive(Default)]
struct Parts {
    parts: Vec<Part>,
    /// True if each part stands after the one before.
    is_ordered: bool,
    /// Bytes of the contents.
    length: u64,
    /// End of the last part in the file.
    end: u64,
    /// The part that was decrypted last.
    last: Option<(usize, Vec<u8>)>,
}

/// Part of the contents.
#[derive(Clone, Copy)]
struct Part {
    at: u64,
    /// Number of bytes that count; the rest was cut off.
    counts: u64,
    length: u32,
    begin: u64,
}

impl DataFile {
    /// First bytes of an encrypted file.
    pub const MAGIC: [u8; 8] = MAGIC;

    /// Opens a file to read it.
    ///
    /// # Errors
    /// As for [`open`]; [`io::ErrorKind::InvalidData`] for a file that is not encrypted as `keys` say.
    pub fn open(path: &Path, links: Links, keys: &KeySet) -> io::Result<Self> {
        Self::of(open(path, links)?, keys)
    }

    /// [`Self::open`] of a file that may be encrypted with any of the keys, or not at all.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn open_any(path: &Path, links: Links, keys: &KeySet) -> io::Result<Self> {
        let file = open(path, links)?;
        let is_plain = Self::epoch_at(path) == Some(0);
        if is_plain { Ok(Self { file, sealed: None }) } else { Self::of(file, keys) }
    }

    /// Opens a file to read and write it.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn open_written(path: &Path, links: Links, keys: &KeySet) -> io::Result<Self> {
        Self::of(open_with(File::options().read(true).write(true), path, links)?, keys)
    }

    /// Takes an open file that has contents.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn of(file: File, keys: &KeySet) -> io::Result<Self> {
        let mut header = [0; HEADER];
        let sealed = match read_at(&file, &mut header, 0) {
            Ok(()) => header.strip_prefix(&MAGIC),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
            Err(error) => return Err(error),
        };
        let Some(rest) = sealed else {
            return if keys.current() == 0 { Ok(Self { file, sealed: None }) } else { Err(invalid()) };
        };
        let (version, rest) = rest.split_first_chunk::<4>().ok_or_else(invalid)?;
        let (epoch, name) = rest.split_first_chunk::<4>().ok_or_else(invalid)?;
        let key = keys.get(u32::from_le_bytes(*epoch)).filter(|_| u32::from_le_bytes(*version) == VERSION);
        let (key, name) = (key.ok_or_else(invalid)?, name.try_into().map_err(|_| invalid())?);
        Ok(Self { file, sealed: Some(Sealed::new(&key, name)) })
    }

    /// Takes an open empty file, and encrypts it as `keys` say.
    ///
    /// # Errors
    /// If it cannot be written, or the system provides no randomness.
    pub fn create(file: File, keys: &KeySet) -> io::Result<Self> {
        let epoch = keys.current();
        let Some(key) = keys.get(epoch) else { return Ok(Self { file, sealed: None }) };
        let name = random::<16>()?;
        let header = [&MAGIC[..], &VERSION.to_le_bytes(), &epoch.to_le_bytes(), &name].concat();
        write_at(&file, &header, 0)?;
        Ok(Self { file, sealed: Some(Sealed::new(&key, name)) })
    }

    /// Epoch of the key that a file is encrypted with; 0 for one that is not, `None` for one that cannot be read.
    #[must_use]
    pub fn epoch_at(path: &Path) -> Option<u32> {
        let mut header = [0; HEADER];
        match read_at(&open(path, Links::Refuse).ok()?, &mut header, 0) {
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => None,
            Ok(()) if header.starts_with(&MAGIC) => header.get(12..)?.first_chunk().map(|at| u32::from_le_bytes(*at)),
            _ => Some(0),
        }
    }

    /// True if the contents are encrypted.
    #[must_use]
    pub const fn is_sealed(&self) -> bool {
        self.sealed.is_some()
    }

    /// The file itself: its length is not that of the contents where they are encrypted.
    #[must_use]
    pub const fn file(&self) -> &File {
        &self.file
    }

    /// Metadata of the file itself.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    /// Bytes of the contents.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn size(&self) -> io::Result<u64> {
        match &self.sealed {
            None => Ok(self.file.metadata()?.len()),
            Some(sealed) => Ok(sealed.parts(&self.file)?.length),
        }
    }

    /// Fills `buffer` from `at` on.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if the contents end before, [`io::ErrorKind::InvalidData`] if they were
    /// changed, or if the file cannot be read.
    pub fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        match &self.sealed {
            None => read_at(&self.file, buffer, at),
            Some(sealed) => sealed.read(&self.file, buffer, at),
        }
    }

    /// Writes `bytes` at `at`. Bytes between the end and there are zeros.
    ///
    /// # Errors
    /// If the file cannot be written, or the system provides no randomness.
    pub fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        match &self.sealed {
            None => write_at(&self.file, bytes, at),
            Some(sealed) => {
                let mut parts = sealed.parts(&self.file)?;
                let mut written = Vec::with_capacity(bytes.len() + bytes.len().div_ceil(LONGEST) * (PART + TAG));
                for (place, chunk) in (at..).step_by(LONGEST).zip(bytes.chunks(LONGEST)) {
                    sealed.append(&mut parts, place, BYTES, chunk, &mut written)?;
                }
                sealed.write(&self.file, parts, &written)
            }
        }
    }

    /// Cuts the contents to `size`, or adds zeros.
    ///
    /// # Errors
    /// As for [`Self::write_all_at`].
    pub fn set_size(&self, size: u64) -> io::Result<()> {
        let Some(sealed) = &self.sealed else { return self.file.set_len(size) };
        let mut parts = sealed.parts(&self.file)?;
        if parts.length == size {
            return Ok(());
        }
        let mut written = Vec::new();
        sealed.append(&mut parts, size, CUT, &[], &mut written)?;
        sealed.write(&self.file, parts, &written)
    }

    /// Syncs the contents.
    ///
    /// # Errors
    /// If that fails.
    pub fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Syncs the contents and all metadata.
    ///
    /// # Errors
    /// If that fails.
    pub fn sync_all(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// A reader from the beginning.
    #[must_use]
    pub const fn reader(&self) -> DataReader<'_> {
        DataReader { file: self, at: 0 }
    }

    /// All contents, at most `most` bytes.
    ///
    /// # Errors
    /// [`io::ErrorKind::FileTooLarge`] for more, and as for [`Self::read_exact_at`].
    pub fn read_all(&self, most: u64) -> io::Result<Vec<u8>> {
        let size = self.size()?;
        if size > most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut bytes = vec![0; usize::try_from(size).map_err(|_| io::ErrorKind::FileTooLarge)?];
        self.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }
}

/// Reads a [`DataFile`].
#[derive(Debug)]
pub struct DataReader<'f> {
    file: &'f DataFile,
    at: u64,
}

impl Read for DataReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.file.size()?.saturating_sub(self.at);
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let buffer = buffer.get_mut(..length).unwrap_or_default();
        self.file.read_exact_at(buffer, self.at)?;
        self.at += length as u64;
        Ok(length)
    }
}

impl Seek for DataReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (base, by) = match to {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::Current(by) => (self.at, by),
            SeekFrom::End(by) => (self.file.size()?, by),
        };
        self.at = base.checked_add_signed(by).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

impl Sealed {
    fn new(key: &SealKey, name: [u8; 16]) -> Self {
        let parts = Parts { is_ordered: true, end: HEADER as u64, ..Parts::default() };
        Self { key: key.derive(&[b"memory 2026 file", &name]), name, parts: Mutex::new(parts) }
    }

    /// The parts, with those that another process has added.
    fn parts(&self, file: &File) -> io::Result<MutexGuard<'_, Parts>> {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let length = file.metadata()?.len();
        let mut header = [0; PART];
        while parts.end + ((PART + TAG) as u64) <= length {
            read_at(file, &mut header, parts.end)?;
            let Some((at, bytes, kind)) = parse(&header) else { break };
            let end = parts.end + (PART + TAG) as u64 + u64::from(bytes);
            if end > length {
                break;
            }
            parts.add(at, bytes, kind);
        }
        Ok(parts)
    }

    /// Associated data of a part: the file, the offset in it, and the place in the contents.
    fn place(&self, begin: u64, placed: &[u8]) -> Vec<u8> {
        [&self.name[..], &begin.to_le_bytes(), placed].concat()
    }

    fn append(&self, parts: &mut Parts, at: u64, kind: u8, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let placed = [&at.to_le_bytes()[..], &length.to_le_bytes(), &[kind, 0, 0, 0]].concat();
        let nonce = random::<NONCE>()?;
        out.extend_from_slice(&placed);
        out.extend_from_slice(&nonce);
        let begin = out.len();
        out.extend_from_slice(bytes);
        let sealed = out.get_mut(begin..).unwrap_or_default();
        let tag = self.key.seal(&nonce, &self.place(parts.end, &placed), sealed);
        out.extend_from_slice(&tag);
        parts.add(at, length, kind);
        Ok(())
    }

    /// Writes parts that were added; after a failure they are read again.
    fn write(&self, file: &File, mut parts: MutexGuard<'_, Parts>, bytes: &[u8]) -> io::Result<()> {
        let begin = parts.end - bytes.len() as u64;
        let written = (|| {
            // An interrupted write may have left part of a part.
            if file.metadata()?.len() > begin {
                file.set_len(begin)?;
            }
            write_at(file, bytes, begin)
        })();
        if written.is_err() {
            *parts = Parts { is_ordered: true, end: HEADER as u64, ..Parts::default() };
        }
        written
    }

    fn read(&self, file: &File, buffer: &mut [u8], at: u64) -> io::Result<()> {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let end = at.checked_add(buffer.len() as u64).ok_or(io::ErrorKind::UnexpectedEof)?;
        if end > parts.length {
            drop(parts);
            parts = self.parts(file)?;
            if end > parts.length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        buffer.fill(0);
        let from = if parts.is_ordered { parts.parts.partition_point(|part| part.at + part.counts <= at) } else { 0 };
        for index in from..parts.parts.len() {
            let Some(part) = parts.parts.get(index).copied() else { break };
            if part.at >= end && parts.is_ordered {
                break;
            }
            let (first, last) = (part.at.max(at), (part.at + part.counts).min(end));
            if first >= last {
                continue;
            }
            let small = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
            let (to, from) = (small(first - at), small(first - part.at));
            let bytes = small(last - first);
            let contents = self.contents(file, &mut parts, index, part)?;
            let (to, from) = (buffer.get_mut(to..to + bytes), contents.get(from..from + bytes));
            to.ok_or_else(invalid)?.copy_from_slice(from.ok_or_else(invalid)?);
        }
        Ok(())
    }

    /// The decrypted bytes of a part.
    fn contents<'p>(&self, file: &File, parts: &'p mut Parts, index: usize, part: Part) -> io::Result<&'p [u8]> {
        if parts.last.as_ref().is_none_or(|(last, _)| *last != index) {
            let mut bytes = vec![0; PART + part.length as usize + TAG];
            read_at(file, &mut bytes, part.begin)?;
            let (header, rest) = bytes.split_first_chunk_mut::<PART>().ok_or_else(invalid)?;
            let (sealed, tag) = rest.split_last_chunk_mut::<TAG>().ok_or_else(invalid)?;
            let (placed, nonce) = header.split_last_chunk::<NONCE>().ok_or_else(invalid)?;
            if !self.key.open(nonce, &self.place(part.begin, placed), sealed, tag) {
                return Err(invalid());
            }
            bytes.drain(..PART);
            bytes.truncate(part.length as usize);
            parts.last = Some((index, bytes));
        }
        Ok(parts.last.as_ref().map(|(_, bytes)| bytes.as_slice()).unwrap_or_default())
    }
}

impl Parts {
    fn add(&mut self, at: u64, length: u32, kind: u8) {
        let begin = self.end;
        self.end += (PART + TAG) as u64 + u64::from(length);
        if kind == CUT {
            self.last = None;
            self.length = at;
            self.parts.retain(|part| part.at < at);
            self.parts.iter_mut().for_each(|part| part.counts = part.counts.min(at - part.at));
            return;
        }
        self.is_ordered &= at >= self.parts.last().map_or(0, |last| last.at + last.counts);
        self.parts.push(Part { at, counts: length.into(), length, begin });
        self.length = self.length.max(at.saturating_add(length.into()));
    }
}

/// Offset in the contents, length and kind of a part; `None` if no part begins with these bytes.
fn parse(header: &[u8; PART]) -> Option<(u64, u32, u8)> {
    let (at, rest) = header.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (at, length) = (u64::from_le_bytes(*at), u32::from_le_bytes(*length));
    let [kind, 0, 0, 0] = *rest.first_chunk::<4>()? else { return None };
    let is_good = matches!((kind, length), (CUT, 0) | (BYTES, 1..)) && length as usize <= LONGEST;
    is_good.then_some((at, length, kind))
}

fn invalid() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the file is not encrypted with a key of this store, or was changed")
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, at)
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(not(unix))]
fn read_at(mut file: &File, buffer: &mut [u8], at: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(buffer)
}

#[cfg(not(unix))]
fn write_at(mut file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    io::Write::write_all(&mut file, bytes)
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "small numbers")]
mod tests {
    use std::fs;

    use super::*;

    fn keys(epoch: u32) -> KeySet {
        let keys = KeySet::default();
        keys.set((1..=epoch).map(|epoch| (epoch, SealKey::new([epoch as u8; 32]))).collect(), epoch);
        keys
    }

    fn created(path: &Path, keys: &KeySet) -> DataFile {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path).unwrap();
        DataFile::create(file, keys).unwrap()
    }

    #[test]
    fn any_writes_and_cuts_give_what_a_plain_file_gives() {
        let directory = tempfile::tempdir().unwrap();
        let paths = ["plain", "sealed"].map(|name| directory.path().join(name));
        let (plain, keys) = (KeySet::default(), keys(1));
        for seed in 0..40_u64 {
            let files = [created(&paths[0], &plain), created(&paths[1], &keys)];
            // Opened before the writes, as by another process.
            let other = DataFile::open(&paths[1], Links::Refuse, &keys).unwrap();
            let mut state = seed * 2 + 1;
            let mut next = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % below
            };
            for _ in 0..12 {
                let (at, length) = (next(200_000), next(150_000));
                let at = if next(2) == 0 { files[0].size().unwrap() } else { at };
                let bytes: Vec<u8> = (0..length).map(|byte| (byte * 7 + at) as u8).collect();
                for file in &files {
                    match length % 5 {
                        0 => file.set_size(at).unwrap(),
                        _ => file.write_all_at(&bytes, at).unwrap(),
                    }
                }
                let size = files[0].size().unwrap();
                assert_eq!(other.size().unwrap(), size);
                let all = files.each_ref().map(|file| file.read_all(1 << 30).unwrap());
                assert!(all[0] == all[1] && all[1] == other.read_all(1 << 30).unwrap(), "seed {seed}");
                let (from, count) = (next(size + 1), next(5_000).min(size));
                let mut read = vec![vec![1; count as usize]; 2];
                let done: Vec<bool> =
                    files.iter().zip(&mut read).map(|(file, read)| file.read_exact_at(read, from).is_ok()).collect();
                assert_eq!(done[0], done[1]);
                assert!(!done[0] || read[0] == read[1]);
            }
        }
    }

    #[test]
    fn a_sealed_file_is_cut_to_its_whole_parts_and_goes_on_after_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let keys = keys(1);
        let file = created(&path, &keys);
        file.write_all_at(b"one", 0).unwrap();
        let whole = fs::metadata(&path).unwrap().len();
        file.write_all_at(b"two", 3).unwrap();
        let bytes = fs::read(&path).unwrap();
        for cut in whole..bytes.len() as u64 {
            fs::write(&path, &bytes[..cut as usize]).unwrap();
            let file = DataFile::open_written(&path, Links::Refuse, &keys).unwrap();
            assert_eq!(file.read_all(100).unwrap(), b"one");
            file.write_all_at(b"2", 3).unwrap();
            assert_eq!(DataFile::open(&path, Links::Refuse, &keys).unwrap().read_all(100).unwrap(), b"one2");
        }
    }

    #[test]
    fn nothing_is_in_clear_and_nothing_that_was_changed_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let keys = keys(2);
        created(&path, &keys).write_all_at(b"To Bergen? To Bergen!", 0).unwrap();
        assert_eq!(DataFile::epoch_at(&path), Some(2));
        let bytes = fs::read(&path).unwrap();
        assert!(!bytes.windows(6).any(|window| window == b"Bergen"));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            fs::write(&path, &changed).unwrap();
            let read = DataFile::open(&path, Links::Refuse, &keys).and_then(|file| file.read_all(100));
            assert_ne!(read.unwrap_or_default(), b"To Bergen? To Bergen!", "byte {at}");
        }
        fs::write(&path, &bytes).unwrap();
        for other in [self::keys(1), KeySet::default()] {
            let error = DataFile::open(&path, Links::Refuse, &other).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
        fs::write(&path, "plain").unwrap();
        assert_eq!(DataFile::epoch_at(&path), Some(0));
        assert_eq!(DataFile::open(&path, Links::Refuse, &keys).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
