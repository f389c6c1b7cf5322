//! A search of every file below a directory for given bytes.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use aho_corasick::AhoCorasick;
use memory_core::port::Progress;
use memory_files::{DataFile, Links};

use crate::log::{
    format::{
        compressed::CompressedSegment,
        scan::{Found, Scan},
        segment::{Segment, SegmentHeader},
    },
    keys::{Keys, SEALED_FILE},
    media::{Access, Disk, Media, MediaFile, read_from},
    store::LogStore,
};

/// Texts that are looked for together, in a time that does not grow with their number.
#[derive(Debug)]
pub struct TextSet(AhoCorasick);

impl TextSet {
    /// A set of these texts.
    ///
    /// # Errors
    /// If they are too many or too long together, some gigabytes.
    pub fn new<T: AsRef<[u8]>>(texts: impl IntoIterator<Item = T>) -> io::Result<Self> {
        AhoCorasick::new(texts).map(Self).map_err(io::Error::other)
    }

    /// Indices of the texts that stand somewhere in `within`, in any order, some of them more than once. Empty texts
    /// are never found.
    pub fn found_in<'a>(&'a self, within: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
        let found = self.0.find_overlapping_iter(within).filter(|found| !found.is_empty());
        found.map(|found| found.pattern().as_usize())
    }
}

/// Bytes that are read at once.
const CHUNK: usize = 4 << 20;

/// The result of a search for bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundBytes {
    /// Number of files.
    pub files: u64,
    /// Bytes that were searched: of files, and of what compressed segments hold.
    pub bytes: u64,
    /// Found texts, each by its index and the file that holds it; each pair once.
    pub found: BTreeSet<(usize, PathBuf)>,
}

/// Searches every regular file below `dir` for these texts, byte for byte. The blocks of compressed segments are opened;
/// links are not followed. Empty texts are never found.
///
/// Reads everything: do not call it on a thread that must not block.
///
/// # Errors
/// If a directory cannot be listed, a file cannot be read, or a compressed segment is damaged. Files that are removed
/// meanwhile are passed over.
pub fn scan_bytes(dir: &Path, texts: &[Vec<u8>], progress: &dyn Progress) -> io::Result<FoundBytes> {
    scan_encrypted(dir, texts, &Keys::default(), progress)
}

impl LogStore {
    /// [`scan_bytes`] of the files of this store or its backups, which also decrypts what is encrypted with its keys.
    ///
    /// # Errors
    /// As for [`scan_bytes`].
    pub fn scan_bytes(&self, dir: &Path, texts: &[Vec<u8>], progress: &dyn Progress) -> io::Result<FoundBytes> {
        scan_encrypted(dir, texts, &self.shared.directory.keys, progress)
    }
}

fn scan_encrypted(dir: &Path, texts: &[Vec<u8>], keys: &Keys, progress: &dyn Progress) -> io::Result<FoundBytes> {
    let longest = texts.iter().map(Vec::len).max().unwrap_or(0);
    let patterns = TextSet::new(texts)?;
    let mut search = Search { patterns, longest, keys: keys.clone(), found: FoundBytes::default() };
    let mut files = Vec::new();
    list(dir, &mut files)?;
    let total = files.iter().map(|(_, bytes)| *bytes).sum();
    let mut done = 0;
    for (path, bytes) in files {
        match search.file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            searched => searched?,
        }
        done += bytes;
        progress.report(done, total);
    }
    Ok(search.found)
}

/// The regular files below a directory, with their sizes.
fn list(dir: &Path, files: &mut Vec<(PathBuf, u64)>) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        match path.symlink_metadata() {
            Ok(of) if of.is_dir() => list(&path, files)?,
            Ok(of) if of.is_file() => files.push((path, of.len())),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

struct Search {
    patterns: TextSet,
    /// Length of the longest text.
    longest: usize,
    keys: Keys,
    found: FoundBytes,
}

impl Search {
    fn file(&mut self, path: &Path) -> io::Result<()> {
        let file = Disk.open(path, Access::Read)?;
        self.found.files += 1;
        self.stream(path, |buffer, at| file.read_at(buffer, at))?;
        if let Ok(compressed) = CompressedSegment::open(&*file) {
            let place = |at| u32::try_from(at).unwrap_or(u32::MAX);
            self.stream(path, |buffer, at| compressed.read_at(&*file, place(at), buffer))?;
        }
        if self.keys.is_some() { self.decrypted(path, &*file) } else { Ok(()) }
    }

    /// Searches what an encrypted file holds: records of a segment, a checkpoint, or a derived file.
    fn decrypted(&mut self, path: &Path, file: &dyn MediaFile) -> io::Result<()> {
        let mut begin = [0; 64];
        let read = file.read_at(&mut begin, 0)?;
        let begin = begin.get(..read).unwrap_or_default();
        if begin.starts_with(&DataFile::MAGIC) {
            // One that cannot be decrypted is of no use to anybody.
            if let Ok(data) = DataFile::open(path, Links::Refuse, &self.keys.files()) {
                let size = data.size()?;
                self.stream(path, |buffer, at| {
                    let length = usize::try_from(size.saturating_sub(at)).unwrap_or(usize::MAX).min(buffer.len());
                    data.read_exact_at(buffer.get_mut(..length).unwrap_or_default(), at).map(|()| length)
                })?;
            }
            return Ok(());
        }
        if begin.starts_with(&SEALED_FILE)
            && let Some(contents) = self.keys.open_file(&read_from(file, 0)?)
        {
            self.piece(path, &contents);
            return Ok(());
        }
        let Ok(header) = SegmentHeader::parse(begin) else { return Ok(()) };
        let image = Segment::new(header.number, path, Disk.open(path, Access::Read)?, &self.keys).image()?;
        let keys = self.keys.clone();
        for found in Scan::new(&image, header.store, header.number, true) {
            let Found::Frame { header, payload, .. } = found else { continue };
            keys.records(&header, payload).flatten().for_each(|record| self.piece(path, &record.body));
        }
        Ok(())
    }

    fn piece(&mut self, path: &Path, piece: &[u8]) {
        self.found.bytes += piece.len() as u64;
        for found in self.patterns.found_in(piece) {
            self.found.found.insert((found, path.to_owned()));
        }
    }

    /// Searches what `read` gives, in pieces that overlap by the longest text.
    fn stream(&mut self, path: &Path, read: impl Fn(&mut [u8], u64) -> io::Result<usize>) -> io::Result<()> {
        let mut buffer = vec![0; CHUNK + self.longest];
        let (mut kept, mut at) = (0, 0u64);
        loop {
            let room = buffer.get_mut(kept..).unwrap_or_default();
            let more = read(room, at)?;
            if more == 0 {
                return Ok(());
            }
            (at, self.found.bytes) = (at + more as u64, self.found.bytes + more as u64);
            let end = kept + more;
            let piece = buffer.get(..end).unwrap_or_default();
            for found in self.patterns.found_in(piece) {
                self.found.found.insert((found, path.to_owned()));
            }
            let overlap = self.longest.saturating_sub(1).min(end);
            buffer.copy_within(end - overlap..end, 0);
            kept = overlap;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_wherever_they_stand_in_any_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("below")).unwrap();
        let mut long = vec![b'x'; CHUNK + 100];
        long[CHUNK - 3..CHUNK + 3].copy_from_slice(b"needle");
        fs::write(path("long"), &long).unwrap();
        fs::write(path("below/short"), b"a needles and a pin").unwrap();
        fs::write(path("other"), b"need le").unwrap();
        let texts = [b"needle".to_vec(), b"needles".to_vec(), b"nothing".to_vec(), Vec::new()];
        let found = scan_bytes(dir.path(), &texts, &()).unwrap();
        let expected = [(0, path("long")), (0, path("below/short")), (1, path("below/short"))];
        assert_eq!(found.found, expected.into());
        assert_eq!((found.files, found.bytes), (3, long.len() as u64 + 26));
        assert_eq!(scan_bytes(&path("missing"), &texts, &()).unwrap(), FoundBytes::default());
    }
}
