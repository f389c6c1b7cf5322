//! Bounded spin-wait before a thread is put to sleep.

use std::{
    hint,
    sync::LazyLock,
    thread,
    time::{Duration, Instant},
};

/// Longest spin-wait: about the time that putting a thread to sleep and waking it takes. Spinning longer costs more
/// than it saves.
pub(crate) const LONGEST_SPIN: Duration = Duration::from_micros(30);

/// Checks between two readings of the clock.
const LOOKS: u32 = 32;

/// With a single processor, the thread that is waited for needs it.
static HAS_COMPANY: LazyLock<bool> =
    LazyLock::new(|| thread::available_parallelism().is_ok_and(|processors| processors.get() > 1));

/// Spins for at most [`LONGEST_SPIN`] until `has_come` is true. The caller checks once more before it goes to sleep, under
/// the lock that decides.
pub(crate) fn spin_until(has_come: impl Fn() -> bool) {
    if has_come() || !*HAS_COMPANY {
        return;
    }
    let start = Instant::now();
    while start.elapsed() < LONGEST_SPIN {
        for _ in 0..LOOKS {
            if has_come() {
                return;
            }
            hint::spin_loop();
        }
    }
}
