//! How many texts go into a call to a service that may be slow.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

/// Halved by a call that took too long, doubled by a fast one.
#[derive(Debug)]
pub(super) struct Pace {
    texts: AtomicUsize,
    /// As many as the service takes.
    most: usize,
}

impl Pace {
    pub(super) fn new(most: usize) -> Self {
        Self { texts: AtomicUsize::new(most.max(1)), most: most.max(1) }
    }

    /// Texts of a call, at most; at least 1.
    pub(super) fn texts(&self) -> usize {
        self.texts.load(Ordering::Relaxed)
    }

    /// A call of so many texts took longer than a call may.
    pub(super) fn timed_out(&self, texts: usize) {
        self.texts.fetch_min((texts / 2).max(1), Ordering::Relaxed);
    }

    /// A call of so many texts was answered within `took`.
    pub(super) fn answered(&self, texts: usize, took: Duration, limit: Duration) {
        // One of twice as many is to be sure of its time.
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
        let pace = Pace::new(96);
        pace.timed_out(96);
        pace.timed_out(48);
        // Of a call that was under way.
        pace.timed_out(96);
        assert_eq!(pace.texts(), 24);
        pace.answered(24, Duration::from_secs(20), limit);
        pace.answered(7, Duration::from_secs(1), limit);
        assert_eq!(pace.texts(), 24, "that was not fast, or says nothing of so many");
        pace.answered(24, Duration::from_secs(1), limit);
        assert_eq!(pace.texts(), 48);
        pace.answered(48, Duration::from_secs(1), limit);
        pace.answered(96, Duration::from_secs(1), limit);
        assert_eq!(pace.texts(), 96);
        (0..20).for_each(|_| pace.timed_out(1));
        assert_eq!(pace.texts(), 1);
    }
}
