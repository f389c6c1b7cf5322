//! Counts a plugin's failures and says when it is to be asked no more.

use std::sync::{
    Arc,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

use crate::{
    error::CallError,
    events::{PluginEvent, PluginObserver, PluginStatus},
    options::PluginOptions,
};

/// The health of one plugin, whatever number of strategies was made of it. Once quarantined it stays so until it is
/// loaded anew.
#[derive(Debug)]
pub(crate) struct Health {
    name: String,
    /// Failures in a row; stays at `limit` once it was reached.
    in_a_row: AtomicU32,
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
            limit: options.failures.max(1),
            calls: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            late: AtomicU64::new(0),
            observer: options.observer.clone(),
        }
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

    /// Takes note of an answer.
    pub(crate) fn record<T>(&self, outcome: &Result<T, CallError>) {
        let limit = self.limit;
        let change = |failures: u32| match outcome {
            _ if failures >= limit => None,
            Ok(_) => (failures > 0).then_some(0),
            Err(error) => error.is_the_plugins().then_some(failures + 1),
        };
        self.calls.fetch_add(1, Ordering::Relaxed);
        let changed = self.in_a_row.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
        let Err(error) = outcome else { return };
        self.failures.fetch_add(1, Ordering::Relaxed);
        if matches!(error, CallError::Late(_)) {
            self.late.fetch_add(1, Ordering::Relaxed);
        }
        let plugin = self.name.clone();
        let failures = changed.map_or_else(|same| same, |before| before + 1);
        tracing::debug!(plugin, %error, "plugin call failed");
        self.tell(&PluginEvent::CallFailed { plugin: plugin.clone(), failures, error: error.clone() });
        // Of the calls that fail at once exactly one changes the count to the limit.
        if changed.is_ok() && failures == limit {
            tracing::warn!(plugin, failures, %error, "plugin quarantined, its fall-back answers");
            self.tell(&PluginEvent::Quarantined { plugin, failures, error: error.clone() });
        }
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
        let mut options = PluginOptions { failures, ..PluginOptions::default() };
        options.observer = Some(observer.clone());
        Health::new("x", &options)
    }

    fn failed() -> Result<(), CallError> {
        Err(CallError::Failed("no".into()))
    }

    #[test]
    fn failures_in_a_row_quarantine_for_good_and_once() {
        let heard = Arc::new(Heard::default());
        let health = health(3, &heard);
        for outcome in [failed(), failed(), Ok(()), failed(), failed()] {
            health.record(&outcome);
        }
        assert!(!health.is_quarantined());
        for outcome in [failed(), Ok(()), failed()] {
            health.record(&outcome);
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
    fn a_busy_host_is_not_the_plugins_fault() {
        let heard = Arc::new(Heard::default());
        let health = health(1, &heard);
        health.record::<()>(&Err(CallError::Busy));
        assert!(!health.is_quarantined());
        assert_eq!(health.status().failures, 1);
    }
}
