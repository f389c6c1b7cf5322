//! Retention in the background: policies that erase are applied once a day.

use std::{sync::Arc, time::Duration};

use memory_core::port::StoreError;

use super::{BackgroundWork, Failures};
use crate::{
    Config,
    erasing::EraseError,
    parts::Parts,
    retention::{self, RetentionError},
};

/// Interval of looking for policies of other processes, and at the clock, which may be set and may have slept.
const BETWEEN_LOOKS: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Retention {
    parts: Parts,
    config: Config,
    failures: Arc<Failures>,
}

impl Retention {
    pub(super) fn new(parts: Parts, config: Config, failures: Arc<Failures>) -> Self {
        Self { parts, config, failures }
    }

    /// Applies the policies whenever that is due. A failure is tried again.
    pub(super) async fn run(self: Arc<Self>) {
        loop {
            match self.turn().await {
                Ok(()) => self.failures.clear(BackgroundWork::Retention, None),
                // Another process does background work on the store.
                Err(RetentionError::Erase(EraseError::Unfinished(StoreError::Locked { .. }))) => {}
                Err(error) => self.failures.add(BackgroundWork::Retention, None, error.to_string()),
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }

    async fn turn(&self) -> Result<(), RetentionError> {
        if retention::is_due(&self.parts, &self.config).await? {
            retention::run(&self.parts, &self.config, false).await?;
        }
        Ok(())
    }
}
