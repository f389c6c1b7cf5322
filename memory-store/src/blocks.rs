//! Files of blocks: what was derived from conversations, beside the log that it was derived from.

mod file;

use std::path::PathBuf;

use memory_core::{Block, BlockCache, BlockCacheError, BlockKey, BoxFuture, Hash};

use self::file::BlockFile;
use crate::{LogStore, log::Leaves};

pub(crate) use file::FORMAT;

/// Keeps blocks in files under `cache/KIND`, one for each conversation.
///
/// ```
/// use memory_core::{Block, BlockCache, BlockKey, ConversationId, Message, NodeDraft, NodeRange, Store, Timestamp};
/// use memory_store::{BlockFiles, LogStore};
///
/// # pollster::block_on(async {
/// # let dir = tempfile::tempdir()?;
/// let store = LogStore::open(dir.path())?;
/// let talk = ConversationId::new("talk")?;
/// store.append(&talk, vec![NodeDraft::new(Message::user("Hi."), Timestamp::from_millis(0), 2)]).await?;
///
/// let cache = BlockFiles::beside(&store);
/// let key = BlockKey { kind: "letters", version: 1, conversation: &talk };
/// let block = Block { nodes: NodeRange::first_n(1).unwrap(), bytes: b"Hi"[..].into() };
/// assert!(cache.write(key, &block).await?);
/// assert_eq!(cache.read(key).await, [block]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct BlockFiles {
    dir: PathBuf,
    leaves: Leaves,
    writes: bool,
}

impl BlockFiles {
    /// The files beside the log of `store`; nothing is written where `store` takes no writes.
    #[must_use]
    pub fn beside(store: &LogStore) -> Self {
        Self { dir: store.cache_dir(), leaves: store.leaves(), writes: store.may_write() }
    }

    fn file<'a>(&'a self, key: &BlockKey<'a>) -> BlockFile<'a> {
        let name = Hash::of_parts([key.kind.as_bytes(), key.conversation.as_str().as_bytes()]).to_string();
        BlockFile::new(self.dir.join(key.kind).join(name).with_extension("blocks"), &self.leaves, key)
    }
}

impl BlockCache for BlockFiles {
    fn read<'a>(&'a self, key: BlockKey<'a>) -> BoxFuture<'a, Vec<Block>> {
        Box::pin(async move { self.file(&key).read() })
    }

    fn write<'a>(&'a self, key: BlockKey<'a>, block: &'a Block) -> BoxFuture<'a, Result<bool, BlockCacheError>> {
        Box::pin(async move {
            let file = self.file(&key);
            if !self.writes {
                return Ok(false);
            }
            file.write(block).map_err(|source| BlockCacheError::Io { path: file.path().to_owned(), source })
        })
    }
}

#[cfg(test)]
mod tests;
