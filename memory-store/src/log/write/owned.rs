//! A directory that this process may write to, and the creation of stores.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use memory_core::port::{Place, StoreError};

use super::{lock::Lock, tail::create_segment};
use crate::log::{
    failure::{fill_random, io_error},
    format::{
        frame::StoreId,
        scan::{Found, Scan},
        segment::{Segment, SegmentHeader, segment_number},
    },
    keys::{self, Keys, RING_FILE, RING_TEMPORARY, SALTS_FILE, Unlock, no_key},
    media::{Access, Media},
    read::{
        directory::{
            CACHE, Directory, FORMAT_FILE, FORMAT_TEMPORARY, Format, LEASE_FILE, LOCK_FILE, LOG, check, is_there,
            is_unfinished, make_dir, not_a_store, read_format, sync_dir,
        },
        watermark::{WATERMARK_FILE, Watermark},
    },
};

/// Suffix of the directory next to a store in which the store is made.
const ASIDE: &str = ".memory-new";
/// Names that an interrupted creation of a store leaves.
const OURS: [&str; 9] =
    [FORMAT_TEMPORARY, LOCK_FILE, LEASE_FILE, WATERMARK_FILE, LOG, CACHE, RING_TEMPORARY, RING_FILE, SALTS_FILE];

/// A directory whose write lock this process holds.
#[derive(Debug)]
pub(crate) struct Owned {
    pub(crate) directory: Directory,
    pub(crate) lock: Lock,
    /// True if there was no store before.
    pub(crate) created: bool,
}

impl Owned {
    /// Opens a store for writing, or makes a missing one; waits for the write lock no longer than `at_most`.
    ///
    /// A new directory is made next to its place and renamed. An existing one becomes a store in place, since a rename
    /// would replace it under the shells and mounts that use it; so does one whose parent takes no new names. Either
    /// way `FORMAT` comes last, and readers find no store before.
    pub(crate) fn open(
        shared: &Arc<dyn Media>,
        path: &Path,
        at_most: Duration,
        unlock: Unlock<'_>,
    ) -> Result<Self, StoreError> {
        let media: &dyn Media = &**shared;
        let mut made = false;
        // Nothing is written before the directory is known to be ours.
        match media.list(path) {
            Ok(names) if names.iter().any(|name| name == FORMAT_FILE) => drop(read_format(media, path)?),
            Ok(names) => match check_unfinished(media, path, &names) {
                // Another process may have been making the store, and have finished.
                Err(_) if is_there(media, path)? => {}
                checked => checked?,
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match create_aside(shared, path, at_most, unlock) {
                    Ok(renamed) => made = renamed,
                    Err(error) => tracing::debug!(%error, "the store is made in place"),
                }
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
            make_dirs(media, path)?;
        }
        let lock = Lock::write(media, path, &log)?;
        let words =
            is_there(media, path)?.then(|| media.words(&path.join(WATERMARK_FILE), Access::Write).ok()).flatten();
        lock.take(media, at_most, || words.iter().for_each(|words| Watermark::want_at(&**words)))?;
        lock.sign(media);
        // `FORMAT` is read under the lock, since another process may have made the store meanwhile.
        let there = read_format(media, path)?;
        let (format, created) = match there {
            Some(format) => (format, made),
            None => {
                let names = media.list(path).map_err(io_error("list", path))?;
                check_unfinished(media, path, &names)?;
                // The leftover goes before `FORMAT` is written, since no process looks for it once there is a store.
                remove_leftover(media, path);
                (create(shared, path, unlock)?, true)
            }
        };
        media.tighten(path);
        let Format { id, is_encrypted } = format;
        if unlock.encrypts_new && !is_encrypted {
            return Err(no_key(path, "it is there already and is not encrypted: `memory encrypt` encrypts it"));
        }
        if !is_encrypted && keys::is_there(media, path)? {
            // Encrypting the store was interrupted before it began, or decrypting it after it ended.
            if needs_keys(media, path, id)? {
                return Err(of_before(path));
            }
            keys::remove(media, path)?;
        }
        let directory = Directory { path: path.to_owned(), id, is_encrypted, keys: Keys::default() };
        Ok(Self { directory, lock, created })
    }
}

/// True if a store needs keys though its `FORMAT`, which is older than the encryption, says that it is not encrypted.
/// Frames show that; files of keys do not, since they may be left over from before a decryption.
pub(crate) fn needs_keys(media: &dyn Media, path: &Path, id: StoreId) -> Result<bool, StoreError> {
    let is_settled = keys::is_settled(media, path, id);
    let log = path.join(LOG);
    for number in media.list(&log).map_err(io_error("list", &log))?.iter().filter_map(|name| segment_number(name)) {
        let segment = Segment::open(media, (&log, &Keys::default()), number, true)?;
        let image = segment.image().map_err(io_error("read", segment.path()))?;
        let needs = |found| match found {
            Found::Frame { header, .. } => header.key_epoch > 0,
            // Damage may hide such a frame.
            Found::Damage { .. } => is_settled,
            Found::Torn { .. } => false,
        };
        if Scan::new(&image, id, number, false).any(needs) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Error for a store whose `FORMAT` is older than its encryption.
pub(crate) fn of_before(path: &Path) -> StoreError {
    let why = "it is older than the store's encryption: it says that the store is in clear, and KEYRING holds its keys. \
               Nothing was changed. `memory encrypt` with the store's key writes it again";
    StoreError::Damaged { place: Place::from(path.join(FORMAT_FILE)).offset(0), why: why.to_owned() }
}

/// A directory without `FORMAT` may become a store when it is empty, or when making one was interrupted: `FORMAT` is
/// written last, after the first segment.
fn check_unfinished(media: &dyn Media, path: &Path, names: &[String]) -> Result<(), StoreError> {
    if let Some(other) = names.iter().find(|name| !OURS.contains(&name.as_str())) {
        return Err(not_a_store(path, &format!("it holds `{other}` and no file FORMAT")));
    }
    if names.iter().any(|name| name == LOG) && !is_unfinished(media, &path.join(LOG))? {
        let why = "it is missing, but there is a log".to_owned();
        return Err(StoreError::Damaged { place: Place::from(path.join(FORMAT_FILE)).offset(0), why });
    }
    Ok(())
}

fn make_dirs(media: &dyn Media, store: &Path) -> Result<(), StoreError> {
    [LOG, CACHE]
        .map(|name| store.join(name))
        .iter()
        .try_for_each(|dir| media.create_dir_all(dir).map_err(io_error("create", dir)))
}

/// Makes an empty store in a directory that has its directories.
fn create(shared: &Arc<dyn Media>, path: &Path, unlock: Unlock<'_>) -> Result<Format, StoreError> {
    let media: &dyn Media = &**shared;
    let mut id = StoreId::default();
    fill_random(&mut id)?;
    let header = SegmentHeader { store: id, number: 1, previous_end: 0, first_lsn: 1, end: None, rewritten: 0 };
    create_segment(media, (&path.join(LOG), &Keys::default()), &header)
        .map_err(|failure| StoreError::from(&failure))?;
    // Readers find the end of the log on disk here. Without it they might take a frame that is being written for
    // damage.
    let watermark = path.join(WATERMARK_FILE);
    media.words(&watermark, Access::Write).map_err(io_error("create", &watermark))?;
    sync_dir(media, path)?;
    let format = Format { id, is_encrypted: unlock.encrypts_new };
    if format.is_encrypted {
        let key = unlock.key.ok_or_else(|| no_key(path, "it is to be encrypted, and no key was given"))?;
        Keys::create(shared, path, id, key, false)?;
    }
    format.write(media, path)?;
    Ok(format)
}

/// Makes a store next to `path` and renames it; returns `false` if another process was faster. An error leaves nothing
/// but a directory of our name that holds something else.
fn create_aside(
    shared: &Arc<dyn Media>,
    path: &Path,
    at_most: Duration,
    unlock: Unlock<'_>,
) -> Result<bool, StoreError> {
    let media: &dyn Media = &**shared;
    let Some(aside) = aside(path) else { return Ok(false) };
    let parent = aside.parent().unwrap_or(Path::new(""));
    // A parent that is there may be a link, which `make_dir` refuses.
    if media.list(parent).is_err() {
        make_dir(media, parent)?;
    }
    let Some(_lock) = hold(media, &aside, at_most)? else { return Ok(false) };
    let renamed =
        create(shared, &aside, unlock).and_then(|_| media.rename(&aside, path).map_err(io_error("rename", &aside)));
    if renamed.is_err() {
        discard(media, &aside);
    }
    // The new name is synced by the opening that follows, since its watermark is empty.
    renamed.map(|()| true)
}

/// The directory next to `path` in which its store is made; the same for all processes, so that none is left over when
/// one was interrupted. `None` if the path does not end with a name.
fn aside(path: &Path) -> Option<PathBuf> {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name()?);
    name.push(ASIDE);
    Some(path.with_file_name(name))
}

/// Makes the directories next to the store's place, or takes over those of an interrupted process, and locks them. The
/// lock is on `log`, so that it is the write lock once the directory is the store. `None` when another process has
/// renamed them.
fn hold(media: &dyn Media, aside: &Path, at_most: Duration) -> Result<Option<Lock>, StoreError> {
    make_dirs(media, aside)?;
    check(media, aside)?;
    let log = aside.join(LOG);
    let lock = Lock::write(media, aside, &log)?;
    lock.take(media, at_most, || ())?;
    if !lock.is_at(&log) {
        return Ok(None);
    }
    let mut names = media.list(aside).map_err(io_error("list", aside))?;
    names.retain(|name| name != FORMAT_FILE);
    check_unfinished(media, aside, &names)?;
    Ok(Some(lock))
}

/// Removes the directories that an interrupted process left next to the store, if the store was made in place since.
fn remove_leftover(media: &dyn Media, path: &Path) {
    let Some(aside) = aside(path).filter(|aside| media.list(aside).is_ok()) else { return };
    match hold(media, &aside, Duration::ZERO) {
        Ok(Some(_lock)) => {
            discard(media, &aside);
            drop(aside.parent().map(|parent| sync_dir(media, parent)));
        }
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, "an interrupted process left it: remove it"),
    }
}

/// Removes the directories of [`hold`]. The caller holds their lock, so `log` goes after the files next to it.
fn discard(media: &dyn Media, aside: &Path) {
    let (log, cache) = (aside.join(LOG), aside.join(CACHE));
    for dir in [&cache, aside, &log] {
        // A directory fails here, and is removed below.
        media.list(dir).unwrap_or_default().iter().for_each(|name| drop(media.remove(&dir.join(name))));
    }
    for dir in [&cache, &log, aside] {
        if let Err(error) = media.remove_dir(dir) {
            tracing::debug!(path = %dir.display(), %error, "left over");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::Barrier, thread};

    use super::*;
    use crate::log::media::Disk;

    fn shared() -> Arc<dyn Media> {
        Arc::new(Disk)
    }

    fn open(path: &Path) -> Result<Owned, StoreError> {
        Owned::open(&shared(), path, Duration::from_secs(10), Unlock::default())
    }

    #[test]
    fn readers_see_no_store_or_a_whole_one_and_all_who_make_it_at_once_open_the_same() {
        let place = tempfile::tempdir().unwrap();
        for turn in 0..60 {
            let path = place.path().join(format!("store-{turn}"));
            // In place as well, and next to what an interrupted process has left.
            if turn % 3 == 1 {
                fs::create_dir(&path).unwrap();
            } else if turn % 3 == 2 {
                make_dirs(&Disk, &aside(&path).unwrap()).unwrap();
                create(&shared(), &aside(&path).unwrap(), Unlock::default()).unwrap();
            }
            let start = Barrier::new(4);
            let ids = thread::scope(|scope| {
                let make = || {
                    start.wait();
                    open(&path).unwrap().directory.id
                };
                let makers = [scope.spawn(make), scope.spawn(make), scope.spawn(make)];
                start.wait();
                loop {
                    match Directory::open(&Disk, &path) {
                        Ok(_) => break,
                        Err(StoreError::NotAStore { .. }) => {}
                        Err(error) => panic!("turn {turn}: {error}"),
                    }
                }
                makers.map(|maker| maker.join().unwrap())
            });
            assert_eq!(ids, [Directory::open(&Disk, &path).unwrap().id; 3], "turn {turn}");
        }
        let names = Disk.list(place.path()).unwrap();
        assert_eq!(names.len(), 60, "nothing is left aside: {names:?}");
    }

    #[test]
    fn a_store_is_made_in_place_where_it_cannot_be_made_aside() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at(".taken.memory-new"), "something else").unwrap();
        fs::create_dir_all(at(".full.memory-new/thesis")).unwrap();
        let long = "n".repeat(250);
        for name in ["taken", "full", &long] {
            assert!(open(&at(name)).unwrap().created, "{name}");
            assert!(!open(&at(name)).unwrap().created, "{name}");
        }
        assert_eq!(fs::read_to_string(at(".taken.memory-new")).unwrap(), "something else");
        assert!(at(".full.memory-new/thesis").is_dir());
        assert_eq!(Disk.list(place.path()).unwrap().len(), 5);
        let linked = at("linked/store");
        fs::create_dir(at("target")).unwrap();
        std::os::unix::fs::symlink(at("target"), at("linked")).unwrap();
        assert!(open(&linked).unwrap().created);
        assert_eq!(Disk.list(&at("target")).unwrap(), ["store"]);
        std::os::unix::fs::symlink(at("none"), at("dangling")).unwrap();
        assert!(matches!(open(&at("dangling")), Err(StoreError::Io { .. })));
        assert!(
            at("dangling").is_symlink() && !Disk.list(place.path()).unwrap().contains(&".dangling.memory-new".into())
        );
    }
}
