//! A file system in memory, for stores of which no byte reaches a disk.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, io,
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use super::{Access, DirLock, Map, Media, MediaFile, WORDS, Words};

/// A file system; clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct Ram(Arc<Mutex<Names>>);

#[derive(Default)]
struct Names {
    files: BTreeMap<PathBuf, Arc<Mutex<Vec<u8>>>>,
    words: BTreeMap<PathBuf, Arc<[AtomicU64; WORDS]>>,
    dirs: BTreeSet<PathBuf>,
    locked: BTreeSet<PathBuf>,
}

// Contents are in no log.
impl fmt::Debug for Ram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ram")
    }
}

impl Names {
    fn file(&self, path: &Path) -> io::Result<Arc<Mutex<Vec<u8>>>> {
        self.files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn is_empty(&self, dir: &Path) -> bool {
        let inside = |path: &PathBuf| path.parent() == Some(dir);
        !self.files.keys().any(inside) && !self.words.keys().any(inside) && !self.dirs.iter().any(inside)
    }
}

impl Ram {
    fn names(&self) -> MutexGuard<'_, Names> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the entries below a directory out of a map, under their new names.
fn moved<T>(all: &mut BTreeMap<PathBuf, T>, from: &Path, to: &Path) {
    let inside: Vec<_> = all.keys().filter(|path| path.starts_with(from)).cloned().collect();
    for path in inside {
        if let (Some(value), Ok(rest)) = (all.remove(&path), path.strip_prefix(from)) {
            let name = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
            all.insert(name, value);
        }
    }
}

impl Media for Ram {
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let names = self.names();
        if !names.dirs.contains(dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let all = names.files.keys().chain(names.words.keys()).chain(&names.dirs);
        let inside = all.filter(|path| path.parent() == Some(dir)).filter_map(|path| path.file_name());
        Ok(inside.map(|name| name.to_string_lossy().into_owned()).collect())
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.names().dirs.extend(dir.ancestors().map(Path::to_owned));
        Ok(())
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn MediaFile>> {
        let mut names = self.names();
        let file = match access {
            Access::Read | Access::Write => names.file(path)?,
            Access::Create => {
                let file = Arc::clone(names.files.entry(path.to_owned()).or_default());
                lock(&file).clear();
                file
            }
        };
        Ok(Box::new(RamFile { ram: self.clone(), file }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut names = self.names();
        if names.dirs.contains(from) {
            if names.dirs.contains(to) && !names.is_empty(to) {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
            let inside: Vec<_> = names.dirs.iter().filter(|dir| dir.starts_with(from)).cloned().collect();
            for dir in inside {
                names.dirs.remove(&dir);
                let rest = dir.strip_prefix(from).unwrap_or(Path::new(""));
                let name = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
                names.dirs.insert(name);
            }
        } else if !names.files.contains_key(from) && !names.words.contains_key(from) {
            return Err(io::ErrorKind::NotFound.into());
        }
        moved(&mut names.files, from, to);
        moved(&mut names.words, from, to);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut names = self.names();
        let is_there = names.files.remove(path).is_some() | names.words.remove(path).is_some();
        if is_there { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        let mut names = self.names();
        if !names.is_empty(dir) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        if names.dirs.remove(dir) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }

    fn dir_lock(&self, dir: &Path) -> io::Result<Box<dyn DirLock>> {
        if !self.names().dirs.contains(dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Box::new(RamLock { ram: self.clone(), dir: dir.to_owned(), holds: AtomicBool::new(false) }))
    }

    fn words(&self, path: &Path, access: Access) -> io::Result<Box<dyn Words>> {
        let mut names = self.names();
        let words = match access {
            Access::Read => names.words.get(path).cloned().ok_or(io::ErrorKind::NotFound)?,
            Access::Write | Access::Create => {
                let zeros = || Arc::new(std::array::from_fn(|_| AtomicU64::new(0)));
                Arc::clone(names.words.entry(path.to_owned()).or_insert_with(zeros))
            }
        };
        Ok(Box::new(RamWords { ram: self.clone(), words }))
    }
}

fn lock(file: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    file.lock().unwrap_or_else(PoisonError::into_inner)
}

fn place(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge.into())
}

struct RamFile {
    ram: Ram,
    file: Arc<Mutex<Vec<u8>>>,
}

impl fmt::Debug for RamFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RamFile")
    }
}

impl MediaFile for RamFile {
    fn size(&self) -> io::Result<u64> {
        Ok(lock(&self.file).len() as u64)
    }

    fn is_at(&self, path: &Path) -> bool {
        self.ram.names().files.get(path).is_some_and(|there| Arc::ptr_eq(there, &self.file))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = lock(&self.file);
        let rest = bytes.get(place(offset)?..).unwrap_or_default();
        let read = rest.len().min(buffer.len());
        buffer.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        Ok(read)
    }

    fn write_at(&self, new: &[u8], offset: u64) -> io::Result<()> {
        let mut bytes = lock(&self.file);
        let at = place(offset)?;
        let end = at.checked_add(new.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        if let Some(place) = bytes.get_mut(at..end) {
            place.copy_from_slice(new);
        }
        Ok(())
    }

    fn write_zeros(&self, range: Range<u64>) -> io::Result<()> {
        let end = place(range.end)?;
        let mut bytes = lock(&self.file);
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        Ok(())
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        lock(&self.file).resize(place(size)?, 0);
        Ok(())
    }

    fn map(&self) -> io::Result<Option<Map>> {
        Ok(None)
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct RamLock {
    ram: Ram,
    dir: PathBuf,
    holds: AtomicBool,
}

impl DirLock for RamLock {
    fn try_lock(&self) -> io::Result<bool> {
        let is_free = self.ram.names().locked.insert(self.dir.clone());
        self.holds.fetch_or(is_free, Ordering::SeqCst);
        Ok(is_free)
    }

    fn unlock(&self) -> io::Result<()> {
        if self.holds.swap(false, Ordering::SeqCst) {
            self.ram.names().locked.remove(&self.dir);
        }
        Ok(())
    }

    fn is_at(&self, dir: &Path) -> bool {
        self.dir == dir && self.ram.names().dirs.contains(dir)
    }
}

impl Drop for RamLock {
    fn drop(&mut self) {
        drop(self.unlock());
    }
}

#[derive(Debug)]
struct RamWords {
    ram: Ram,
    words: Arc<[AtomicU64; WORDS]>,
}

impl Words for RamWords {
    fn identity(&self) -> [u8; 32] {
        // The file system has one store, which no other process sees.
        [0; 32]
    }

    fn is_at(&self, _media: &dyn Media, path: &Path) -> bool {
        self.ram.names().words.get(path).is_some_and(|there| Arc::ptr_eq(there, &self.words))
    }

    fn load(&self, first: usize, words: &mut [u64]) {
        for (index, word) in (first..).zip(words) {
            *word = self.words.get(index).map_or(0, |word| word.load(Ordering::SeqCst));
        }
    }

    fn store(&self, first: usize, words: &[u64]) {
        if first + words.len() <= WORDS {
            for (index, value) in (first..).zip(words) {
                self.words.get(index).into_iter().for_each(|word| word.store(*value, Ordering::SeqCst));
            }
        }
    }
}
