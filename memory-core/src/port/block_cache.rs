//! Port: data derived from a conversation, kept in blocks between runs.

use std::{fmt, path::PathBuf, sync::Arc};

use super::{BoxError, BoxFuture};
use crate::{ConversationId, NodeRange};

/// Which data the blocks hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockKey<'a> {
    /// The kind of the data, as in `words`: lower-case letters, since files may be named by it.
    pub kind: &'static str,
    /// The version of the data and of its derivation. Blocks of another version are ignored.
    pub version: u32,
    /// The conversation that it was derived from.
    pub conversation: &'a ConversationId,
}

/// Data derived from a run of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block {
    /// The run.
    pub nodes: NodeRange,
    /// The derived bytes, in a form that only the producer knows.
    pub bytes: Arc<[u8]>,
}

impl Block {
    /// A block that was derived from `nodes`.
    #[must_use]
    pub fn new(nodes: NodeRange, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { nodes, bytes: bytes.into() }
    }
}

/// Keeps derived data in blocks. Losing it loses time, never data.
///
/// Contract: every block that is read is a block that was written, undamaged, and derived from the nodes that the log
/// has now. Blocks are in order and follow one another without a gap from node 1 on. Anything else is left out and is
/// not an error. A block need not survive a crash; what remains after one is read by the same rule.
pub trait BlockCache: fmt::Debug + Send + Sync {
    /// The valid blocks.
    fn read<'a>(&'a self, key: BlockKey<'a>) -> BoxFuture<'a, Vec<Block>>;

    /// Puts a block after those that end before it and replaces the others. Returns `false` where that is impossible or
    /// would leave less than there is: no block ends right before it, others reach as far as it does (another process
    /// may have written them), its last node cannot be read, or this cache is read-only.
    ///
    /// # Errors
    /// When the block could not be written.
    fn write<'a>(&'a self, key: BlockKey<'a>, block: &'a Block) -> BoxFuture<'a, Result<bool, BlockCacheError>>;
}

/// Why a block was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlockCacheError {
    /// A file could not be written.
    #[error("cache file {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The backend failed.
    #[error("cache backend {backend} failed")]
    Backend {
        /// Which one.
        backend: &'static str,
        /// Why.
        #[source]
        source: BoxError,
    },
}
