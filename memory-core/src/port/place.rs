//! Location in a store, in the terms of its backend.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// Location in a store: a file, perhaps with a byte offset, a table, or an address.
///
/// For people only, not a key to find the location again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The backend's name: path of a file or directory, a table, or an address without a password.
    pub name: String,
    /// Byte offset, from 0, if the backend has offsets.
    pub offset: Option<u64>,
}

impl Place {
    /// A location without an offset.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), offset: None }
    }

    crate::setters! { const some offset: u64 }

    /// ` at byte 64`, or nothing without an offset.
    pub(super) fn at_byte(&self) -> String {
        self.offset.map_or_else(String::new, |offset| format!(" at byte {offset}"))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, self.at_byte())
    }
}

impl From<&Path> for Place {
    fn from(path: &Path) -> Self {
        Self::new(path.display().to_string())
    }
}

impl From<&PathBuf> for Place {
    fn from(path: &PathBuf) -> Self {
        path.as_path().into()
    }
}

impl From<PathBuf> for Place {
    fn from(path: PathBuf) -> Self {
        path.as_path().into()
    }
}
