//! Port: the current time.

use std::fmt;

use crate::Timestamp;

/// Returns the time. Two calls may return the same time, and the time may go backwards.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The current time.
    fn now(&self) -> Timestamp;

    /// The user's offset from UTC at a time, in seconds east, for messages that state none; `None` to leave them in UTC.
    fn utc_offset(&self, at: Timestamp) -> Option<i32> {
        let _ = at;
        None
    }
}
