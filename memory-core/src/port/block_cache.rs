//! Port: what was derived from a conversation, kept in blocks between runs.

use std::{fmt, path::PathBuf, sync::Arc};

use super::{BoxError, BoxFuture};
use crate::{ConversationId, NodeRange};

/// What blocks are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockKey<'a> {
    /// The kind of what is kept, as in `words`: lower-case letters, since files may be named by it.
    pub kind: &'static str,
    /// The version of what is in the blocks, and of how it was derived. Blocks of another version do not count.
    pub version: u32,
    /// The conversation that it was derived from.
    pub conversation: &'a ConversationId,
}

/// What was derived from a run of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The run.
    pub nodes: NodeRange,
    /// What was derived, in a form that whoever derived it knows.
    pub bytes: Arc<[u8]>,
}

/// Keeps blocks of what was derived from conversations. Losing it loses time, never data.
///
/// Contract: what is read was written, undamaged, and derived from the nodes that the log has now; the blocks are in
/// order and follow one another without a gap from node 1 on. Anything else that may be there is left out, and is no
/// error. What is written need not survive a crash, and what is left after one is read by the same rule.
pub trait BlockCache: fmt::Debug + Send + Sync {
    /// The blocks that count.
    fn read<'a>(&'a self, key: BlockKey<'a>) -> BoxFuture<'a, Vec<Block>>;

    /// Puts a block behind those that end before it, in the place of those that do not. `false` where that cannot be
    /// done, or would leave less than there is: no block ends right before it, others reach as far as it does (another
    /// process may have written them), its last node cannot be read, or nothing is written to this cache.
    ///
    /// # Errors
    /// When what was to be written could not be.
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
