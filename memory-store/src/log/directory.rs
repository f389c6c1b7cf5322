//! The store's directory: `FORMAT`, `LOCK`, and how an empty directory becomes a store.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use memory_core::StoreError;

use super::{
    failure::{fill_random, io_error},
    frame::StoreId,
    horizon::{HORIZON_FILE, Horizon},
    lock::{LEASE_FILE, LOCK_FILE, Lock},
    media::{Access, Media, read_from, read_part},
    segment::{SEGMENT_HEADER, SegmentHeader, segment_name},
    tail::create_segment,
};
use crate::checksum;

/// The format that this version writes, and the newest that it reads.
const FORMAT: u32 = 1;
const MAGIC: &str = "memory-store";
pub(crate) const FORMAT_FILE: &str = "FORMAT";
/// More than any version's `FORMAT` has.
pub(super) const FORMAT_BYTES: u64 = 1 << 16;
const FORMAT_TEMPORARY: &str = "FORMAT.tmp";
const LOG: &str = "log";
const CACHE: &str = "cache";
/// Files beside the log, and all directories: whatever else stands under their names is refused.
const FILES: [&str; 4] = [FORMAT_FILE, HORIZON_FILE, LOCK_FILE, LEASE_FILE];
const DIRECTORIES: [&str; 7] =
    [LOG, CACHE, "cache/vectors", "cache/vectors/graphs", "cache/tokens", "cache/words", "cache/embeddings"];

/// A store's directory and the name in its `FORMAT`.
#[derive(Clone, Debug)]
pub(crate) struct Directory {
    pub(crate) path: PathBuf,
    pub(crate) id: StoreId,
}

/// A directory whose write lock this process holds.
#[derive(Debug)]
pub(crate) struct Owned {
    pub(crate) directory: Directory,
    pub(crate) lock: Lock,
    /// Whether there was no store before.
    pub(crate) created: bool,
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

    /// Opens a store for reading alone.
    pub(crate) fn open(media: &dyn Media, path: &Path) -> Result<Self, StoreError> {
        check(media, path)?;
        let id = read_format(media, path)?.ok_or_else(|| not_a_store(path, "it holds no file FORMAT"))?;
        Ok(Self { path: path.to_owned(), id })
    }
}

impl Owned {
    /// Opens a store for writing, or makes one where there is nothing yet; waits for the write lock `at_most` that
    /// long.
    pub(crate) fn open(media: &dyn Media, path: &Path, at_most: Duration) -> Result<Self, StoreError> {
        // Nothing is written before it is clear that the directory is ours.
        match media.list(path) {
            Ok(names) if names.iter().any(|name| name == FORMAT_FILE) => drop(read_format(media, path)?),
            Ok(names) => match check_unfinished(media, path, &names) {
                // Another process may have been making the store, and be through by now.
                Err(_) if is_there(media, path)? => {}
                checked => checked?,
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_dir(media, path)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(not_a_store(path, "it is no directory"));
            }
            Err(error) => return Err(io_error("list", path)(error)),
        }
        check(media, path)?;
        let log = path.join(LOG);
        if !is_there(media, path)? {
            for dir in [log.clone(), path.join(CACHE)] {
                media.create_dir_all(&dir).map_err(io_error("create", &dir))?;
            }
        }
        let lock = Lock::write(media, path, &log)?;
        let words = is_there(media, path)?.then(|| media.words(&path.join(HORIZON_FILE), Access::Write).ok()).flatten();
        lock.take(media, at_most, || words.iter().for_each(|words| Horizon::want_at(&**words)))?;
        lock.sign(media);
        // Read under the lock: another process may have made the store meanwhile.
        let there = read_format(media, path)?;
        let (id, created) = match there {
            Some(id) => (id, false),
            None => {
                let names = media.list(path).map_err(io_error("list", path))?;
                check_unfinished(media, path, &names)?;
                (create(media, path)?, true)
            }
        };
        media.tighten(path);
        Ok(Self { directory: Directory { path: path.to_owned(), id }, lock, created })
    }
}

/// Refuses a store in which a link, a device or a FIFO stands where a file or a directory of ours is expected. The store's
/// own path may be a link: the user names it.
fn check(media: &dyn Media, path: &Path) -> Result<(), StoreError> {
    media.check(path, &FILES, &DIRECTORIES).map_err(|(path, error)| io_error("open", &path)(error))
}

/// Makes a directory with those above it, and syncs every name that it takes.
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

/// Makes the names in a directory durable, and its own.
fn sync_with_parent(media: &dyn Media, path: &Path) -> Result<(), StoreError> {
    sync_dir(media, path)?;
    path.parent().map_or(Ok(()), |parent| sync_dir(media, parent))
}

fn is_there(media: &dyn Media, path: &Path) -> Result<bool, StoreError> {
    let names = media.list(path).map_err(io_error("list", path))?;
    Ok(names.iter().any(|name| name == FORMAT_FILE))
}

fn not_a_store(path: &Path, why: &str) -> StoreError {
    StoreError::NotAStore { path: path.to_owned(), why: why.to_owned() }
}

/// The store's name out of `FORMAT`; `None` when there is no such file.
fn read_format(media: &dyn Media, path: &Path) -> Result<Option<StoreId>, StoreError> {
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
        return Err(not_a_store(path, "its file FORMAT is that of something else"));
    }
    let damaged = |why: &str| StoreError::Damaged { path: file.clone(), offset: 0, why: why.to_owned() };
    let format = lines.next().and_then(|line| line.strip_prefix("format ")).and_then(|number| number.parse().ok());
    match format {
        // A newer version may lay out the rest as it likes.
        Some(found) if found > FORMAT => {
            Err(StoreError::NewerFormat { path: path.to_owned(), found, supported: FORMAT })
        }
        Some(FORMAT) => {
            let id = lines.next().and_then(|line| line.strip_prefix("id ")).and_then(parse_id);
            let id = id.ok_or_else(|| damaged("it names no store"))?;
            if text == format_text(id) { Ok(Some(id)) } else { Err(damaged("its checksum does not match")) }
        }
        _ => Err(damaged("it names no format")),
    }
}

/// Whether this is the text of a `FORMAT` of ours, of whatever version.
pub(super) fn is_format(text: &[u8]) -> bool {
    text.strip_prefix(MAGIC.as_bytes()).is_some_and(|rest| rest.starts_with(b"\n"))
}

/// What `FORMAT` says of a store of this name.
pub(crate) fn format_text(id: StoreId) -> String {
    let body = format!("{MAGIC}\nformat {FORMAT}\nid {}\n", id_text(id));
    format!("{body}crc32c {:08x}\n", checksum::crc32c(body.as_bytes()))
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

/// A directory without `FORMAT` may become a store when it is empty, or when making one was interrupted:
/// `FORMAT` comes last, when the first segment stands.
fn check_unfinished(media: &dyn Media, path: &Path, names: &[String]) -> Result<(), StoreError> {
    let ours = [FORMAT_TEMPORARY, LOCK_FILE, LEASE_FILE, HORIZON_FILE, LOG, CACHE];
    if let Some(other) = names.iter().find(|name| !ours.contains(&name.as_str())) {
        return Err(not_a_store(path, &format!("it holds `{other}` and no file FORMAT")));
    }
    if !names.iter().any(|name| name == LOG) {
        return Ok(());
    }
    let log = path.join(LOG);
    for name in media.list(&log).map_err(io_error("list", &log))? {
        let segment = log.join(&name);
        let open = match media.open(&segment, Access::Read) {
            // Another process makes the store and has given it its name since. Under the lock nobody does.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened.map_err(io_error("read", &segment))?,
        };
        let behind_header = read_from(&*open, u64::from(SEGMENT_HEADER)).map_err(io_error("read", &segment))?;
        let is_first = name == segment_name(1) || name.ends_with(".tmp");
        if !is_first || behind_header.iter().any(|byte| *byte != 0) {
            let why = "it is missing, but there is a log".to_owned();
            return Err(StoreError::Damaged { path: path.join(FORMAT_FILE), offset: 0, why });
        }
    }
    Ok(())
}

fn create(media: &dyn Media, path: &Path) -> Result<StoreId, StoreError> {
    let mut id = StoreId::default();
    fill_random(&mut id)?;
    let header = SegmentHeader { store: id, number: 1, previous_end: 0, first_lsn: 1, end: None, rewritten: 0 };
    create_segment(media, &path.join(LOG), &header).map_err(|failure| StoreError::from(&failure))?;
    sync_dir(media, path)?;
    let (temporary, file) = (path.join(FORMAT_TEMPORARY), path.join(FORMAT_FILE));
    let written = media.open(&temporary, Access::Create).and_then(|open| {
        open.write_at(format_text(id).as_bytes(), 0)?;
        open.sync_all()
    });
    written.map_err(io_error("write", &temporary))?;
    media.rename(&temporary, &file).map_err(io_error("write", &file))?;
    sync_with_parent(media, path)?;
    Ok(id)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::{super::media::Disk, *};

    #[test]
    fn a_store_that_another_process_is_making_is_no_error() {
        for _ in 0..100 {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path();
            thread::scope(|scope| {
                scope.spawn(|| Owned::open(&Disk, path, Duration::from_secs(10)).unwrap());
                loop {
                    let names = Disk.list(path).unwrap();
                    if names.iter().any(|name| name == FORMAT_FILE) {
                        break;
                    }
                    check_unfinished(&Disk, path, &names).unwrap();
                }
            });
        }
    }
}
