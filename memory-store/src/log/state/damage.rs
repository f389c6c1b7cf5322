//! Damage of a log, as reported on opening.

use std::{fmt, path::PathBuf};

use memory_core::{
    ConversationId, NodeRange,
    port::{Place, StoreError},
};

/// A place of the log that cannot be read any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// Offset at which the damage begins.
    pub offset: u64,
    /// Bytes of the damage; 0 if unknown.
    pub bytes: u64,
    /// Fault found there.
    pub why: String,
    /// Number of the damaged conversation, if known.
    pub(crate) conversation: Option<u64>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is damaged at byte {}", self.path.display(), self.offset)?;
        if self.bytes > 0 {
            write!(f, " for {} bytes", self.bytes)?;
        }
        write!(f, ": {}", self.why)
    }
}

impl From<Damage> for StoreError {
    fn from(Damage { path, offset, why, .. }: Damage) -> Self {
        Self::Damaged { place: Place::from(path).offset(offset), why }
    }
}

/// Remains of the last write after a crash. None of it was ever acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct TornTail {
    /// The segment.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::reports::path"))]
    pub path: PathBuf,
    /// Where the log ends now.
    pub offset: u64,
    /// Bytes that stood after it.
    pub bytes: u64,
}

/// Nodes of a conversation that cannot be read. Later nodes have kept their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostNodes {
    /// The conversation.
    pub conversation: ConversationId,
    /// Nodes that are lost.
    pub nodes: NodeRange,
}
