//! Port: blocks of data that is derived from conversations, kept between runs.

use std::{fmt, path::PathBuf, sync::Arc};

use super::{BoxError, BoxFuture};
use crate::{ConversationId, NodeRange};

/// Kind and version of the data in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockKey {
    /// Kind of the data, such as `words`: lower-case letters, because file names may contain it.
    pub kind: &'static str,
    /// Version of the data and of its derivation. Blocks of other versions are ignored.
    pub version: u32,
}

/// Name of a block, which the cache never reuses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(Arc<str>);

impl BlockId {
    /// A name chosen by the cache.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A run of nodes of a conversation from which a part of a block was derived.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockRun {
    /// The conversation.
    pub conversation: ConversationId,
    /// The run.
    pub nodes: NodeRange,
    /// True if the log still has exactly these nodes.
    pub is_current: bool,
}

impl BlockRun {
    /// A run that the log has.
    #[must_use]
    pub const fn new(conversation: ConversationId, nodes: NodeRange) -> Self {
        Self { conversation, nodes, is_current: true }
    }

    crate::setters! {
        const is_current: bool,
    }
}

/// Storage of a block's bytes.
pub trait BlockBytes: fmt::Debug + Send + Sync {
    /// The bytes; `None` if they are damaged.
    fn get(&self) -> Option<&[u8]>;
}

impl BlockBytes for Vec<u8> {
    fn get(&self) -> Option<&[u8]> {
        Some(self)
    }
}

/// A block of data that was derived from runs of nodes of one or several conversations.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Block {
    /// Name of the block.
    pub id: BlockId,
    /// Runs in the order in which they were written.
    pub runs: Vec<BlockRun>,
    bytes: Arc<dyn BlockBytes>,
}

impl Block {
    /// A block that was derived from these runs.
    #[must_use]
    pub const fn new(id: BlockId, runs: Vec<BlockRun>, bytes: Arc<dyn BlockBytes>) -> Self {
        Self { id, runs, bytes }
    }

    /// The derived bytes, in the producer's own format; `None` if they are damaged.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        self.bytes.get()
    }
}

/// Keeps derived data in blocks. A loss costs time, never data.
///
/// Contract: the bytes of a block are those that were written with its runs, otherwise they are reported as damaged. A
/// current run was derived from the nodes that the log has now. Other processes may write and replace blocks at any
/// time, and after a crash blocks may coexist with those that replace them, so several blocks may cover the same nodes.
/// A block need not survive a crash.
pub trait BlockCache: fmt::Debug + Send + Sync {
    /// The current blocks, in no order. Cheap while no block is added.
    fn blocks(&self, key: BlockKey) -> BoxFuture<'_, Vec<Arc<Block>>>;

    /// Adds a block of these runs, then removes the blocks that it replaces. Returns `false` if nothing was written,
    /// because another process holds the right to write or the cache is read-only. A run whose last node the log cannot
    /// read is never current.
    ///
    /// # Errors
    /// If the block cannot be written. The blocks to replace still exist.
    fn write<'a>(
        &'a self,
        key: BlockKey,
        runs: &'a [BlockRun],
        bytes: &'a [u8],
        replaced: &'a [BlockId],
    ) -> BoxFuture<'a, Result<bool, BlockCacheError>>;
}

/// Reason why a block was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlockCacheError {
    /// A file could not be written.
    #[error("cache file {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The backend failed.
    #[error("cache backend {backend} failed")]
    Backend {
        /// The backend.
        backend: &'static str,
        /// The cause.
        #[source]
        source: BoxError,
    },
}
