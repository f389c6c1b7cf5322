//! Counts a plugin's failures, reports them, and quarantines it.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};

use crate::{error::CallError, options::PluginOptions};

/// An event of a plugin.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PluginEvent {
    /// A call failed, or its answer was invalid.
    CallFailed {
        /// The plugin.
        plugin: String,
        /// Failures in a row, this one included.
        failures: u32,
        /// Why.
        error: CallError,
    },
    /// The plugin is no longer called after repeated failures. Each further call returns an error at once.
    Quarantined {
        /// The plugin.
        plugin: String,
        /// Failures in a row.
        failures: u32,
        /// The last failure.
        error: CallError,
    },
}

/// Receives events of plugins, on the thread that called the plugin. Must return soon.
pub trait PluginObserver: fmt::Debug + Send + Sync {
    /// Handles an event.
    fn notice(&self, event: &PluginEvent);
}

/// Statistics of calls since the plugin was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginStatus {
    /// Finished calls, successful or not.
    pub calls: u64,
    /// Calls that failed or returned an invalid answer.
    pub failures: u64,
    /// Calls that were given up at their deadline.
    pub late: u64,
    /// True if the plugin is quarantined.
    pub quarantined: bool,
}

/// The health of one plugin, shared by all strategies that it created. A quarantine lasts until the plugin is loaded
/// again.
#[derive(Debug)]
pub(crate) struct Health {
    name: String,
    /// Failures in a row, at most `limit`.
    in_a_row: AtomicU32,
    /// Hash of the job that failed last, and its number of failures.
    failed: Mutex<(u64, u32)>,
    limit: u32,
    calls: AtomicU64,
    failures: AtomicU64,
    late: AtomicU64,
    observer: Option<Arc<dyn PluginObserver>>,
}

impl Health {
    pub(crate) fn new(name: &str, options: &PluginOptions) -> Self {
        Self {
            name: name.to_owned(),
            in_a_row: AtomicU32::new(0),
            failed: Mutex::default(),
            limit: options.failures.max(1),
            calls: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            late: AtomicU64::new(0),
            observer: options.observer.clone(),
        }
    }

    /// Fails if the plugin is quarantined.
    pub(crate) fn check(&self) -> Result<(), CallError> {
        if self.is_quarantined() { Err(CallError::Quarantined(self.limit)) } else { Ok(()) }
    }

    pub(crate) fn is_quarantined(&self) -> bool {
        self.in_a_row.load(Ordering::Relaxed) >= self.limit
    }

    pub(crate) fn status(&self) -> PluginStatus {
        PluginStatus {
            calls: self.calls.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            late: self.late.load(Ordering::Relaxed),
            quarantined: self.is_quarantined(),
        }
    }

    /// Records an outcome of the job that `job` identifies by a hash. Repeated failures of one job count as failures in
    /// a row even if other jobs succeed in between, because they block the summaries of all later messages.
    pub(crate) fn record<T>(&self, outcome: &Result<T, CallError>, job: impl FnOnce() -> u64) {
        let limit = self.limit;
        let times = match outcome {
            Err(error) if error.is_the_plugins() => self.times_failed(job()),
            _ => 0,
        };
        let next = |failures: u32| (failures + 1).max(times).min(limit);
        let change = |failures: u32| match outcome {
            _ if failures >= limit => None,
            Ok(_) => (failures > 0).then_some(0),
            Err(error) => error.is_the_plugins().then(|| next(failures)),
        };
        self.calls.fetch_add(1, Ordering::Relaxed);
        let changed = self.in_a_row.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
        let Err(error) = outcome else { return };
        self.failures.fetch_add(1, Ordering::Relaxed);
        if matches!(error, CallError::Late(_)) {
            self.late.fetch_add(1, Ordering::Relaxed);
        }
        let plugin = self.name.clone();
        let failures = changed.map_or_else(|same| same, next);
        tracing::debug!(plugin, %error, "plugin call failed");
        self.tell(&PluginEvent::CallFailed { plugin: plugin.clone(), failures, error: error.clone() });
        // Exactly one of several simultaneous failures reaches the limit.
        if changed.is_ok() && failures == limit {
            tracing::warn!(plugin, failures, %error, "plugin quarantined: it is not called any more");
            self.tell(&PluginEvent::Quarantined { plugin, failures, error: error.clone() });
        }
    }

    fn times_failed(&self, job: u64) -> u32 {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let times = if failed.0 == job { failed.1.saturating_add(1) } else { 1 };
        *failed = (job, times);
        times
    }

    fn tell(&self, event: &PluginEvent) {
        if let Some(observer) = &self.observer {
            observer.notice(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Debug, Default)]
    struct Heard(Mutex<Vec<PluginEvent>>);

    impl PluginObserver for Heard {
        fn notice(&self, event: &PluginEvent) {
            self.0.lock().unwrap().push(event.clone());
        }
    }

    fn health(failures: u32, observer: &Arc<Heard>) -> Health {
        let options = PluginOptions::default().failures(failures).observer(observer.clone());
        Health::new("x", &options)
    }

    fn failed() -> Result<(), CallError> {
        Err(CallError::Failed("no".into()))
    }

    #[test]
    fn failures_in_a_row_quarantine_for_good_and_once() {
        let heard = Arc::new(Heard::default());
        let health = health(3, &heard);
        for (job, outcome) in (0..).zip([failed(), failed(), Ok(()), failed(), failed()]) {
            health.record(&outcome, || job);
        }
        assert!(!health.is_quarantined());
        for (job, outcome) in (5..).zip([failed(), Ok(()), failed()]) {
            health.record(&outcome, || job);
        }
        let status = health.status();
        assert!(status.quarantined);
        assert_eq!((status.calls, status.failures, status.late), (8, 6, 0));
        let heard = heard.0.lock().unwrap();
        let quarantined: Vec<_> =
            heard.iter().filter(|event| matches!(event, PluginEvent::Quarantined { .. })).collect();
        let error = CallError::Failed("no".into());
        assert_eq!(quarantined, [&PluginEvent::Quarantined { plugin: "x".into(), failures: 3, error }]);
        assert_eq!(heard.len(), 7);
    }

    #[test]
    fn one_job_that_always_fails_quarantines_however_many_others_do_not() {
        let heard = Arc::new(Heard::default());
        let health = health(3, &heard);
        for turn in 0..3 {
            assert!(!health.is_quarantined(), "turn {turn}");
            (0..50).for_each(|job| health.record(&Ok(()), || job));
            health.record(&failed(), || 50);
        }
        assert!(health.is_quarantined());
    }

    #[test]
    fn a_busy_host_is_not_the_plugins_fault() {
        let heard = Arc::new(Heard::default());
        let health = health(1, &heard);
        health.record::<()>(&Err(CallError::Busy), || 1);
        assert!(!health.is_quarantined());
        assert_eq!(health.status().failures, 1);
    }
}
