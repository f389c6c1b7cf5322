//! Parts that doctor, salvage, backup and restore share: their error, and files that are written whole or not at all.

use std::{
    io,
    path::{Path, PathBuf},
};

use memory_core::port::StoreError;

use crate::log::{
    failure::io_error,
    media::{Access, Media, MediaFile},
    read::directory::make_dir,
};

/// Reason why a store could not be examined, salvaged, backed up or restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RescueError {
    /// An error of the store or its disk.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The target must be an empty directory.
    #[error("{path} holds `{entry}` already: give a directory that is empty or not there yet")]
    NotEmpty {
        /// The directory.
        path: PathBuf,
        /// Entry found in the directory.
        entry: String,
    },
    /// The directory lies inside a store, or is one.
    #[error("{path} lies inside of a store: give a place outside of it")]
    Inside {
        /// The directory.
        path: PathBuf,
    },
    /// The directory holds something other than a backup.
    #[error("{path} is not a backup: {why}")]
    NotABackup {
        /// The directory.
        path: PathBuf,
        /// Reason why the directory is not a backup.
        why: String,
    },
    /// The directory holds the backup of another store.
    #[error("{path} holds the backup of another store: give each store a directory of its own")]
    OtherStore {
        /// The directory.
        path: PathBuf,
    },
    /// Another backup to this directory is running.
    #[error("another backup to {path} is running")]
    Busy {
        /// The directory.
        path: PathBuf,
    },
    /// A file of the backup has changed since it was written.
    #[error("the backup is damaged: {path} {why}")]
    DamagedBackup {
        /// The file.
        path: PathBuf,
        /// Fault of the file.
        why: String,
    },
    /// A part of the store is damaged that the earlier backup holds whole; a new backup would lose it.
    #[error(
        "{path} is damaged at byte {offset}, and the backup holds it from before: nothing was backed up; \
         restore the backup, or salvage the store and back that up elsewhere"
    )]
    WouldLoseGood {
        /// The file of the store.
        path: PathBuf,
        /// Offset in the file.
        offset: u64,
    },
    /// The keys of the store, or its `FORMAT`, open less of the log than the earlier backup holds.
    #[error(
        "{path} {why}, and the backup holds it from before: nothing was backed up; restore the backup, or put the file \
         of before back"
    )]
    WouldLoseKeys {
        /// The file of the store.
        path: PathBuf,
        /// Fault of the file.
        why: String,
    },
    /// The backup holds records that the store no longer has.
    #[error(
        "the backup holds more of {path} than the store has: nothing was backed up; restore the backup or, if the store \
         was rolled back on purpose, back it up to another directory"
    )]
    WouldLoseRecords {
        /// The file of the store.
        path: PathBuf,
    },
}

impl RescueError {
    /// True if the data on disk is damaged.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Store(error) => error.is_damage(),
            other => {
                matches!(
                    other,
                    Self::DamagedBackup { .. }
                        | Self::WouldLoseGood { .. }
                        | Self::WouldLoseKeys { .. }
                        | Self::WouldLoseRecords { .. }
                )
            }
        }
    }
}

/// Makes a directory that must be empty or not there yet, and syncs its name.
pub(crate) fn make_empty_dir(media: &dyn Media, path: &Path) -> Result<(), RescueError> {
    match media.list(path) {
        Ok(names) => match names.into_iter().next() {
            Some(entry) => Err(RescueError::NotEmpty { path: path.to_owned(), entry }),
            None => {
                media.tighten(path);
                Ok(())
            }
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(make_dir(media, path)?),
        Err(error) => Err(io_error("list", path)(error).into()),
    }
}

/// Makes the file `name` in `dir`. The file gets its name once `fill` has written all of it and it is synced. The
/// caller syncs the directory, and so the name.
pub(crate) fn make_file<E: From<StoreError>>(
    media: &dyn Media,
    dir: &Path,
    name: &str,
    fill: impl FnOnce(&dyn MediaFile) -> Result<(), E>,
) -> Result<(), E> {
    let (temporary, path) = (dir.join(format!("{name}.tmp")), dir.join(name));
    let file = media.open(&temporary, Access::Create).map_err(io_error("create", &temporary))?;
    fill(&*file)?;
    file.sync_all().map_err(io_error("sync", &temporary))?;
    media.rename(&temporary, &path).map_err(io_error("create", &path))?;
    Ok(())
}

/// [`make_file`] of these bytes.
pub(crate) fn write_file(media: &dyn Media, dir: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let path = dir.join(name);
    make_file(media, dir, name, |file| file.write_at(bytes, 0).map_err(io_error("write", &path)))
}
