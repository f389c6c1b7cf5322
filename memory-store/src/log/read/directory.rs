//! The store's directory: its files, and `FORMAT`, which names the store.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use memory_core::port::{Place, StoreError};

use super::watermark::WATERMARK_FILE;
use crate::{
    checksum,
    log::{
        failure::io_error,
        format::{
            frame::StoreId,
            segment::{SEGMENT_HEADER, segment_name},
        },
        keys::{Keys, MasterKey, RING_FILE, SALTS_FILE},
        media::{Access, Media, read_from, read_part},
    },
};

/// The format of a store, and that of an encrypted one, the newest that this version reads.
const FORMAT: u32 = 1;
const ENCRYPTED: u32 = 2;
const MAGIC: &str = "memory-store";
pub(crate) const FORMAT_FILE: &str = "FORMAT";
/// Limit on the bytes of `FORMAT`, above those of any version.
pub(crate) const FORMAT_BYTES: u64 = 1 << 16;
/// Name of `FORMAT` until all of it is on disk.
pub(crate) const FORMAT_TEMPORARY: &str = "FORMAT.tmp";
/// The file that names the holder of the write lock.
pub(crate) const LOCK_FILE: &str = "LOCK";
/// The file that names the holder of the lease.
pub(crate) const LEASE_FILE: &str = "LEASE";
pub(crate) const LOG: &str = "log";
pub(crate) const CACHE: &str = "cache";
/// Files next to the log; with all directories, anything else under their names is refused.
const FILES: [&str; 6] = [FORMAT_FILE, WATERMARK_FILE, LOCK_FILE, LEASE_FILE, RING_FILE, SALTS_FILE];
const DIRECTORIES: [&str; 9] = [
    LOG,
    CACHE,
    "cache/vectors",
    "cache/vectors/graphs",
    "cache/vectors/packs",
    "cache/tokens",
    "cache/tokens/packs",
    "cache/words",
    "cache/embeddings",
];

/// A store's directory and the name in its `FORMAT`.
#[derive(Clone, Debug)]
pub(crate) struct Directory {
    pub(crate) path: PathBuf,
    pub(crate) id: StoreId,
    /// True if `FORMAT` says that the store is encrypted.
    pub(crate) is_encrypted: bool,
    /// Keys of an encrypted store, once they were [opened](Self::unlock).
    pub(crate) keys: Keys,
}

/// Contents of `FORMAT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) id: StoreId,
    pub(crate) is_encrypted: bool,
}

impl Directory {
    pub(crate) fn log(&self) -> PathBuf {
        self.path.join(LOG)
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.path.join(CACHE)
    }

    /// Makes the names of all files durable.
    pub(crate) fn sync(&self, media: &dyn Media) -> Result<(), StoreError> {
        sync_dir(media, &self.log())?;
        sync_with_parent(media, &self.path)
    }

    /// Opens a store read-only.
    pub(crate) fn open(media: &dyn Media, path: &Path) -> Result<Self, StoreError> {
        check(media, path)?;
        let Format { id, is_encrypted } = match read_format(media, path)? {
            Some(format) => format,
            None => {
                let error = lacks_format(media, path, "it holds no file FORMAT");
                // Another process may have finished making the store since.
                read_format(media, path)?.ok_or(error)?
            }
        };
        Ok(Self { path: path.to_owned(), id, is_encrypted, keys: Keys::default() })
    }

    /// Opens the keys of an encrypted store.
    pub(crate) fn unlock(&mut self, media: &Arc<dyn Media>, key: Option<&MasterKey>) -> Result<(), StoreError> {
        if self.is_encrypted {
            self.keys = Keys::open(media, &self.path, self.id, key)?;
        }
        Ok(())
    }
}

/// Refuses a store in which a link, a device or a FIFO has the name of one of our files or directories. The store's own
/// path may be a link: the user names it.
pub(crate) fn check(media: &dyn Media, path: &Path) -> Result<(), StoreError> {
    media.check(path, &FILES, &DIRECTORIES).map_err(|(path, error)| io_error("open", &path)(error))
}

/// Makes a directory and those above it, and syncs every name that it makes.
pub(crate) fn make_dir(media: &dyn Media, path: &Path) -> Result<(), StoreError> {
    let there = |dir: &Path| dir.as_os_str().is_empty() || media.list(dir).is_ok();
    let missing = path.ancestors().take_while(|dir| !there(dir)).count();
    media.create_dir_all(path).map_err(io_error("create", path))?;
    path.ancestors().take(missing).filter_map(Path::parent).try_for_each(|parent| sync_dir(media, parent))
}

/// Makes the names in a directory durable. The parent of a relative path without a directory is the working directory.
pub(crate) fn sync_dir(media: &dyn Media, path: &Path) -> Result<(), StoreError> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    media.sync_dir(path).map_err(io_error("sync", path))
}

/// Makes the names in a directory durable, and the directory's own.
pub(crate) fn sync_with_parent(media: &dyn Media, path: &Path) -> Result<(), StoreError> {
    sync_dir(media, path)?;
    path.parent().map_or(Ok(()), |parent| sync_dir(media, parent))
}

pub(crate) fn is_there(media: &dyn Media, path: &Path) -> Result<bool, StoreError> {
    let names = media.list(path).map_err(io_error("list", path))?;
    Ok(names.iter().any(|name| name == FORMAT_FILE))
}

pub(crate) fn not_a_store(path: &Path, why: &str) -> StoreError {
    StoreError::NotAStore { place: path.into(), why: why.to_owned() }
}

/// True if nothing was appended to the log of a directory without `FORMAT`: another process is making a store there, or
/// making one was interrupted.
pub(crate) fn is_unfinished(media: &dyn Media, log: &Path) -> Result<bool, StoreError> {
    for name in media.list(log).map_err(io_error("list", log))? {
        let segment = log.join(&name);
        let open = match media.open(&segment, Access::Read) {
            // The process that is making the store has renamed the file since.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened.map_err(io_error("read", &segment))?,
        };
        let behind_header = read_from(&*open, u64::from(SEGMENT_HEADER)).map_err(io_error("read", &segment))?;
        let is_first = name == segment_name(1) || name.ends_with(".tmp");
        if !is_first || behind_header.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The error for a directory without a `FORMAT` of ours: a store that lost it still has segments.
fn lacks_format(media: &dyn Media, path: &Path, why: &str) -> StoreError {
    let log = path.join(LOG);
    let is_segment = |name: &String| name.ends_with(".seg");
    let has_segments = media.list(&log).is_ok_and(|names| names.iter().any(is_segment));
    if !has_segments || is_unfinished(media, &log).unwrap_or(false) {
        return not_a_store(path, why);
    }
    StoreError::Damaged { place: path.into(), why: format!("{why}, beside a log with segments: run `memory doctor`") }
}

/// The contents of `FORMAT`; `None` when there is no such file.
pub(crate) fn read_format(media: &dyn Media, path: &Path) -> Result<Option<Format>, StoreError> {
    let file = path.join(FORMAT_FILE);
    let bytes = match media.open(&file, Access::Read) {
        Ok(open) => read_part(&*open, 0, FORMAT_BYTES).map_err(io_error("read", &file))?,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(io_error("read", &file)(error)),
    };
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines();
    if lines.next() != Some(MAGIC) {
        return Err(lacks_format(media, path, "its file FORMAT is that of something else"));
    }
    let damaged = |why: &str| StoreError::Damaged { place: Place::from(&file).offset(0), why: why.to_owned() };
    let format = lines.next().and_then(|line| line.strip_prefix("format ")).and_then(|number| number.parse().ok());
    match format {
        // A newer version may have another layout after this line.
        Some(found) if found > ENCRYPTED => {
            Err(StoreError::NewerFormat { place: path.into(), found, supported: ENCRYPTED })
        }
        Some(found @ (FORMAT | ENCRYPTED)) => {
            let id = lines.next().and_then(|line| line.strip_prefix("id ")).and_then(parse_id);
            let id = id.ok_or_else(|| damaged("it names no store"))?;
            let format = Format { id, is_encrypted: found == ENCRYPTED };
            if text == format.text() { Ok(Some(format)) } else { Err(damaged("its checksum does not match")) }
        }
        _ => Err(damaged("it names no format")),
    }
}

/// True if the text is a `FORMAT` of ours, of any version.
pub(crate) fn is_format(text: &[u8]) -> bool {
    text.strip_prefix(MAGIC.as_bytes()).is_some_and(|rest| rest.starts_with(b"\n"))
}

impl Format {
    /// The text of the file.
    pub(crate) fn text(self) -> String {
        let format = if self.is_encrypted { ENCRYPTED } else { FORMAT };
        let body = format!("{MAGIC}\nformat {format}\nid {}\n", id_text(self.id));
        format!("{body}crc32c {:08x}\n", checksum::crc32c(body.as_bytes()))
    }

    /// Replaces the file.
    pub(crate) fn write(self, media: &dyn Media, path: &Path) -> Result<(), StoreError> {
        let (temporary, file) = (path.join(FORMAT_TEMPORARY), path.join(FORMAT_FILE));
        let written = media.open(&temporary, Access::Create).and_then(|open| {
            open.write_at(self.text().as_bytes(), 0)?;
            open.sync_all()
        });
        written.map_err(io_error("write", &temporary))?;
        media.rename(&temporary, &file).map_err(io_error("write", &file))?;
        sync_with_parent(media, path)
    }
}

/// The name of a store in hexadecimal digits.
pub(crate) fn id_text(id: StoreId) -> String {
    format!("{:032x}", u128::from_be_bytes(id))
}

/// The name of a store, from its hexadecimal digits.
pub(crate) fn parse_id(hex: &str) -> Option<StoreId> {
    let number = u128::from_str_radix(hex, 16).ok()?;
    (hex.len() == 32).then(|| number.to_be_bytes())
}
