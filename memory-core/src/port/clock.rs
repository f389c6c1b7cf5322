//! Port: the current time.

use std::fmt;

use crate::Timestamp;

/// Returns the time. Two calls may return the same time, and a later call an earlier time.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}
