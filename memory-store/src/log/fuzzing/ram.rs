//! A file system in memory: whatever bytes a test or a fuzzer puts there are a store's files.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use super::super::media::{Access, DirLock, Map, Media, MediaFile, WORDS, Words};

/// Files by their path; clones are the same ones. Nothing fails and nothing is ever lost.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ram(Arc<Mutex<Files>>);

#[derive(Debug, Default)]
struct Files {
    contents: BTreeMap<PathBuf, File>,
    dirs: BTreeSet<PathBuf>,
    locked: BTreeSet<PathBuf>,
}

type Bytes = Arc<Mutex<Vec<u8>>>;

#[derive(Clone, Debug)]
struct File {
    bytes: Bytes,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ram {
    /// Puts a file there, and the directories that it is in.
    pub(crate) fn put(&self, path: &Path, bytes: Vec<u8>) {
        let mut files = held(&self.0);
        files.dirs.extend(path.ancestors().skip(1).map(Path::to_owned));
        files.contents.insert(path.to_owned(), File { bytes: Arc::new(Mutex::new(bytes)) });
    }

    /// All files as they are now.
    #[cfg(test)]
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let files = held(&self.0);
        files.contents.iter().map(|(path, file)| (path.clone(), held(&file.bytes).clone())).collect()
    }

    fn find(&self, path: &Path) -> io::Result<File> {
        held(&self.0).contents.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Media for Ram {
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let files = held(&self.0);
        if !files.dirs.contains(dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let inside = files.contents.keys().chain(&files.dirs).filter(|path| path.parent() == Some(dir));
        Ok(inside.filter_map(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned()).collect())
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        held(&self.0).dirs.extend(dir.ancestors().map(Path::to_owned));
        Ok(())
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn MediaFile>> {
        if access == Access::Create {
            self.put(path, Vec::new());
        }
        Ok(Box::new(self.find(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut files = held(&self.0);
        let file = files.contents.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.contents.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        held(&self.0).contents.remove(path).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }

    fn dir_lock(&self, dir: &Path) -> io::Result<Box<dyn DirLock>> {
        Ok(Box::new(RamLock { files: self.clone(), dir: dir.to_owned(), holds: AtomicBool::new(false) }))
    }

    fn words(&self, path: &Path, access: Access) -> io::Result<Box<dyn Words>> {
        if access != Access::Read && self.find(path).is_err() {
            self.put(path, Vec::new());
        }
        let File { bytes } = self.find(path)?;
        let mut contents = held(&bytes);
        if contents.len() < WORDS * 8 {
            if access == Access::Read {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            contents.resize(WORDS * 8, 0);
        }
        drop(contents);
        Ok(Box::new(RamWords(bytes)))
    }
}

#[derive(Debug)]
struct RamLock {
    files: Ram,
    dir: PathBuf,
    holds: AtomicBool,
}

impl DirLock for RamLock {
    fn try_lock(&self) -> io::Result<bool> {
        let free = held(&self.files.0).locked.insert(self.dir.clone());
        self.holds.fetch_or(free, Ordering::SeqCst);
        Ok(free)
    }

    fn unlock(&self) -> io::Result<()> {
        if self.holds.swap(false, Ordering::SeqCst) {
            held(&self.files.0).locked.remove(&self.dir);
        }
        Ok(())
    }
}

impl Drop for RamLock {
    fn drop(&mut self) {
        // It cannot fail.
        drop(self.unlock());
    }
}

/// Believed by whoever opens a copy: the identity is that of every such file.
#[derive(Debug)]
struct RamWords(Bytes);

impl Words for RamWords {
    fn identity(&self) -> [u8; 32] {
        [7; 32]
    }

    fn is_at(&self, _media: &dyn Media, _path: &Path) -> bool {
        // Nothing takes a name away here.
        true
    }

    fn load(&self, index: usize) -> u64 {
        let bytes = held(&self.0);
        let word = bytes.get(index * 8..).and_then(<[u8]>::first_chunk::<8>);
        word.map_or(0, |word| u64::from_le_bytes(*word))
    }

    fn store(&self, index: usize, value: u64) {
        let mut bytes = held(&self.0);
        if let Some(word) = bytes.get_mut(index * 8..).and_then(<[u8]>::first_chunk_mut::<8>) {
            *word = value.to_le_bytes();
        }
    }

    fn add(&self, index: usize) {
        self.store(index, self.load(index).wrapping_add(1));
    }
}

fn place(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge.into())
}

impl MediaFile for File {
    fn size(&self) -> io::Result<u64> {
        Ok(held(&self.bytes).len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = held(&self.bytes);
        let rest = bytes.get(place(offset)?..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        if let Some((to, from)) = buffer.get_mut(..length).zip(rest.get(..length)) {
            to.copy_from_slice(from);
        }
        Ok(length)
    }

    fn write_at(&self, new: &[u8], offset: u64) -> io::Result<()> {
        let (mut bytes, at) = (held(&self.bytes), place(offset)?);
        let end = at + new.len();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        if let Some(there) = bytes.get_mut(at..end) {
            there.copy_from_slice(new);
        }
        Ok(())
    }

    fn write_zeros(&self, range: Range<u64>) -> io::Result<()> {
        self.write_at(&vec![0; place(range.end - range.start)?], range.start)
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        held(&self.bytes).resize(place(size)?, 0);
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
