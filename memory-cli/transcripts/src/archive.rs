//! Packed files: zip archives and zstd streams, unpacked within bounds.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek},
    path::{Path, PathBuf},
};

use zip::{ZipArchive, result::ZipError};

use crate::{Limits, TranscriptError, records::Input};

/// Bytes that any archive may unpack to, however small it is.
const ALWAYS: u64 = 64 << 20;
/// The largest window of a zstd stream, as a power of two: 128 MiB, which is what its `--ultra` levels need.
const WINDOW: u32 = 27;

/// The marks of what a [`Guard`] refuses, inside an [`io::Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Refused {
    #[error("it unpacks to more than {0} times its size")]
    Ratio(u64),
    #[error("it unpacks to more than {0} bytes")]
    Size(u64),
}

/// The error of reading a file, which may be the refusal of what it unpacks to, or damage of what is packed.
pub(crate) fn failed(path: &Path, source: io::Error) -> TranscriptError {
    let place = || path.display().to_string();
    match source.get_ref().and_then(|inner| inner.downcast_ref::<Refused>()) {
        Some(Refused::Ratio(most)) => TranscriptError::Bomb { place: place(), most: *most },
        Some(Refused::Size(most)) => TranscriptError::TooLarge {
            place: place(),
            what: "what it unpacks to",
            most: *most,
            unit: "bytes",
            hint: "unpack it and import the files",
        },
        None => TranscriptError::Io { path: path.to_owned(), source },
    }
}

/// Unpacked bytes within the limits.
struct Guard<R> {
    unpacked: R,
    /// Bytes that are packed.
    packed: u64,
    read: u64,
    limits: Limits,
}

impl<R: Read> Read for Guard<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.unpacked.read(into)?;
        self.read += read as u64;
        if self.read > self.limits.unpacked {
            return Err(io::Error::other(Refused::Size(self.limits.unpacked)));
        }
        if self.read > ALWAYS && self.read / self.limits.ratio.max(1) > self.packed {
            return Err(io::Error::other(Refused::Ratio(self.limits.ratio)));
        }
        Ok(read)
    }
}

/// What a zstd stream unpacks to.
pub(crate) fn zstd(file: File, path: &Path, limits: Limits) -> Result<Input, TranscriptError> {
    let io = |source| TranscriptError::Io { path: path.to_owned(), source };
    let packed = file.metadata().map_err(io)?.len();
    let mut decoder = ::zstd::stream::read::Decoder::new(file).map_err(io)?;
    decoder.window_log_max(WINDOW).map_err(io)?;
    Ok(Box::new(Guard { unpacked: decoder, packed, read: 0, limits }))
}

/// A transcript of an archive, in a temporary file without a name.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The archive and the entry, for errors.
    pub(crate) path: PathBuf,
    pub(crate) file: File,
}

/// What of an archive is read.
#[derive(Debug, Default)]
pub(crate) struct Unpacked {
    /// The conversations, by name.
    pub(crate) entries: Vec<Entry>,
    /// The names of all other files.
    pub(crate) others: Vec<String>,
}

/// The conversations of an export.
///
/// Names in archives are compared, never used as paths.
pub(crate) fn unzip(file: File, path: &Path, limits: Limits) -> Result<Unpacked, TranscriptError> {
    let damaged = |place: String, error: ZipError| match error {
        ZipError::Io(source) if source.get_ref().is_some_and(|inner| inner.is::<Refused>()) => {
            failed(Path::new(&place), source)
        }
        error => TranscriptError::Damaged { place, why: format!("the archive cannot be read: {error}") },
    };
    let whole = || path.display().to_string();
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|error| damaged(whole(), error))?;
    let mut unpacked = Unpacked::default();
    if archive.len() > limits.files {
        return Err(TranscriptError::TooLarge {
            place: whole(),
            what: "the list of its files",
            most: limits.files as u64,
            unit: "files",
            hint: "unpack it and import the files",
        });
    }
    let mut names: Vec<(String, usize)> = (0..archive.len())
        .filter_map(|index| Some((archive.name_for_index(index)?.ok()?.into_owned(), index)))
        .filter(|(name, _)| !name.ends_with('/'))
        .collect();
    names.sort();
    let mut left = limits.unpacked;
    for (name, index) in names {
        if !holds_conversations(&name) {
            unpacked.others.push(name);
            continue;
        }
        // The name is shown, so that it is one line.
        let place = format!("{}, {}", path.display(), memory_core::one_line(&name));
        let member = archive.by_index(index).map_err(|error| damaged(place.clone(), error))?;
        let packed = member.compressed_size();
        let mut guard = Guard { unpacked: member, packed, read: 0, limits: limits.unpacked(left) };
        let io = |source| TranscriptError::Io { path: path.to_owned(), source };
        let mut spool = tempfile::tempfile().map_err(io)?;
        let copied = io::copy(&mut guard, &mut spool).map_err(|error| damaged(place.clone(), ZipError::Io(error)))?;
        left = left.saturating_sub(copied);
        spool.rewind().map_err(io)?;
        unpacked.entries.push(Entry { path: PathBuf::from(place), file: spool });
    }
    Ok(unpacked)
}

/// Whether a file of an export holds conversations, by its name: `conversations.json` anywhere, parts of it
/// (`conversations-000.json`), or a JSON file below `conversations/`.
pub(crate) fn holds_conversations(name: &str) -> bool {
    let name = name.replace('\\', "/");
    let (directory, file) = name.rsplit_once('/').unwrap_or(("", &name));
    let is_json = file.ends_with(".json");
    is_json && (file.starts_with("conversations") || directory.rsplit('/').next() == Some("conversations"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::{ZipWriter, write::SimpleFileOptions};

    use super::*;

    fn archive(files: &[(&str, &[u8])]) -> File {
        let mut zip = ZipWriter::new(tempfile::tempfile().unwrap());
        for (name, content) in files {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(content).unwrap();
        }
        let mut file = zip.finish().unwrap();
        file.rewind().unwrap();
        file
    }

    #[test]
    fn only_conversations_are_unpacked_and_never_to_a_path() {
        let file = archive(&[
            ("../../conversations.json", b"[1]"),
            ("chat.html", b"x"),
            ("/etc/conversations/a.json", b"[2]"),
            ("users.json", b"[]"),
        ]);
        let unpacked = unzip(file, Path::new("x.zip"), Limits::default()).unwrap();
        assert_eq!(unpacked.entries.len(), 2);
        assert_eq!(unpacked.others, ["chat.html", "users.json"]);
        assert!(!Path::new("../../conversations.json").exists());
    }

    #[test]
    fn bombs_and_damage_are_errors_that_say_where() {
        let zeros = vec![b' '; 65 << 20];
        let file = archive(&[("conversations.json", &zeros)]);
        let error = unzip(file, Path::new("x.zip"), Limits::default().ratio(100)).unwrap_err();
        assert!(matches!(error, TranscriptError::Bomb { .. }), "{error}");
        assert!(error.to_string().starts_with("x.zip, conversations.json"), "{error}");

        let file = archive(&[("conversations.json", &zeros)]);
        let error = unzip(file, Path::new("x.zip"), Limits::default().unpacked(1 << 20)).unwrap_err();
        assert!(matches!(error, TranscriptError::TooLarge { .. }), "{error}");

        let mut whole = archive(&[("conversations.json", b"[1, 2, 3]")]);
        let mut bytes = Vec::new();
        whole.read_to_end(&mut bytes).unwrap();
        let mut cut = tempfile::tempfile().unwrap();
        cut.write_all(&bytes[..bytes.len() / 2]).unwrap();
        cut.rewind().unwrap();
        let error = unzip(cut, Path::new("x.zip"), Limits::default()).unwrap_err();
        assert!(matches!(error, TranscriptError::Damaged { .. }), "{error}");
    }

    #[test]
    fn a_zstd_bomb_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.jsonl.zst");
        std::fs::write(&path, ::zstd::bulk::compress(&vec![b'\n'; 65 << 20], 3).unwrap()).unwrap();
        let mut input = zstd(File::open(&path).unwrap(), &path, Limits::default()).unwrap();
        let error = failed(&path, io::copy(&mut input, &mut io::sink()).unwrap_err());
        assert!(matches!(error, TranscriptError::Bomb { .. }), "{error}");
    }
}
