//! Port: data derived from conversations, kept in blocks between runs.

use std::{fmt, path::PathBuf, sync::Arc};

use super::{BoxError, BoxFuture};
use crate::{ConversationId, NodeRange};

/// Kind and version of the data that blocks hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockKey {
    /// The kind of the data, as in `words`: lower-case letters, since files may be named by it.
    pub kind: &'static str,
    /// The version of the data and of its derivation. Blocks of another version are ignored.
    pub version: u32,
}

/// The name of a block: no two blocks of a cache have the same one, also over time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(Arc<str>);

impl BlockId {
    /// A name that the cache chose.
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

/// A run of nodes of a conversation that a part of a block was derived from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockRun {
    /// The conversation.
    pub conversation: ConversationId,
    /// The run.
    pub nodes: NodeRange,
    /// True if the log has these very nodes now.
    pub is_current: bool,
}

impl BlockRun {
    /// A run that the log has now.
    #[must_use]
    pub const fn new(conversation: ConversationId, nodes: NodeRange) -> Self {
        Self { conversation, nodes, is_current: true }
    }

    crate::setters! {
        const is_current: bool,
    }
}

/// The bytes of a block, where they lie.
pub trait BlockBytes: fmt::Debug + Send + Sync {
    /// The bytes; `None` if they are damaged.
    fn get(&self) -> Option<&[u8]>;
}

impl BlockBytes for Vec<u8> {
    fn get(&self) -> Option<&[u8]> {
        Some(self)
    }
}

/// Data derived from runs of nodes of one or several conversations.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Block {
    /// Its name.
    pub id: BlockId,
    /// The runs, in the order in which they were written.
    pub runs: Vec<BlockRun>,
    bytes: Arc<dyn BlockBytes>,
}

impl Block {
    /// A block that was derived from these runs.
    #[must_use]
    pub const fn new(id: BlockId, runs: Vec<BlockRun>, bytes: Arc<dyn BlockBytes>) -> Self {
        Self { id, runs, bytes }
    }

    /// The derived bytes, in a form that only the producer knows; `None` if they are damaged.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        self.bytes.get()
    }
}

/// Keeps derived data in blocks. Losing it loses time, never data.
///
/// Contract: the bytes of a block are those that were written with its runs, or are reported as damaged. A run that is
/// current was derived from the nodes that the log has now. Other processes may write and replace blocks meanwhile, and
/// a crash may leave blocks next to those that replace them, so the same nodes may be in several blocks. A block need
/// not survive a crash.
pub trait BlockCache: fmt::Debug + Send + Sync {
    /// Blocks that are there now, in no order. The call costs little while none is added.
    fn blocks(&self, key: BlockKey) -> BoxFuture<'_, Vec<Arc<Block>>>;

    /// Adds a block of these runs, and then removes those that it replaces. Returns `false` where nothing was written:
    /// another process keeps the right to write, or this cache is read-only. A run whose last node the log cannot read
    /// is never current.
    ///
    /// # Errors
    /// When the block could not be written. The blocks that it was to replace are still there.
    fn write<'a>(
        &'a self,
        key: BlockKey,
        runs: &'a [BlockRun],
        bytes: &'a [u8],
        replaced: &'a [BlockId],
    ) -> BoxFuture<'a, Result<bool, BlockCacheError>>;
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
        /// The backend.
        backend: &'static str,
        /// Why.
        #[source]
        source: BoxError,
    },
}
