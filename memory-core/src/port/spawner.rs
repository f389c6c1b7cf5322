//! Port: threads on which the calls of a memory run.

use std::fmt;

use crate::port::BoxFuture;

/// Threads for blocking work: futures of stores, indexes and models block the thread that polls them, which would stall
/// a caller's executor.
///
/// Contract: accepted work is polled to its end, unless a shutdown of the threads drops it. A panic ends only the work
/// that panics. Work may wait for other work, and for the calls of other work.
pub trait Spawner: fmt::Debug + Send + Sync {
    /// Runs `work` on a thread where it may block. Returns at once.
    fn spawn(&self, work: BoxFuture<'static, ()>);

    /// True if the calling thread is one of these. A call from there, such as a hook's, runs in place, because calls
    /// that wait for calls could occupy all threads.
    fn is_current(&self) -> bool;
}
