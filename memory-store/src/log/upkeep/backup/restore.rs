//! Restores a store from a backup, and checks that a backup is unchanged.

use std::path::{Path, PathBuf};

use memory_core::{Timestamp, port::Progress};

use super::{
    bytes::{copy_bytes, hash},
    is_next_to_log,
    manifest::{Entry, FILES, MANIFEST, Manifest},
    opening::fault,
};
use crate::log::{
    failure::io_error,
    keys::{MasterKey, RING_FILE},
    media::{Access, Disk, Media},
    read::directory::{FORMAT_FILE, make_dir, sync_dir},
    upkeep::{
        enclosing::check_outside,
        rescue::{RescueError, make_empty_dir, make_file},
    },
};

/// The result of checking a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct BackupCheck {
    /// When it was taken.
    pub taken: Timestamp,
    /// Its files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that are not what was written, and why.
    #[cfg_attr(
        feature = "serde",
        serde(serialize_with = "crate::reports::faults"),
        schemars(with = "Vec<crate::reports::Fault>")
    )]
    pub damaged: Vec<(PathBuf, String)>,
}

/// Result of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct RestoreReport {
    /// The store's directory.
    #[cfg_attr(feature = "serde", serde(rename = "store", serialize_with = "crate::reports::path"))]
    pub path: PathBuf,
    /// When the backup was taken.
    pub taken: Timestamp,
    /// Files of the store.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Reads a backup and compares the hash of every file with the manifest. In the backup of an encrypted store every
/// record is opened with its key; without one, every record must have a salt and a key of its epoch.
///
/// # Errors
/// [`RescueError::NotABackup`] without a manifest, [`RescueError::DamagedBackup`] when the manifest itself is damaged,
/// [`StoreError::Key`] if the key is another one. Damaged files are not an error; see [`BackupCheck::damaged`].
///
/// [`StoreError::Key`]: memory_core::port::StoreError::Key
pub fn check_backup(
    backup: impl AsRef<Path>,
    key: Option<&MasterKey>,
    progress: &dyn Progress,
) -> Result<BackupCheck, RescueError> {
    let (media, backup) = (&Disk, backup.as_ref());
    let (manifest, mut check) = check(media, backup, progress)?;
    if check.damaged.is_empty() {
        check.damaged.extend(fault(media, &backup.join(FILES), &manifest, key)?);
    }
    Ok(check)
}

/// Time at which the backup in a directory was taken; `None` without a backup. Only the manifest is read.
///
/// # Errors
/// [`RescueError::DamagedBackup`] when the manifest is damaged, or an error of the file system.
pub fn backup_taken(backup: impl AsRef<Path>) -> Result<Option<Timestamp>, RescueError> {
    Ok(Manifest::read(&Disk, backup.as_ref())?.map(|manifest| manifest.taken))
}

/// True if a directory holds the backup of an encrypted store. Only the manifest is read.
///
/// # Errors
/// As for [`backup_taken`].
pub fn is_backup_encrypted(backup: impl AsRef<Path>) -> Result<bool, RescueError> {
    let manifest = Manifest::read(&Disk, backup.as_ref())?;
    Ok(manifest.is_some_and(|manifest| manifest.files.iter().any(|entry| entry.path == RING_FILE)))
}

/// Makes a store in `target`, an empty directory, from the backup in `backup`. Every hash is checked before anything is
/// written, and again while it is written. The store has the id of the original, so that its caches fit.
///
/// After an interruption the directory is not a store.
///
/// # Errors
/// [`RescueError::NotABackup`], [`RescueError::DamagedBackup`], [`RescueError::NotEmpty`], [`RescueError::Inside`], or
/// an error of the file system.
pub fn restore(
    backup: impl AsRef<Path>,
    target: impl AsRef<Path>,
    progress: &dyn Progress,
) -> Result<RestoreReport, RescueError> {
    let target = target.as_ref();
    // A store in the target itself is recognized by its files.
    if let Some(parent) = std::path::absolute(target).map_err(io_error("find", target))?.parent() {
        check_outside(None, parent)?;
    }
    restore_on(&Disk, backup.as_ref(), target, progress)
}

pub(crate) fn restore_on(
    media: &dyn Media,
    backup: &Path,
    target: &Path,
    progress: &dyn Progress,
) -> Result<RestoreReport, RescueError> {
    let (manifest, check) = check(media, backup, progress)?;
    if let Some((path, why)) = check.damaged.into_iter().next() {
        return Err(RescueError::DamagedBackup { path, why });
    }
    make_empty_dir(media, target)?;
    let log = target.join("log");
    make_dir(media, &log)?;
    make_dir(media, &target.join("cache"))?;
    let (format, others): (Vec<_>, Vec<_>) = manifest.files.iter().partition(|entry| entry.path == FORMAT_FILE);
    for entry in others {
        put(media, backup, if is_next_to_log(&entry.path) { target } else { &log }, entry)?;
    }
    sync_dir(media, &log)?;
    // `FORMAT` is written last, since it makes the directory a store.
    for entry in format {
        put(media, backup, target, entry)?;
    }
    sync_dir(media, target)?;
    Ok(RestoreReport { path: target.to_owned(), taken: check.taken, files: check.files, bytes: check.bytes })
}

/// Copies one file of the backup to `dir`.
fn put(media: &dyn Media, backup: &Path, dir: &Path, entry: &Entry) -> Result<(), RescueError> {
    let from = backup.join(FILES).join(entry.stored());
    let file = media.open(&from, Access::Read).map_err(io_error("read", &from))?;
    let name = entry.path.rsplit('/').next().unwrap_or(&entry.path);
    make_file(media, dir, name, |to| {
        let copied = copy_bytes(&*file, to, entry.bytes, &|_| ()).map_err(io_error("copy", &from))?;
        if copied == entry.hash {
            return Ok(());
        }
        Err(RescueError::DamagedBackup { path: from.clone(), why: "was changed while it was restored".to_owned() })
    })
}

fn check(media: &dyn Media, backup: &Path, progress: &dyn Progress) -> Result<(Manifest, BackupCheck), RescueError> {
    let no_manifest = || RescueError::NotABackup { path: backup.to_owned(), why: format!("it has no {MANIFEST}") };
    let manifest = Manifest::read(media, backup)?.ok_or_else(no_manifest)?;
    let total = manifest.files.iter().map(|entry| entry.bytes).fold(0, u64::saturating_add);
    let mut done = 0u64;
    let mut damaged = Vec::new();
    let format = manifest.files.iter().find(|entry| entry.path == FORMAT_FILE);
    if format.is_none() || manifest.files.len() < 2 {
        damaged.push((backup.join(MANIFEST), "names no store: a FORMAT and a segment make one".to_owned()));
    }
    for entry in &manifest.files {
        let path = backup.join(FILES).join(entry.stored());
        if let Err(why) = check_file(media, &path, entry, &|read| progress.report(done.saturating_add(read), total)) {
            damaged.push((path, why));
        }
        done = done.saturating_add(entry.bytes);
    }
    let files = manifest.files.len() as u64;
    let check = BackupCheck { taken: manifest.taken, files, bytes: total, damaged };
    Ok((manifest, check))
}

fn check_file(media: &dyn Media, path: &Path, entry: &Entry, progress: &dyn Fn(u64)) -> Result<(), String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let file = media.open(path, Access::Read).map_err(unreadable)?;
    let size = file.size().map_err(unreadable)?;
    if size != entry.bytes {
        return Err(format!("has {size} bytes, and had {}", entry.bytes));
    }
    if hash(&*file, size, progress).map_err(unreadable)? == entry.hash {
        Ok(())
    } else {
        Err("is not what was written: its hash does not match".to_owned())
    }
}
