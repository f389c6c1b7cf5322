//! Count of the bytes that a thread has searched for frames: a measure of work that is the same on every machine.

use std::cell::Cell;

thread_local! {
    static SCANNED: Cell<u64> = const { Cell::new(0) };
}

/// Counts bytes that this thread searched.
pub(crate) fn add(bytes: usize) {
    SCANNED.set(SCANNED.get() + bytes as u64);
}

/// How many there were since the last call.
pub(crate) fn take() -> u64 {
    SCANNED.take()
}
