//! The contents of the disk in memory, their synced parts, and the faults of the disk.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
    thread::ThreadId,
};

pub(super) const SECTOR: usize = 512;

/// Fault at a chosen operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The power fails: this operation and every later one does nothing and fails.
    PowerLoss,
    /// This one operation fails. Bytes of a failed sync stay in memory and are never written by a later one, as on
    /// Linux.
    Fail(io::ErrorKind),
}

/// Unsynced bytes and names that are on disk after a power loss.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unsynced {
    Lost,
    Kept,
    /// Each sector and each name at random, from this seed.
    Mixed(u64),
}

/// The disk; clones are the same disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct SimDisk(Arc<Mutex<Disk>>);

#[derive(Debug, Default)]
pub(super) struct Disk {
    pub(super) files: Vec<SimFile>,
    pub(super) names: Names,
    pub(super) durable_names: Names,
    pub(super) unsynced_names: Vec<NameChange>,
    /// Locked directories, and the threads that locked them.
    pub(super) locked: BTreeMap<PathBuf, ThreadId>,
    /// Number of times that the power came back.
    pub(super) boots: u64,
    operations: usize,
    fault: Option<(usize, Fault)>,
    pub(super) power_lost: bool,
    /// Sectors that cannot be read, by file.
    pub(super) bad_sectors: BTreeSet<(usize, usize)>,
    /// Bytes that were read by threads that had the write lock of a log.
    pub(super) read_while_locked: usize,
    /// The suffix of a file name; the next such file gets a bad sector.
    spoil_next: Option<&'static str>,
    /// A directory in which no name is made, changed or removed.
    refused: Option<PathBuf>,
    /// True if the disk loses nothing, and so does not track unsynced data.
    pub(super) is_lossless: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) files: BTreeMap<PathBuf, usize>,
    pub(super) dirs: BTreeSet<PathBuf>,
}

#[derive(Clone, Debug)]
pub(super) enum NameChange {
    Dir(PathBuf),
    Add(PathBuf, usize),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
}

#[derive(Debug, Default)]
pub(super) struct SimFile {
    pub(super) bytes: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<Write>,
}

#[derive(Clone, Debug)]
pub(super) enum Write {
    Bytes(usize, Vec<u8>),
    Size(usize),
}

impl Write {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Size(size) => bytes.resize(*size, 0),
            Self::Bytes(at, new) => {
                let end = at + new.len();
                bytes.resize(bytes.len().max(end), 0);
                bytes[*at..end].copy_from_slice(new);
            }
        }
    }

    /// The parts that reach the disk one by one.
    fn sectors(&self) -> Vec<Self> {
        match self {
            Self::Size(_) => vec![self.clone()],
            Self::Bytes(at, new) => {
                new.chunks(SECTOR).enumerate().map(|(i, part)| Self::Bytes(at + i * SECTOR, part.to_vec())).collect()
            }
        }
    }
}

impl Names {
    pub(super) fn apply(&mut self, change: &NameChange) {
        match change {
            NameChange::Dir(path) => {
                self.dirs.insert(path.clone());
            }
            NameChange::Add(path, file) => {
                self.files.insert(path.clone(), *file);
            }
            NameChange::Remove(path) => {
                self.files.remove(path);
                self.dirs.remove(path);
            }
            NameChange::Rename(from, to) => {
                if let Some(file) = self.files.remove(from) {
                    self.files.insert(to.clone(), file);
                } else {
                    self.rename_dir(from, to);
                }
            }
        }
    }

    /// Renames a directory with all in it. A name in it whose change is not synced is lost at the next power failure.
    fn rename_dir(&mut self, from: &Path, to: &Path) {
        let renamed = |path: PathBuf| match path.strip_prefix(from) {
            Ok(rest) if rest.as_os_str().is_empty() => to.to_owned(),
            Ok(rest) => to.join(rest),
            Err(_) => path,
        };
        self.files = std::mem::take(&mut self.files).into_iter().map(|(path, file)| (renamed(path), file)).collect();
        self.dirs = std::mem::take(&mut self.dirs).into_iter().map(renamed).collect();
    }

    /// The files and directories in a directory.
    pub(super) fn inside<'a>(&'a self, dir: &'a Path) -> impl Iterator<Item = &'a PathBuf> {
        self.files.keys().chain(&self.dirs).filter(move |path| path.parent() == Some(dir))
    }
}

/// SplitMix64.
fn toss(seed: &mut u64) -> bool {
    *seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)) & 1 == 1
}

impl SimDisk {
    /// A disk that never loses anything.
    pub(crate) fn lossless() -> Self {
        Self(Arc::new(Mutex::new(Disk { is_lossless: true, ..Disk::default() })))
    }

    /// Adds a file, and its directories. Cannot fail.
    pub(crate) fn put(&self, path: &Path, bytes: Vec<u8>) {
        let mut disk = self.lock();
        disk.names.dirs.extend(path.ancestors().skip(1).map(Path::to_owned));
        disk.files.push(SimFile { bytes, ..SimFile::default() });
        let file = disk.files.len() - 1;
        disk.names.files.insert(path.to_owned(), file);
    }

    /// All files as they are now.
    #[cfg(test)]
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let disk = self.lock();
        disk.names.files.iter().map(|(path, file)| (path.clone(), disk.files[*file].bytes.clone())).collect()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap()
    }

    /// Sets `fault` to happen at the mutating operation after `operations` more of them.
    pub(crate) fn fail_after(&self, operations: usize, fault: Fault) {
        let mut disk = self.lock();
        disk.fault = Some((disk.operations + operations, fault));
    }

    /// Mutating operations so far.
    pub(crate) fn operations(&self) -> usize {
        self.lock().operations
    }

    /// Cuts the power, if on, and restores it.
    pub(crate) fn power_cycle(&self, unsynced: Unsynced) {
        let mut disk = self.lock();
        let mut keep: Box<dyn FnMut() -> bool> = match unsynced {
            Unsynced::Lost => Box::new(|| false),
            Unsynced::Kept => Box::new(|| true),
            Unsynced::Mixed(mut seed) => Box::new(move || toss(&mut seed)),
        };
        for file in &mut disk.files {
            for write in std::mem::take(&mut file.unsynced) {
                for sector in write.sectors() {
                    if keep() {
                        sector.apply(&mut file.durable);
                    }
                }
            }
            if matches!(unsynced, Unsynced::Kept) {
                file.durable.clone_from(&file.bytes);
            }
            file.bytes.clone_from(&file.durable);
        }
        for change in std::mem::take(&mut disk.unsynced_names) {
            if keep() {
                disk.durable_names.apply(&change);
            }
        }
        // A name in a missing directory is missing, too.
        let Disk { durable_names: Names { files, dirs }, .. } = &mut *disk;
        let there = dirs.clone();
        dirs.retain(|dir| dir.ancestors().all(|above| above.parent().is_none() || there.contains(above)));
        files.retain(|path, _| path.parent().is_some_and(|dir| dirs.contains(dir)));
        disk.names = disk.durable_names.clone();
        disk.locked.clear();
        disk.boots += 1;
        (disk.fault, disk.power_lost) = (None, false);
    }

    /// Refuses changes of names in a directory from now on, or in none.
    #[cfg(test)]
    pub(crate) fn refuse(&self, dir: Option<&Path>) {
        self.lock().refused = dir.map(Path::to_owned);
    }

    /// Makes the sector around this byte of a file unreadable from now on.
    pub(crate) fn spoil(&self, path: &Path, byte: usize) {
        let mut disk = self.lock();
        let file = disk.names.files[path];
        disk.bad_sectors.insert((file, byte / SECTOR));
    }

    /// Makes the first sector of the next file that is created with this suffix unreadable.
    pub(crate) fn spoil_next(&self, name: &'static str) {
        self.lock().spoil_next = Some(name);
    }

    /// Bytes that were read so far by threads that had the write lock of a log.
    pub(crate) fn read_while_locked(&self) -> usize {
        self.lock().read_while_locked
    }

    /// The bytes of a file as they are now.
    pub(crate) fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        let disk = self.lock();
        let file = *disk.names.files.get(path)?;
        Some(disk.files[file].bytes.clone())
    }
}

impl Disk {
    /// Counts a mutating operation, and fails it if the fault is due.
    pub(super) fn operate(&mut self) -> io::Result<()> {
        if self.power_lost {
            return Err(io::Error::other("no power"));
        }
        let now = self.operations;
        self.operations += 1;
        match self.fault {
            Some((at, Fault::PowerLoss)) if now >= at => {
                self.power_lost = true;
                Err(io::Error::other("no power"))
            }
            Some((at, Fault::Fail(kind))) if now == at => Err(kind.into()),
            _ => Ok(()),
        }
    }

    /// [`Self::operate`] on the name of a file.
    pub(super) fn operate_on(&mut self, path: &Path) -> io::Result<()> {
        self.operate()?;
        let is_refused = self.refused.is_some() && self.refused.as_deref() == path.parent();
        if is_refused { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
    }

    pub(super) fn change_names(&mut self, change: NameChange) {
        self.names.apply(&change);
        if !self.is_lossless {
            self.unsynced_names.push(change);
        }
    }

    pub(super) fn file_named(&self, path: &Path) -> io::Result<usize> {
        self.names.files.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(super) fn create(&mut self, path: &Path) -> io::Result<usize> {
        self.operate_on(path)?;
        if !path.parent().is_some_and(|dir| self.names.dirs.contains(dir)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if let Ok(file) = self.file_named(path) {
            return Ok(file);
        }
        self.files.push(SimFile::default());
        let file = self.files.len() - 1;
        if self.spoil_next.take_if(|end| path.to_string_lossy().ends_with(*end)).is_some() {
            self.bad_sectors.insert((file, 0));
        }
        self.change_names(NameChange::Add(path.to_owned(), file));
        Ok(file)
    }

    pub(super) fn write(&mut self, file: usize, what: Write) {
        let file = &mut self.files[file];
        what.apply(&mut file.bytes);
        if !self.is_lossless {
            file.unsynced.push(what);
        }
    }

    pub(super) fn sync(&mut self, file: usize) -> io::Result<()> {
        let outcome = self.operate();
        let lost = self.power_lost;
        let SimFile { durable, unsynced, .. } = &mut self.files[file];
        match &outcome {
            Ok(()) => unsynced.drain(..).for_each(|write| write.apply(durable)),
            // Sizes are the file system's own and are not forgotten.
            Err(_) if !lost => unsynced.retain(|write| matches!(write, Write::Size(_))),
            Err(_) => {}
        }
        outcome
    }
}
