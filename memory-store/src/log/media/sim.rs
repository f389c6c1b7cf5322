//! A disk in memory: it fails at a chosen operation, and loses unsynced data on demand.
//!
//! Fuzzers also use the disk, as a file system with any bytes that never fails and loses nothing.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests")]

mod disk;
mod shared;

use std::{io, ops::Range, path::Path, sync::atomic::AtomicBool, thread};

pub(crate) use self::disk::SimDisk;
#[cfg(test)]
pub(crate) use self::disk::{Fault, Unsynced};
use self::{
    disk::{NameChange, SECTOR, Write},
    shared::{SimLock, SimWords},
};
use super::{Access, DirLock, Map, Media, MediaFile, WORDS, Words};

impl Media for SimDisk {
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let disk = self.lock();
        if !disk.names.dirs.contains(dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let names = disk.names.inside(dir).map(|path| path.file_name().unwrap().to_string_lossy().into_owned());
        Ok(names.collect())
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
        disk.operate_on(to)?;
        if !disk.names.dirs.contains(from) {
            disk.file_named(from)?;
        } else if disk.names.files.contains_key(to) {
            return Err(io::ErrorKind::NotADirectory.into());
        } else if disk.names.inside(to).next().is_some() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        disk.change_names(NameChange::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.lock();
        disk.operate_on(path)?;
        disk.file_named(path)?;
        disk.change_names(NameChange::Remove(path.to_owned()));
        Ok(())
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        let mut disk = self.lock();
        disk.operate()?;
        if !disk.names.dirs.contains(dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if disk.names.inside(dir).next().is_some() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        disk.change_names(NameChange::Remove(dir.to_owned()));
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

    fn is_at(&self, path: &Path) -> bool {
        self.disk.lock().file_named(path).is_ok_and(|file| file == self.file)
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
                // A failed write has often written a part.
                disk.write(self.file, Write::Bytes(at, bytes[..bytes.len() / 2].to_vec()));
            }
            return Err(error);
        }
        disk.write(self.file, Write::Bytes(at, bytes.to_vec()));
        Ok(())
    }

    fn write_zeros(&self, range: Range<u64>) -> io::Result<()> {
        // Each piece is a separate write, so that the power may fail between them.
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
