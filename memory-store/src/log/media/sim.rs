//! A simulated disk that fails at a chosen operation, and loses on demand what was not synced.

mod shared;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, atomic::AtomicBool},
    thread::{self, ThreadId},
};

use self::shared::{SimLock, SimWords};
use super::{Access, DirLock, Map, Media, MediaFile, WORDS, Words};

const SECTOR: usize = 512;

/// What goes wrong at the operation a fault is set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The power goes: this operation and every later one does nothing and fails.
    PowerLoss,
    /// This one operation fails. Bytes of a failed sync stay in memory and are never written by a later one,
    /// as Linux does it.
    Fail(io::ErrorKind),
}

/// What of the bytes and names that were not synced is on disk after a power loss.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unsynced {
    Lost,
    Kept,
    /// Each sector and each name by the toss of a coin, from this seed.
    Mixed(u64),
}

/// The disk; clones are the same disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct SimDisk(Arc<Mutex<Disk>>);

#[derive(Debug, Default)]
struct Disk {
    files: Vec<SimFile>,
    names: Names,
    durable_names: Names,
    unsynced_names: Vec<NameChange>,
    /// Locked directories, and the threads that locked them.
    locked: BTreeMap<PathBuf, ThreadId>,
    /// How often the power came back.
    boots: u64,
    operations: usize,
    fault: Option<(usize, Fault)>,
    power_lost: bool,
    /// Sectors that cannot be read: the file, and which of its sectors.
    bad_sectors: BTreeSet<(usize, usize)>,
    /// Bytes that were read by threads that had the write lock of a log.
    read_while_locked: usize,
    /// How the name of a file ends that will have a bad sector.
    spoil_next: Option<&'static str>,
}

#[derive(Clone, Debug, Default)]
struct Names {
    files: BTreeMap<PathBuf, usize>,
    dirs: BTreeSet<PathBuf>,
}

#[derive(Clone, Debug)]
enum NameChange {
    Dir(PathBuf),
    Add(PathBuf, usize),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
}

#[derive(Debug, Default)]
struct SimFile {
    bytes: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<Write>,
}

#[derive(Clone, Debug)]
enum Write {
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
    fn apply(&mut self, change: &NameChange) {
        match change {
            NameChange::Dir(path) => {
                self.dirs.insert(path.clone());
            }
            NameChange::Add(path, file) => {
                self.files.insert(path.clone(), *file);
            }
            NameChange::Remove(path) => {
                self.files.remove(path);
            }
            NameChange::Rename(from, to) => {
                if let Some(file) = self.files.remove(from) {
                    self.files.insert(to.clone(), file);
                }
            }
        }
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
    fn lock(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap()
    }

    /// Lets `fault` happen at the operation that changes something after `operations` more of them.
    pub(crate) fn fail_after(&self, operations: usize, fault: Fault) {
        let mut disk = self.lock();
        disk.fault = Some((disk.operations + operations, fault));
    }

    /// Operations so far that change something.
    pub(crate) fn operations(&self) -> usize {
        self.lock().operations
    }

    /// Takes the power away, if it is not gone, and gives it back.
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
        // A name in a directory that is not there is not there either.
        let Disk { durable_names: Names { files, dirs }, .. } = &mut *disk;
        let there = dirs.clone();
        dirs.retain(|dir| dir.ancestors().all(|above| above.parent().is_none() || there.contains(above)));
        files.retain(|path, _| path.parent().is_some_and(|dir| dirs.contains(dir)));
        disk.names = disk.durable_names.clone();
        disk.locked.clear();
        disk.boots += 1;
        (disk.fault, disk.power_lost) = (None, false);
    }

    /// From now on the sector around this byte of a file cannot be read.
    pub(crate) fn spoil(&self, path: &Path, byte: usize) {
        let mut disk = self.lock();
        let file = disk.names.files[path];
        disk.bad_sectors.insert((file, byte / SECTOR));
    }

    /// The first sector of the next file that is created with a name that ends like this cannot be read.
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
    /// Counts an operation that changes something, and fails it if its time has come.
    fn operate(&mut self) -> io::Result<()> {
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

    fn change_names(&mut self, change: NameChange) {
        self.names.apply(&change);
        self.unsynced_names.push(change);
    }

    fn file_named(&self, path: &Path) -> io::Result<usize> {
        self.names.files.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn create(&mut self, path: &Path) -> io::Result<usize> {
        self.operate()?;
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

    fn write(&mut self, file: usize, what: Write) {
        let file = &mut self.files[file];
        what.apply(&mut file.bytes);
        file.unsynced.push(what);
    }

    fn sync(&mut self, file: usize) -> io::Result<()> {
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

impl Media for SimDisk {
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let disk = self.lock();
        if !disk.names.dirs.contains(dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let paths = disk.names.files.keys().chain(&disk.names.dirs);
        let inside = paths.filter(|path| path.parent() == Some(dir));
        Ok(inside.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect())
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        let mut disk = self.lock();
        disk.operate()?;
        let missing: Vec<_> = dir.ancestors().filter(|path| !disk.names.dirs.contains(*path)).collect();
        for path in missing.into_iter().rev() {
            disk.change_names(NameChange::Dir(path.to_owned()));
        }
        Ok(())
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn MediaFile>> {
        let mut disk = self.lock();
        let file = match access {
            Access::Read | Access::Write => disk.file_named(path)?,
            Access::Create => {
                let file = disk.create(path)?;
                disk.write(file, Write::Size(0));
                file
            }
        };
        Ok(Box::new(SimHandle { disk: self.clone(), file }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut disk = self.lock();
        disk.operate()?;
        disk.file_named(from)?;
        disk.change_names(NameChange::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.lock();
        disk.operate()?;
        disk.file_named(path)?;
        disk.change_names(NameChange::Remove(path.to_owned()));
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut disk = self.lock();
        disk.operate()?;
        let dir = if dir == Path::new(".") { Path::new("") } else { dir };
        let within = |change: &NameChange| match change {
            NameChange::Dir(path) | NameChange::Add(path, _) | NameChange::Remove(path) => path.parent() == Some(dir),
            NameChange::Rename(_, to) => to.parent() == Some(dir),
        };
        let (synced, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut disk.unsynced_names).into_iter().partition(within);
        disk.unsynced_names = rest;
        synced.iter().for_each(|change| disk.durable_names.apply(change));
        Ok(())
    }

    fn dir_lock(&self, dir: &Path) -> io::Result<Box<dyn DirLock>> {
        let disk = SimDisk::lock(self);
        if !disk.names.dirs.contains(dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Box::new(SimLock {
            disk: self.clone(),
            dir: dir.to_owned(),
            boot: disk.boots,
            holds: AtomicBool::new(false),
        }))
    }

    fn words(&self, path: &Path, access: Access) -> io::Result<Box<dyn Words>> {
        let mut disk = SimDisk::lock(self);
        let file = match disk.file_named(path) {
            Ok(file) => file,
            Err(error) if access == Access::Read => return Err(error),
            Err(_) => disk.create(path)?,
        };
        if disk.files[file].bytes.len() < WORDS * 8 {
            if access == Access::Read {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            disk.operate()?;
            disk.write(file, Write::Size(WORDS * 8));
        }
        Ok(Box::new(SimWords { disk: self.clone(), file, boot: disk.boots }))
    }
}

#[derive(Debug)]
struct SimHandle {
    disk: SimDisk,
    file: usize,
}

impl MediaFile for SimHandle {
    fn size(&self) -> io::Result<u64> {
        Ok(self.disk.lock().files[self.file].bytes.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut disk = self.disk.lock();
        let is_locked = disk.locked.iter().any(|(dir, by)| dir.ends_with("log") && *by == thread::current().id());
        let bytes = &disk.files[self.file].bytes;
        let rest = bytes.get(usize::try_from(offset).unwrap()..).unwrap_or_default();
        let read = rest.len().min(buffer.len());
        let first = usize::try_from(offset).unwrap();
        let sectors = (self.file, first / SECTOR)..(self.file, (first + read).div_ceil(SECTOR));
        if read > 0 && disk.bad_sectors.range(sectors).next().is_some() {
            return Err(io::Error::other("a bad sector"));
        }
        buffer[..read].copy_from_slice(&rest[..read]);
        disk.read_while_locked += if is_locked { read } else { 0 };
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut disk = self.disk.lock();
        let at = usize::try_from(offset).unwrap();
        if let Err(error) = disk.operate() {
            if !disk.power_lost {
                // A write that fails has often written a part.
                disk.write(self.file, Write::Bytes(at, bytes[..bytes.len() / 2].to_vec()));
            }
            return Err(error);
        }
        disk.write(self.file, Write::Bytes(at, bytes.to_vec()));
        Ok(())
    }

    fn write_zeros(&self, range: Range<u64>) -> io::Result<()> {
        // A write for each piece, so that the power may go between them.
        const PIECE: usize = 64 << 10;
        range.clone().step_by(PIECE).try_for_each(|start| {
            let bytes = usize::try_from(range.end - start).unwrap().min(PIECE);
            self.write_at(&vec![0; bytes], start)
        })
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.operate()?;
        disk.write(self.file, Write::Size(usize::try_from(size).unwrap()));
        Ok(())
    }

    fn map(&self) -> io::Result<Option<Map>> {
        Ok(None)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.lock().sync(self.file)
    }

    fn sync_all(&self) -> io::Result<()> {
        self.disk.lock().sync(self.file)
    }
}
