//! Port: threads on which the calls of a memory run.

use std::fmt;

use crate::port::BoxFuture;

/// Threads for work that blocks: the futures of stores, indexes and models wait on the disk where they are polled, which
/// would stop the executor of a caller.
///
/// Contract: work that was accepted is polled to its end, unless the threads are shut down meanwhile, which drops it. A
/// panic of one work ends no other. Work may wait for other work, and for calls that other work makes.
pub trait Spawner: fmt::Debug + Send + Sync {
    /// Runs `work` on a thread where it may block. Returns at once.
    fn spawn(&self, work: BoxFuture<'static, ()>);

    /// True if the calling thread is one of these. A call that is made there, as by a hook, runs in place: calls that
    /// wait for calls could otherwise take up all threads.
    fn is_current(&self) -> bool;
}
