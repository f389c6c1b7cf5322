//! How long questions took.

use std::{fmt, time::Duration};

/// Durations of one kind of call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies {
    millis: Vec<f64>,
}

impl Latencies {
    /// Adds a call; gives its milliseconds.
    pub(crate) fn add(&mut self, took: Duration) -> f64 {
        let millis = took.as_secs_f64() * 1_000.0;
        self.millis.push(millis);
        millis
    }
}

impl fmt::Display for Latencies {
    /// Median and 95th percentile, as in `p50 3.1 ms, p95 8.4 ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted = self.millis.clone();
        sorted.sort_by(f64::total_cmp);
        let [p50, p95] = [0.5, 0.95].map(|share| crate::stats::quantile(&sorted, share));
        write!(f, "p50 {p50:.1} ms, p95 {p95:.1} ms")
    }
}
