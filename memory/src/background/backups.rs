//! Backups in the background: copies of the store in a directory, one in each interval.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use memory_core::{OwnerId, Timestamp, port::StoreError};
use memory_store::{RescueError, backup_taken, enclosing_store};

use super::{BackgroundWork, Failures};
use crate::{Config, parts::Parts};

/// Interval of checking the clock, which may be set and may have slept.
const BETWEEN_LOOKS: Duration = Duration::from_secs(60);
/// Time between requests for a lease that another process holds.
const BETWEEN_RETRIES: Duration = Duration::from_secs(1);
const HOUR_MILLIS: i64 = 3_600_000;

/// Reasons why a store cannot be backed up to a directory while it is open.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The memory has an owner, and a backup holds the conversations of all owners.
    #[error("a backup has the conversations of all owners: back the store up in a memory without the owner {0}")]
    OfOwner(OwnerId),
    /// The directory is in the store, or in another one.
    #[error("backups cannot be kept in {}, which is inside of the store {}", path.display(), store.display())]
    InsideStore {
        /// The directory.
        path: PathBuf,
        /// The store.
        store: PathBuf,
    },
    /// The directory cannot be found.
    #[error("cannot find {}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// Cause of the failure.
        #[source]
        source: io::Error,
    },
}

/// Directory and interval of a store's backups.
#[derive(Clone, Debug)]
pub(crate) struct BackupPlan {
    directory: PathBuf,
    interval_millis: i64,
}

impl BackupPlan {
    /// The plan of a configuration, if any.
    pub(crate) fn of(config: &Config) -> Result<Option<Self>, BackupError> {
        let directory = config.backup_directory.clone().filter(|_| !config.is_in_memory());
        let Some(directory) = directory else { return Ok(None) };
        if let Some(owner) = &config.owner {
            return Err(BackupError::OfOwner(owner.clone()));
        }
        let io = |source| BackupError::Io { path: directory.clone(), source };
        let directory = std::path::absolute(&directory).map_err(io)?;
        let store = std::path::absolute(&config.store).map_err(io)?;
        // A new store does not exist yet.
        let inside = Some(store).filter(|store| directory.starts_with(store));
        if let Some(store) = inside.map_or_else(|| enclosing_store(&directory).map_err(io), |store| Ok(Some(store)))? {
            return Err(BackupError::InsideStore { path: directory, store });
        }
        let interval_millis = i64::from(config.backup_interval_hours.get()) * HOUR_MILLIS;
        Ok(Some(Self { directory, interval_millis }))
    }

    /// True if a backup is due `now` after one `taken` earlier. A time in the future, from before the clock was set,
    /// counts as none.
    fn is_due(&self, taken: Option<Timestamp>, now: Timestamp) -> bool {
        let due = |taken: Timestamp| taken.as_millis().saturating_add(self.interval_millis) <= now.as_millis();
        taken.filter(|taken| *taken <= now).is_none_or(due)
    }
}

#[derive(Debug)]
pub(super) struct Backups {
    parts: Parts,
    plan: BackupPlan,
    failures: Arc<Failures>,
}

/// Outcome of a check of the clock.
#[derive(Debug)]
enum Turn {
    /// No backup is due.
    NotDue,
    /// A backup was made.
    Made,
    /// Another process does background work on the store.
    LeftToAnother,
}

impl Backups {
    pub(super) fn new(parts: Parts, plan: BackupPlan, failures: Arc<Failures>) -> Self {
        Self { parts, plan, failures }
    }

    /// Makes a backup whenever one is due. A failed one is tried again.
    pub(super) async fn run(self: Arc<Self>) {
        let mut made = None;
        loop {
            let turn = if self.is_due(made) { self.turn().await } else { Ok(Turn::NotDue) };
            let wait = match turn {
                Ok(Turn::LeftToAnother) => BETWEEN_RETRIES,
                Ok(Turn::NotDue) => BETWEEN_LOOKS,
                Ok(Turn::Made) => {
                    made = Some(self.parts.memory.clock().now());
                    BETWEEN_LOOKS
                }
                Err(error) => {
                    self.failures.add(BackgroundWork::Backup, None, error.to_string());
                    BETWEEN_LOOKS
                }
            };
            tokio::time::sleep(wait).await;
        }
    }

    fn is_due(&self, taken: Option<Timestamp>) -> bool {
        self.plan.is_due(taken, self.parts.memory.clock().now())
    }

    /// Makes a backup if the one in the directory is old or missing.
    async fn turn(&self) -> Result<Turn, BackupFailed> {
        let BackupPlan { directory, .. } = &self.plan;
        if !self.is_due(backup_taken(directory)?) {
            return Ok(Turn::NotDue);
        }
        let _lease = match self.parts.store.lease().await {
            Err(StoreError::Locked { .. }) => return Ok(Turn::LeftToAnother),
            leased => leased?,
        };
        // The previous lease holder may have made the backup.
        if !self.is_due(backup_taken(directory)?) {
            return Ok(Turn::NotDue);
        }
        let report = self.parts.log.backup(directory, &())?;
        tracing::debug!(files = report.files, copied = report.copied, "backed up");
        if report.damage.is_empty() {
            self.failures.clear(BackgroundWork::Backup, None);
        } else {
            let damage: Vec<_> = report.damage.iter().map(ToString::to_string).collect();
            let error = format!("backed up as it is, with its damage: {}", damage.join("; "));
            self.failures.add(BackgroundWork::Backup, None, error);
        }
        Ok(Turn::Made)
    }
}

/// Reasons why no backup was made.
#[derive(Debug, thiserror::Error)]
enum BackupFailed {
    #[error(transparent)]
    Rescue(#[from] RescueError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Access;

    #[test]
    fn a_backup_is_due_after_the_interval_and_where_none_was_taken() {
        let now = Timestamp::from_millis(100 * HOUR_MILLIS);
        let config = Config::new("/nowhere/store", Access::Write).backup_directory("/nowhere/backup");
        let plan = BackupPlan::of(&config).unwrap().unwrap();
        let is_due = |hours: i64| plan.is_due(Some(Timestamp::from_millis(hours * HOUR_MILLIS)), now);
        assert_eq!([is_due(75), is_due(76), is_due(77), is_due(101)], [true, true, false, true]);
        assert!(plan.is_due(None, now));
    }

    #[test]
    fn no_owner_and_no_store_is_backed_up_into_what_it_must_not() {
        let config = Config::new("/nowhere/store", Access::Write);
        assert!(BackupPlan::of(&config).unwrap().is_none(), "it is off by default");
        let inside = config.clone().backup_directory("/nowhere/store/backup");
        assert!(matches!(BackupPlan::of(&inside), Err(BackupError::InsideStore { .. })));
        let of_owner = config.backup_directory("/nowhere/backup").owner(OwnerId::new("ana").unwrap());
        assert!(matches!(BackupPlan::of(&of_owner), Err(BackupError::OfOwner(_))));
    }
}
