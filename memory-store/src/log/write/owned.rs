//! A directory that this process may write to, and how an empty one becomes a store.

use std::{io, path::Path, time::Duration};

use memory_core::{Place, StoreError};

use super::{lock::Lock, tail::create_segment};
use crate::log::{
    failure::{fill_random, io_error},
    format::{
        frame::StoreId,
        segment::{SEGMENT_HEADER, SegmentHeader, segment_name},
    },
    media::{Access, Media, read_from},
    read::{
        directory::{
            CACHE, Directory, FORMAT_FILE, FORMAT_TEMPORARY, LEASE_FILE, LOCK_FILE, LOG, check, format_text, is_there,
            make_dir, not_a_store, read_format, sync_dir, sync_with_parent,
        },
        watermark::{WATERMARK_FILE, Watermark},
    },
};

/// A directory whose write lock this process holds.
#[derive(Debug)]
pub(crate) struct Owned {
    pub(crate) directory: Directory,
    pub(crate) lock: Lock,
    /// True if there was no store before.
    pub(crate) created: bool,
}

impl Owned {
    /// Opens a store for writing, or makes one where there is none; waits for the write lock no longer than `at_most`.
    pub(crate) fn open(media: &dyn Media, path: &Path, at_most: Duration) -> Result<Self, StoreError> {
        // Nothing is written before the directory is known to be ours.
        match media.list(path) {
            Ok(names) if names.iter().any(|name| name == FORMAT_FILE) => drop(read_format(media, path)?),
            Ok(names) => match check_unfinished(media, path, &names) {
                // Another process may have been making the store, and have finished.
                Err(_) if is_there(media, path)? => {}
                checked => checked?,
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_dir(media, path)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(not_a_store(path, "it is not a directory"));
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
        let words =
            is_there(media, path)?.then(|| media.words(&path.join(WATERMARK_FILE), Access::Write).ok()).flatten();
        lock.take(media, at_most, || words.iter().for_each(|words| Watermark::want_at(&**words)))?;
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

/// A directory without `FORMAT` may become a store when it is empty, or when making one was interrupted: `FORMAT` is
/// written last, after the first segment.
fn check_unfinished(media: &dyn Media, path: &Path, names: &[String]) -> Result<(), StoreError> {
    let ours = [FORMAT_TEMPORARY, LOCK_FILE, LEASE_FILE, WATERMARK_FILE, LOG, CACHE];
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
            // Another process was making the store and has renamed the file since. Under the lock this cannot happen.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened.map_err(io_error("read", &segment))?,
        };
        let behind_header = read_from(&*open, u64::from(SEGMENT_HEADER)).map_err(io_error("read", &segment))?;
        let is_first = name == segment_name(1) || name.ends_with(".tmp");
        if !is_first || behind_header.iter().any(|byte| *byte != 0) {
            let why = "it is missing, but there is a log".to_owned();
            return Err(StoreError::Damaged { place: Place::from(path.join(FORMAT_FILE)).offset(0), why });
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

    use super::*;
    use crate::log::media::Disk;

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
