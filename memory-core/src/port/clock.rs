//! Port: the current time.

use std::fmt;

use crate::Timestamp;

/// Returns the time. Two calls may return the same time, and the time may go backwards.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The current time.
    fn now(&self) -> Timestamp;
}
