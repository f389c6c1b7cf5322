//! Adapts the number of texts per call to the speed of the service.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

/// Number of texts per call: halved after a call that timed out, doubled after a fast one.
#[derive(Debug)]
pub(super) struct BatchSize {
    texts: AtomicUsize,
    /// The service's own limit.
    most: usize,
}

impl BatchSize {
    pub(super) fn new(most: usize) -> Self {
        Self { texts: AtomicUsize::new(most.max(1)), most: most.max(1) }
    }

    /// Maximum texts of a call, at least 1.
    pub(super) fn texts(&self) -> usize {
        self.texts.load(Ordering::Relaxed)
    }

    /// Records that a call of this many texts timed out.
    pub(super) fn timed_out(&self, texts: usize) {
        self.texts.fetch_min((texts / 2).max(1), Ordering::Relaxed);
    }

    /// Records that a call of this many texts took `took` of the timeout `limit`.
    pub(super) fn succeeded(&self, texts: usize, took: Duration, limit: Duration) {
        // Leaves a margin, so that a call of twice as many texts stays well below the timeout.
        if took < limit / 4 && texts >= self.texts() {
            let doubled = texts.saturating_mul(2).min(self.most);
            self.texts.fetch_max(doubled, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_calls_halve_it_and_fast_ones_double_it() {
        let limit = Duration::from_secs(30);
        let batch_size = BatchSize::new(96);
        batch_size.timed_out(96);
        batch_size.timed_out(48);
        // A call that was running already.
        batch_size.timed_out(96);
        assert_eq!(batch_size.texts(), 24);
        batch_size.succeeded(24, Duration::from_secs(20), limit);
        batch_size.succeeded(7, Duration::from_secs(1), limit);
        assert_eq!(batch_size.texts(), 24, "not fast, or fewer texts than the batch size");
        batch_size.succeeded(24, Duration::from_secs(1), limit);
        assert_eq!(batch_size.texts(), 48);
        batch_size.succeeded(48, Duration::from_secs(1), limit);
        batch_size.succeeded(96, Duration::from_secs(1), limit);
        assert_eq!(batch_size.texts(), 96);
        (0..20).for_each(|_| batch_size.timed_out(1));
        assert_eq!(batch_size.texts(), 1);
    }
}
