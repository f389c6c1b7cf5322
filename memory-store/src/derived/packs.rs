//! Packs of a directory: files of conversations that rarely change, many per pack.

mod gather;
mod pack;

use std::{
    fs,
    io::{self, Read, Seek},
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use memory_files::{DataFile, seal::KeySet};

use self::pack::Entry;
pub(super) use self::pack::Pack;
use super::{disk, file::temporary, turn::Turn};

/// Subdirectory of the packs.
const DIRECTORY: &str = "packs";
/// Time after a change of a directory during which another change may leave the same timestamp.
const TICK: Duration = Duration::from_millis(50);
/// Minimum time between two checks of the directories for [`Packs::generation`].
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// Attempts to find a file that another process moves between loose and packed.
const ATTEMPTS: u32 = 3;

/// Packs of a directory. A loose file takes precedence over a packed one of the same name.
#[derive(Debug)]
pub(super) struct Packs {
    /// Directory of the loose files.
    dir: PathBuf,
    store: [u8; 16],
    /// Keys of the files and the packs.
    keys: KeySet,
    /// Extensions of the files of a conversation; the file with the first one has the header.
    extensions: &'static [&'static str],
    listed: Mutex<PackList>,
    looked: Mutex<DirectoryTimes>,
    /// Timestamp of the directory when its files were last counted.
    tidied: Mutex<Time>,
}

/// Packs as last listed.
#[derive(Debug, Default)]
struct PackList {
    time: Time,
    /// Newest first: a file in a newer pack takes precedence over those of the same name in older ones.
    packs: Arc<[Arc<Pack>]>,
    /// Files that are not valid packs of this store, and unfinished ones.
    strange: Vec<PathBuf>,
}

/// Timestamps of the directories when they were last checked.
#[derive(Debug, Default)]
struct DirectoryTimes {
    at: Option<Instant>,
    times: [Time; 2],
    number: u64,
}

/// Timestamp of a directory; `None` if the next change might leave the same one.
type Time = Option<SystemTime>;

/// A packed file.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    pack: Arc<Pack>,
    place: Range<usize>,
}

/// Storage of a derived file.
#[derive(Debug)]
pub(super) enum FileSource {
    /// A loose file.
    Loose(DataFile),
    Packed(Packed),
}

impl Packs {
    /// Packs next to the loose files in `dir`, not read yet.
    pub(super) fn new(dir: &Path, (store, keys): ([u8; 16], KeySet), extensions: &'static [&'static str]) -> Arc<Self> {
        let (listed, looked, tidied) = (Mutex::default(), Mutex::default(), Mutex::default());
        Arc::new(Self { dir: dir.to_owned(), store, keys, extensions, listed, looked, tidied })
    }

    /// Keys of the files.
    pub(super) fn keys(&self) -> &KeySet {
        &self.keys
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    fn directory(&self) -> PathBuf {
        self.dir.join(DIRECTORY)
    }

    /// A number that changes whenever a file may have become loose or packed, or a pack was replaced. Takes a
    /// microsecond, and may be a tenth of a second late.
    pub(super) fn generation(&self) -> u64 {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.at.is_none_or(|at| at.elapsed() >= BETWEEN_LOOKS) {
            let times = [changed(&self.dir), changed(&self.directory())];
            let is_same = times == looked.times && times.iter().all(Option::is_some);
            looked.number += u64::from(!is_same);
            (looked.times, looked.at) = (times, Some(Instant::now()));
        }
        looked.number
    }

    /// Packs loose files if there are too many, unless another process is writing. Returns true if it did. Takes a
    /// microsecond after a flush without a new file.
    pub(super) fn tidy(&self) -> bool {
        let time = changed(&self.dir);
        if time == Some(SystemTime::UNIX_EPOCH) {
            // The directory does not exist.
            return false;
        }
        let mut tidied = self.tidied.lock().unwrap_or_else(PoisonError::into_inner);
        if time.is_some() && *tidied == time {
            return false;
        }
        let gathered = match Turn::now(&self.dir) {
            Ok(Some(_turn)) => self.gather(),
            Ok(None) => return false,
            Err(error) => Err(error),
        };
        *tidied = time;
        self.looked.lock().unwrap_or_else(PoisonError::into_inner).at = None;
        // The files are unchanged, and the next flush tries again.
        gathered.unwrap_or_else(|error| {
            tracing::warn!(dir = %self.dir.display(), %error, "derived files cannot be packed");
            false
        })
    }

    /// The current packs.
    ///
    /// # Errors
    /// If they cannot be listed or opened for another reason than damage.
    fn list(&self) -> io::Result<Arc<[Arc<Pack>]>> {
        Ok(Arc::clone(&self.listed()?.packs))
    }

    fn listed(&self) -> io::Result<MutexGuard<'_, PackList>> {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = self.directory();
        let time = changed(&directory);
        if time.is_some() && time == listed.time {
            return Ok(listed);
        }
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                *listed = PackList { time, ..PackList::default() };
                return Ok(listed);
            }
            Err(error) => return Err(error),
        };
        let (mut packs, mut strange) = (Vec::new(), Vec::new());
        for entry in entries {
            let path = entry?.path();
            // The name of a pack is never reused.
            if let Some(known) = listed.packs.iter().find(|pack| pack.path() == path) {
                packs.push(Arc::clone(known));
                continue;
            }
            match Pack::open(path.clone(), self.store, &self.keys) {
                Ok(pack) if path.extension().is_some_and(|extension| extension == "pack") => packs.push(Arc::new(pack)),
                Ok(_) => strange.push(path),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) if disk::is_damage(&error) => strange.push(path),
                Err(error) => return Err(error),
            }
        }
        packs.sort_by_key(|pack| std::cmp::Reverse(pack.number()));
        *listed = PackList { time, packs: packs.into(), strange };
        Ok(listed)
    }

    /// The packed file of this name.
    pub(super) fn find(&self, name: &str) -> io::Result<Option<Packed>> {
        let packs = self.list()?;
        let found = packs.iter().find_map(|pack| Some(Packed { place: pack.find(name)?, pack: Arc::clone(pack) }));
        Ok(found)
    }

    /// Names of all packed files.
    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let packs = self.list()?;
        let names = packs.iter().flat_map(|pack| pack.entries()).map(|entry| entry.name.to_owned()).collect();
        Ok(names)
    }

    /// Files that are not valid packs of this store, and unfinished ones.
    pub(super) fn strange(&self) -> io::Result<Vec<PathBuf>> {
        Ok(self.listed()?.strange.clone())
    }

    pub(super) fn bytes(&self) -> io::Result<u64> {
        Ok(self.list()?.iter().map(|pack| pack.length()).sum())
    }

    /// Packs with damaged bytes.
    pub(super) fn damaged(&self) -> io::Result<Vec<PathBuf>> {
        let packs = self.list()?;
        Ok(packs.iter().filter(|pack| !pack.is_whole()).map(|pack| pack.path().to_owned()).collect())
    }

    /// Makes the files of a conversation loose, so that they can be changed. The caller holds the turn.
    pub(super) fn unpack(&self, stem: &Path) -> io::Result<()> {
        for extension in self.extensions {
            let path = stem.with_extension(extension);
            if path.symlink_metadata().is_err()
                && let Some(packed) = self.find(name_of(&path))?
            {
                let copy = disk::create(&temporary(&path), &self.keys)?;
                copy.write_all_at(packed.bytes(), 0)?;
                copy.sync_data()?;
                disk::rename(&temporary(&path), &path)?;
            }
        }
        Ok(())
    }

    /// Rewrites packs without the files of the conversations that `is_forgotten` accepts by their stems, so that no
    /// byte of them is left. The caller holds the turn.
    pub(super) fn forget(&self, is_forgotten: impl Fn(&str) -> bool) -> io::Result<()> {
        let is_forgotten = |name: &str| is_forgotten(stem_of(name));
        for pack in self.list()?.iter() {
            if pack.entries().any(|entry| is_forgotten(entry.name)) {
                self.replace(std::slice::from_ref(pack), &[], is_forgotten)?;
            }
        }
        Ok(())
    }

    /// Rewrites packs without files of a conversation that newer ones replace. The caller holds the turn.
    pub(super) fn forget_older(&self, stem: &str) -> io::Result<()> {
        let all = self.list()?;
        for pack in all.iter() {
            let of_stem = |entries: &mut dyn Iterator<Item = Entry<'_>>| {
                entries.filter(|entry| stem_of(entry.name) == stem).count()
            };
            if of_stem(&mut pack.entries()) > of_stem(&mut self.counting(pack, &all)) {
                self.replace(std::slice::from_ref(pack), &[], |_| false)?;
            }
        }
        Ok(())
    }
}

pub(super) fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Common stem of the file names of a conversation.
pub(super) fn stem_of(name: &str) -> &str {
    name.split_once('.').map_or(name, |(stem, _)| stem)
}

/// Timestamp of a directory; `None` if it is so recent that the next change might leave the same one.
fn changed(dir: &Path) -> Time {
    let Ok(metadata) = fs::symlink_metadata(dir) else { return Some(SystemTime::UNIX_EPOCH) };
    metadata.modified().ok().filter(|time| time.elapsed().is_ok_and(|age| age >= TICK))
}

/// Opens a file, loose or in a pack.
pub(super) fn open(path: &Path, packs: &Packs) -> io::Result<FileSource> {
    for _ in 0..ATTEMPTS {
        match disk::open(path, &packs.keys) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened.map(FileSource::Loose),
        }
        if let Some(packed) = packs.find(name_of(path))? {
            return Ok(FileSource::Packed(packed));
        }
        // Another process may have made the file loose and rewritten its pack.
        if path.symlink_metadata().is_err() {
            break;
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

impl Packed {
    pub(super) fn bytes(&self) -> &[u8] {
        self.pack.bytes(self.place.clone())
    }

    pub(super) fn path(&self) -> &Path {
        self.pack.path()
    }
}

impl FileSource {
    pub(super) fn len(&self) -> io::Result<u64> {
        match self {
            Self::Loose(file) => file.size(),
            Self::Packed(packed) => Ok(packed.bytes().len() as u64),
        }
    }

    pub(super) fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        match self {
            Self::Loose(file) => file.read_exact_at(buffer, at),
            Self::Packed(packed) => {
                let at = usize::try_from(at).unwrap_or(usize::MAX);
                let end = at.saturating_add(buffer.len());
                let bytes = packed.bytes().get(at..end).ok_or(io::ErrorKind::UnexpectedEof)?;
                buffer.copy_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Reader of its bytes.
    pub(super) fn reader(&self) -> Box<dyn Readable + '_> {
        match self {
            Self::Loose(file) => Box::new(file.reader()),
            Self::Packed(packed) => Box::new(io::Cursor::new(packed.bytes())),
        }
    }
}

/// Bytes that can be read from any offset.
pub(super) trait Readable: Read + Seek {}

impl<T: Read + Seek> Readable for T {}

#[cfg(test)]
mod tests;
