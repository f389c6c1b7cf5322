//! Backups and vacuums of an open store.

use std::path::Path;

use memory_core::port::{Progress, StoreError};

use super::LogStore;
use crate::log::{
    media::Disk,
    upkeep::{
        backup::{BackupReport, backup_on},
        enclosing::check_outside,
        rescue::RescueError,
        vacuum::{VacuumOptions, VacuumReport, may_note, remove_leftovers, vacuum},
    },
    write::lock::{HeldLease, Lock},
};

impl LogStore {
    /// Backs the store up to `target`, a directory that is empty, is not there yet, or holds an earlier backup of this
    /// store. Others may go on writing. All that was acknowledged when the backup begins is in it.
    ///
    /// Files that the backup already holds, by their contents, are not copied again: all but the newest segments of a
    /// growing log. An earlier backup stays usable until the new one is complete and replaces it. After an interruption
    /// at any point, one of the two is there.
    ///
    /// The backup reads all of the log: do not call it on a thread that must not block.
    ///
    /// # Errors
    /// [`RescueError::WouldLoseGood`] when a part of the store is damaged that the earlier backup holds whole,
    /// [`RescueError::WouldLoseRecords`] when it is gone; [`RescueError::NotABackup`], [`RescueError::OtherStore`],
    /// [`RescueError::Inside`], [`RescueError::Busy`], or an error of the file system.
    pub fn backup(&self, target: impl AsRef<Path>, progress: &dyn Progress) -> Result<BackupReport, RescueError> {
        check_outside(Some(self.path()), target.as_ref())?;
        backup_on(&Disk, &self.shared, target.as_ref(), progress)
    }

    /// Rewrites sealed segments with dead records: importances, pins, titles and tags that later ones have replaced.
    /// Messages, summaries and roots stay. Messages that are notes, as versions without notes kept them, become notes;
    /// a conversation of them has no messages after that, and the root of none.
    ///
    /// Others go on reading and writing. A segment is replaced whole, by a rename. A reader of the old file goes on
    /// reading it until it looks again. A crash leaves the old segments or the new ones, both with the same contents.
    ///
    /// The rewrite reads all of the log: do not call it on a thread that must not block.
    ///
    /// # Errors
    /// [`StoreError::Locked`] while another process does background work, [`StoreError::Damaged`] in a store of which a
    /// part cannot be read: salvage it first.
    pub fn vacuum(&self, options: VacuumOptions, progress: &dyn Progress) -> Result<VacuumReport, StoreError> {
        if !self.may_write() {
            return Err(StoreError::ReadOnly { place: self.path().into() });
        }
        let _lease = self.take_lease()?;
        if may_note(&self.shared)? {
            // Only sealed segments are rewritten, and a conversation becomes one of notes as a whole.
            pollster::block_on(self.seal())?;
        }
        vacuum(&self.shared, options, progress).inspect_err(|_| {
            // Most often the disk is full, and the new files take space that others need.
            if let Err(error) = remove_leftovers(&self.shared) {
                tracing::debug!(%error, "what a vacuum wrote stays until the next one");
            }
        })
    }

    /// Takes the lease for only this call. [`Store::lease`](memory_core::port::Store::lease) shares one within the
    /// opening.
    ///
    /// # Errors
    /// [`StoreError::Locked`] with the name of the process that has it.
    pub(crate) fn take_lease(&self) -> Result<HeldLease, StoreError> {
        let lock = Lock::lease(&*self.shared.media, self.path())?;
        if !lock.try_take()? {
            return Err(lock.held(&*self.shared.media));
        }
        lock.sign(&*self.shared.media);
        Ok(HeldLease::new(lock))
    }
}
