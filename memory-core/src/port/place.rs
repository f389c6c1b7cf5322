//! Where in a store something is, as any backend can name it.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// A part of a store: a file and perhaps a byte in it, a table, an address.
///
/// A place is shown to people, and is not a key to find the part again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The backend's name for it: the path of a file or directory, a table, an address without a password.
    pub name: String,
    /// The byte in it, from 0, where the backend has such a position.
    pub offset: Option<u64>,
}

impl Place {
    /// All of what has this name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), offset: None }
    }

    crate::setters! { const some offset: u64 }

    /// ` at byte 64`, or nothing where no byte is known.
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
