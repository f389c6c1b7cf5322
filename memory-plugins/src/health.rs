//! Counts a plugin's failures and says when it is to be asked no more.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::CallError;

/// The health of one plugin. Once quarantined it stays so until it is loaded anew.
#[derive(Debug)]
pub(crate) struct Health {
    name: String,
    /// Failures in a row; stays at `limit` once it was reached.
    failures: AtomicU32,
    limit: u32,
}

impl Health {
    pub(crate) fn new(name: &str, limit: u32) -> Self {
        Self { name: name.to_owned(), failures: AtomicU32::new(0), limit: limit.max(1) }
    }

    pub(crate) fn is_quarantined(&self) -> bool {
        self.failures.load(Ordering::Relaxed) >= self.limit
    }

    /// Takes note of an answer.
    pub(crate) fn record<T>(&self, outcome: &Result<T, CallError>) {
        let limit = self.limit;
        let change = |failures: u32| match outcome {
            _ if failures >= limit => None,
            Ok(_) => (failures > 0).then_some(0),
            Err(error) => error.is_the_plugins().then_some(failures + 1),
        };
        let changed = self.failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
        if let Err(error) = outcome {
            tracing::debug!(plugin = self.name, %error, "plugin call failed");
            if changed.is_ok_and(|before| before + 1 == limit) && error.is_the_plugins() {
                tracing::warn!(plugin = self.name, failures = limit, %error, "plugin quarantined, a built-in answers");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_a_row_quarantine_for_good() {
        let health = Health::new("x", 3);
        let failed: Result<(), _> = Err(CallError::Failed("no".into()));
        health.record(&failed);
        health.record(&failed);
        health.record(&Ok(()));
        health.record(&failed);
        health.record(&failed);
        assert!(!health.is_quarantined());
        health.record(&failed);
        assert!(health.is_quarantined());
        health.record(&Ok(()));
        assert!(health.is_quarantined());
    }

    #[test]
    fn a_busy_host_is_not_the_plugins_fault() {
        let health = Health::new("x", 1);
        health.record::<()>(&Err(CallError::Busy));
        assert!(!health.is_quarantined());
    }
}
