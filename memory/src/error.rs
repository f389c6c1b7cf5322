//! Errors of the calls of a memory.

use memory_core::{RetrieveError, StoreError};
use memory_hooks::MemoryError;
use memory_search::FindError;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The memory could not do what it was asked.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A regular expression is wrong, or the store failed while it was searched for.
    #[error(transparent)]
    Find(#[from] FindError),
    /// The call did not come to its end: its thread panicked, or every handle of the memory was dropped meanwhile.
    /// Messages that it appended may be on disk.
    #[error("the call was interrupted: its thread panicked, or the memory was closed while it ran")]
    Interrupted,
}

impl Error {
    /// True if the requested item does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::Memory(error) => error.is_not_found(),
            Self::Find(FindError::Store(error)) => error.is_not_found(),
            Self::Find(_) | Self::Interrupted => false,
        }
    }

    /// True if data on disk is damaged.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Memory(error) => error.is_damage(),
            Self::Find(FindError::Store(error)) => error.is_damage(),
            Self::Find(_) | Self::Interrupted => false,
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Memory(error.into())
    }
}

impl From<RetrieveError> for Error {
    fn from(error: RetrieveError) -> Self {
        Self::Memory(error.into())
    }
}
