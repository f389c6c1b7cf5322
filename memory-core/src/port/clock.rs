//! Port: what time it is.

use std::fmt;

use crate::Timestamp;

/// Tells the time. Two calls may give the same time, and a later one an earlier time.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}
