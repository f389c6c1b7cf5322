//! The real file system.

use std::{
    fs::{self, File, TryLockError},
    io,
    ops::Range,
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
};

use memory_files::{Links, is_not_regular, open_dir};

use super::{Access, DirLock, Map, Media, MediaFile, Words, shared::SharedWords, zeros};

/// The operating system's files.
#[derive(Debug)]
pub(crate) struct Disk;

impl Media for Disk {
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        memory_files::create_dir_all(dir)
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn MediaFile>> {
        let mut options = memory_files::options();
        match access {
            Access::Read => options.read(true),
            Access::Write => options.read(true).write(true),
            Access::Create => options.read(true).write(true).create(true).truncate(true),
        };
        Ok(Box::new(memory_files::open_with(&options, path, Links::Refuse)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        fs::remove_dir(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        // The user may have named the store's parent directory by a link.
        open_dir(dir, Links::Follow)?.sync_all()
    }

    fn dir_lock(&self, dir: &Path) -> io::Result<Box<dyn DirLock>> {
        Ok(Box::new(open_dir(dir, Links::Follow)?))
    }

    fn check(&self, store: &Path, files: &[&str], dirs: &[&str]) -> Result<(), (PathBuf, io::Error)> {
        let check = |path: PathBuf, checked: io::Result<File>| match checked {
            Err(error) if is_not_regular(&error) => Err((path, error)),
            // A missing or unreadable file is reported where it is needed.
            _ => Ok(()),
        };
        let at = |name: &&str| store.join(name);
        files.iter().map(at).try_for_each(|path| check(path.clone(), memory_files::open(&path, Links::Refuse)))?;
        dirs.iter().map(at).try_for_each(|path| check(path.clone(), open_dir(&path, Links::Refuse)))
    }

    fn tighten(&self, store: &Path) {
        for (path, error) in memory_files::tighten(store) {
            tracing::warn!(path = %path.display(), %error, "it may be readable by others still: take their rights from it");
        }
    }

    fn words(&self, path: &Path, access: Access) -> io::Result<Box<dyn Words>> {
        Ok(Box::new(SharedWords::open(path, access != Access::Read)?))
    }
}

impl DirLock for File {
    fn try_lock(&self) -> io::Result<bool> {
        match File::try_lock(self) {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn unlock(&self) -> io::Result<()> {
        File::unlock(self)
    }

    fn is_at(&self, dir: &Path) -> bool {
        MediaFile::is_at(self, dir)
    }
}

impl MediaFile for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn is_at(&self, path: &Path) -> bool {
        let inode = |file: fs::Metadata| (file.dev(), file.ino());
        self.metadata().is_ok_and(|ours| fs::symlink_metadata(path).is_ok_and(|there| inode(there) == inode(ours)))
    }

    fn read_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<usize> {
        let mut total = 0;
        while !buffer.is_empty() {
            match FileExt::read_at(self, buffer, offset) {
                Ok(0) => break,
                Ok(read) => {
                    total += read;
                    offset += read as u64;
                    buffer = buffer.get_mut(read..).unwrap_or_default();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(total)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        FileExt::write_all_at(self, bytes, offset)
    }

    fn write_zeros(&self, range: Range<u64>) -> io::Result<()> {
        zeros::write(self, range)
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.set_len(size)
    }

    fn map(&self) -> io::Result<Option<Map>> {
        Map::of(self).map(Some)
    }

    fn sync_data(&self) -> io::Result<()> {
        File::sync_data(self)
    }

    fn sync_all(&self) -> io::Result<()> {
        File::sync_all(self)
    }
}
