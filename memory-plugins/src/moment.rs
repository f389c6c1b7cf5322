//! Waiting for a moment for what is about to come, before a thread is put to sleep.

use std::{
    hint,
    sync::LazyLock,
    thread,
    time::{Duration, Instant},
};

/// About what it takes to put a thread to sleep and to wake it. Waiting longer than that costs more than it spares.
pub(crate) const MOMENT: Duration = Duration::from_micros(30);

/// Looks between two looks at the clock.
const LOOKS: u32 = 32;

/// With a single processor, whoever is waited for needs it.
static HAS_COMPANY: LazyLock<bool> =
    LazyLock::new(|| thread::available_parallelism().is_ok_and(|processors| processors.get() > 1));

/// Looks for at most a [`MOMENT`] whether `has_come` is true. The caller looks once more before it goes to sleep, under
/// the lock that decides.
pub(crate) fn watch(has_come: impl Fn() -> bool) {
    if has_come() || !*HAS_COMPANY {
        return;
    }
    let start = Instant::now();
    while start.elapsed() < MOMENT {
        for _ in 0..LOOKS {
            if has_come() {
                return;
            }
            hint::spin_loop();
        }
    }
}
