//! A fault: what is wrong, and where.

use std::fmt;

/// One broken rule: the place, and what is wrong there.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fault {
    place: String,
    what: String,
}

impl Fault {
    pub(super) fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}
