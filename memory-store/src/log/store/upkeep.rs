//! Backups and vacuums of an open store.

use std::{
    path::Path,
    sync::{Arc, PoisonError},
    time::Duration,
};

use memory_core::{
    ConversationId, ErasureId,
    port::{ConversationState, Progress, StoreError},
};

use super::LogStore;
use crate::log::{
    media::Disk,
    upkeep::{
        backup::{BackupReport, backup_on, has_backup_on},
        enclosing::check_outside,
        rescue::RescueError,
        vacuum::{VacuumOptions, VacuumReport, erased_content, remove_leftovers, vacuum, wants_seal},
    },
    write::lock::HeldLease,
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

    /// True if a directory has a backup of this store. Only the manifest is read.
    ///
    /// # Errors
    /// [`RescueError::DamagedBackup`] when the manifest is damaged, or an error of the file system.
    pub fn has_backup(&self, target: impl AsRef<Path>) -> Result<bool, RescueError> {
        has_backup_on(&Disk, &self.shared, target.as_ref())
    }

    /// Rewrites sealed segments with dead records: importances, pins, titles and tags that later ones have replaced; and
    /// with records of erased content, of which only what keeps numbers, leaves and roots stays. All other messages,
    /// summaries and roots stay. Messages that are notes, as versions without notes kept them, become notes; a
    /// conversation of them has no messages after that, and the root of none.
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
        let _turn = self.vacuuming.lock().unwrap_or_else(PoisonError::into_inner);
        let _lease = self.shared_lease()?;
        if wants_seal(&self.shared)? {
            pollster::block_on(self.seal())?;
        }
        vacuum(&self.shared, options, progress).inspect_err(|_| {
            // Most often the disk is full, and the new files take space that others need.
            if let Err(error) = remove_leftovers(&self.shared) {
                tracing::debug!(%error, "what a vacuum wrote stays until the next one");
            }
        })
    }

    /// The conversations whose names begin with `id`, by name, without looking at the others.
    ///
    /// # Errors
    /// If the log cannot be followed.
    pub fn named_after(&self, id: &ConversationId) -> Result<Vec<ConversationState>, StoreError> {
        let state = self.shared.current()?;
        Ok(state.named_after(id).map(|conversation| state.overview(conversation)).collect())
    }

    /// True if an erasure of this number was recorded in a conversation, or in one that shares its messages.
    ///
    /// # Errors
    /// If the conversation does not exist.
    pub fn has_erasure(&self, conversation: &ConversationId, id: ErasureId) -> Result<bool, StoreError> {
        let state = self.shared.current()?;
        Ok(state.conversation(conversation)?.erased.cuts().iter().any(|cut| cut.id == id))
    }

    /// Number of records of the log that still hold erased content, which nothing reads any more; 0 after a
    /// [vacuum](Self::vacuum). Reads all of the log.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn erased_content(&self) -> Result<u64, StoreError> {
        erased_content(&self.shared)
    }

    /// The lease of this opening, taken unless it is held already.
    pub(crate) fn shared_lease(&self) -> Result<Arc<HeldLease>, StoreError> {
        let mut held = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
        let lease = match held.upgrade() {
            Some(lease) => lease,
            None => Arc::new(self.take_lease()?),
        };
        *held = Arc::downgrade(&lease);
        Ok(lease)
    }

    /// Takes the lease for only this call. [`Store::lease`](memory_core::port::Store::lease) shares one within the
    /// opening.
    ///
    /// # Errors
    /// [`StoreError::Locked`] with the name of the process that has it.
    pub(crate) fn take_lease(&self) -> Result<HeldLease, StoreError> {
        HeldLease::wait(&*self.shared.media, self.path(), Duration::ZERO)
    }
}
