//! Zip archives and zstd streams, unpacked within limits.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, BufReader, Read, Seek},
    path::{Path, PathBuf},
};

use zip::{
    ZipReadOptions,
    read::{Config, ZipFileEntry},
    result::ZipError,
    unstable::read::ZipIterable,
};

use crate::{Limits, TranscriptError, records::Input};

/// Unpacked bytes that are allowed whatever the size of the archive.
const ALWAYS: u64 = 64 << 20;
/// The largest window of a zstd stream, as a power of two: 128 MiB, which is what its `--ultra` levels need.
const WINDOW: u32 = 27;

/// Remedy for an archive that is too large.
const UNPACK: &str = "unpack it and import the files";

/// Limit that a [`Guard`] enforced, carried inside an [`io::Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Refused {
    #[error("it unpacks to more than {0} times its size")]
    Ratio(u64),
    #[error("it unpacks to more than {0} bytes")]
    Size(u64),
}

/// Error of reading a file: a limit of a [`Guard`], or the cause as it is.
pub(crate) fn failed(path: &Path, source: io::Error) -> TranscriptError {
    let place = || path.display().to_string();
    match source.get_ref().and_then(|inner| inner.downcast_ref::<Refused>()) {
        Some(Refused::Ratio(most)) => TranscriptError::Bomb { place: place(), most: *most },
        Some(Refused::Size(most)) => {
            TranscriptError::too_large(place(), "what it unpacks to", (*most, "bytes"), UNPACK)
        }
        None => TranscriptError::Io { path: path.to_owned(), source },
    }
}

/// Reader of unpacked bytes that enforces the limits.
struct Guard<R> {
    unpacked: R,
    /// Packed size of this member, in bytes.
    packed: u64,
    read: u64,
    /// For a member of an archive: bytes of the whole archive, and bytes unpacked from earlier members.
    around: Option<(u64, u64)>,
    limits: Limits,
}

impl<R: Read> Read for Guard<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.unpacked.read(into)?;
        self.read += read as u64;
        let Limits { unpacked, ratio, .. } = self.limits;
        let (packed, before) = self.around.unwrap_or((self.packed, 0));
        let all = before.saturating_add(self.read);
        if all > unpacked {
            return Err(io::Error::other(Refused::Size(unpacked)));
        }
        let is_bomb = |read: u64, packed: u64| read > ALWAYS && read / ratio.max(1) > packed;
        // The ratio also holds for the whole archive, since many small members may add up to a bomb.
        if is_bomb(self.read, self.packed) || is_bomb(all, packed) {
            return Err(io::Error::other(Refused::Ratio(ratio)));
        }
        Ok(read)
    }
}

/// Input that unpacks a zstd stream.
pub(crate) fn zstd(file: File, path: &Path, limits: Limits) -> Result<Input, TranscriptError> {
    let io = TranscriptError::io(path);
    let packed = file.metadata().map_err(&io)?.len();
    let mut decoder = ::zstd::stream::read::Decoder::new(file).map_err(&io)?;
    decoder.window_log_max(WINDOW).map_err(&io)?;
    Ok(Box::new(Guard { unpacked: decoder, packed, read: 0, around: None, limits }))
}

/// Input that unpacks a gzip stream.
pub(crate) fn gzip(file: File, path: &Path, limits: Limits) -> Result<Input, TranscriptError> {
    let packed = file.metadata().map_err(TranscriptError::io(path))?.len();
    let unpacked = flate2::read::MultiGzDecoder::new(file);
    Ok(Box::new(Guard { unpacked, packed, read: 0, around: None, limits }))
}

/// Transcript of an archive, in a temporary file without a name.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Path of the archive and name of the entry, for errors.
    pub(crate) path: PathBuf,
    pub(crate) file: File,
}

/// Contents of an export.
#[derive(Debug, Default)]
pub(crate) struct Unpacked {
    /// The conversations, by name.
    pub(crate) entries: Vec<Entry>,
    pub(crate) others: Vec<String>,
    /// Conversations that cannot be read, with the errors.
    pub(crate) broken: Vec<(String, TranscriptError)>,
}

/// Conversations of an export. Members of equal name are all read; an unreadable member does not stop the others.
///
/// Names in archives are compared, never used as paths.
pub(crate) fn unzip(file: File, path: &Path, limits: Limits) -> Result<Unpacked, TranscriptError> {
    let io = TranscriptError::io(path);
    let bytes = file.metadata().map_err(&io)?.len();
    let mut body = BufReader::new(file.try_clone().map_err(&io)?);
    let whole = || path.display().to_string();
    let unread = |error| damaged(whole(), error);
    let mut archive = ZipIterable::try_new(BufReader::new(file), Config::default()).map_err(unread)?;
    if archive.len() > limits.files {
        let most = (limits.files as u64, "files");
        return Err(TranscriptError::too_large(whole(), "the list of its files", most, UNPACK));
    }
    // Both handles share one position, so the directory is read before the members.
    let mut members = archive.files().map_err(unread)?.collect::<Result<Vec<_>, _>>().map_err(unread)?;
    members.retain(|member| !member.is_dir());
    members.sort_by_cached_key(name_of);
    let mut unpacked = Unpacked::default();
    let mut read = 0;
    for member in members {
        let name = name_of(&member);
        if !may_hold_conversations(&name) {
            unpacked.others.push(name);
            continue;
        }
        // Errors show the name, so it must be one line.
        let place = format!("{}, {}", path.display(), memory_core::text::one_line(&name));
        match spooled(member, &mut body, (bytes, read), limits) {
            Ok((file, copied)) => {
                read += copied;
                unpacked.entries.push(Entry { path: PathBuf::from(place), file });
            }
            Err(ZipError::Io(source)) if is_refusal(&source) => return Err(failed(Path::new(&place), source)),
            Err(error) => unpacked.broken.push((name, damaged(place, error))),
        }
    }
    Ok(unpacked)
}

fn name_of(member: &ZipFileEntry<'_>) -> String {
    member.name().map_or_else(|_| String::from_utf8_lossy(member.name_raw()).into_owned(), Cow::into_owned)
}

/// Unpacks a member of an archive. `around` holds the archive's size in bytes and the bytes unpacked before.
fn spooled(
    member: ZipFileEntry<'_>,
    body: &mut BufReader<File>,
    around: (u64, u64),
    limits: Limits,
) -> Result<(File, u64), ZipError> {
    let packed = member.compressed_size();
    let unpacked = member.with_reader(body, ZipReadOptions::new())?;
    let mut guard = Guard { unpacked, packed, read: 0, around: Some(around), limits };
    let mut spool = tempfile::tempfile()?;
    let copied = io::copy(&mut guard, &mut spool)?;
    spool.rewind()?;
    Ok((spool, copied))
}

fn is_refusal(source: &io::Error) -> bool {
    source.get_ref().is_some_and(|inner| inner.is::<Refused>())
}

fn damaged(place: String, error: ZipError) -> TranscriptError {
    TranscriptError::Damaged { place, why: format!("the archive cannot be read: {error}") }
}

/// True for the name of a text that may hold conversations.
fn may_hold_conversations(name: &str) -> bool {
    [".json", ".jsonl", ".md", ".txt"].iter().any(|ending| name.ends_with(ending))
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
    fn only_texts_are_unpacked_and_never_to_a_path() {
        let file = archive(&[
            ("../../conversations.json", b"[1]"),
            ("chat.html", b"x"),
            ("/etc/conversations/a.json", b"[2]"),
            ("photo.jpg", b"[]"),
        ]);
        let unpacked = unzip(file, Path::new("x.zip"), Limits::default()).unwrap();
        assert_eq!(unpacked.entries.len(), 2);
        assert_eq!(unpacked.others, ["chat.html", "photo.jpg"]);
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
    fn the_ratio_is_of_the_whole_archive() {
        let part = vec![b' '; 30 << 20];
        let names: Vec<_> = (0..4).map(|number| format!("conversations-{number}.json")).collect();
        let files: Vec<_> = names.iter().map(|name| (name.as_str(), part.as_slice())).collect();
        let error = unzip(archive(&files), Path::new("x.zip"), Limits::default().ratio(100)).unwrap_err();
        assert!(matches!(error, TranscriptError::Bomb { .. }), "{error}");
        let limits = Limits::default().unpacked(40 << 20);
        let error = unzip(archive(&files), Path::new("x.zip"), limits).unwrap_err();
        assert!(matches!(error, TranscriptError::TooLarge { .. }), "{error}");
    }

    /// The bytes of an archive in which `from` stands as `to`, which is as long.
    fn patched(mut file: File, from: &[u8], to: &[u8]) -> File {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        for at in 0..bytes.len() - from.len() {
            if bytes[at..].starts_with(from) {
                bytes[at..at + to.len()].copy_from_slice(to);
            }
        }
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        file.rewind().unwrap();
        file
    }

    #[test]
    fn members_of_one_name_are_each_read() {
        let two = archive(&[("conversations.json", b"[1]"), ("conversations.JSOX", b"[2]"), ("a.bin", b"")]);
        let two = patched(two, b".JSOX", b".json");
        let unpacked = unzip(two, Path::new("x.zip"), Limits::default()).unwrap();
        let texts = unpacked.entries.into_iter().map(|mut entry| {
            let mut text = String::new();
            entry.file.read_to_string(&mut text).unwrap();
            text
        });
        assert_eq!(texts.collect::<Vec<_>>(), ["[1]", "[2]"]);
    }

    #[test]
    fn a_broken_member_is_named_and_stops_no_other() {
        let stored = |files: &[(&str, &[u8])]| {
            let mut zip = ZipWriter::new(tempfile::tempfile().unwrap());
            for (name, content) in files {
                let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
                zip.start_file(*name, options).unwrap();
                zip.write_all(content).unwrap();
            }
            let mut file = zip.finish().unwrap();
            file.rewind().unwrap();
            file
        };
        let file = stored(&[
            ("conversations-0.json", b"[1, 2]"),
            ("conversations-1.json", b"[9, 9]"),
            ("conversations-2.json", b"[3]"),
        ]);
        // Its checksum is wrong.
        let file = patched(file, b"[9, 9]", b"[8, 8]");
        let unpacked = unzip(file, Path::new("x.zip"), Limits::default()).unwrap();
        assert_eq!(unpacked.entries.len(), 2);
        let [(name, error)] = unpacked.broken.as_slice() else { panic!("{:?}", unpacked.broken) };
        assert_eq!(name, "conversations-1.json");
        assert!(error.to_string().contains("x.zip, conversations-1.json"), "{error}");
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
