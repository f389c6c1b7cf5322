//! Files of blocks of words, and of anything else that search derives from conversations.

mod stored;

use std::{io, path::PathBuf};

use memory_core::{Block, BlockCache, BlockCacheError, BlockKey, BoxFuture, Hash, NodeId, NodeRange};

use super::{
    anchor::Anchor,
    block::BlockHeader,
    file::{BlockFile, NewBlock},
    header::WORDS,
};
use crate::{LogStore, log::Leaves};

pub(super) use stored::KIND;

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
/// let block = Block::new(NodeRange::first_n(1).unwrap(), *b"Hi");
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

    fn file(&self, key: &BlockKey<'_>) -> BlockFile {
        let name = stem(key.kind, key.conversation.as_str());
        let path = self.dir.join(key.kind).join(name).with_extension("blocks");
        let anchor = Anchor::new(Some(&self.leaves), key.conversation);
        BlockFile::new(path, anchor, WORDS, &key.version.to_le_bytes(), [key.kind, key.conversation.as_str()])
    }
}

/// The stem of the file of a kind of blocks and a conversation.
fn stem(kind: &str, conversation: &str) -> String {
    Hash::of_parts([kind.as_bytes(), conversation.as_bytes()]).to_string()
}

/// The nodes that a block covers.
fn nodes(header: &BlockHeader) -> Option<NodeRange> {
    NodeRange::new(NodeId::new(header.first)?, NodeId::new(header.last)?)
}

/// The blocks before the first bad one.
fn read(mut file: BlockFile) -> Vec<Block> {
    let mut blocks = Vec::new();
    let read = file.read(|header, body| {
        let Some(nodes) = nodes(header) else { return false };
        blocks.push(Block::new(nodes, body));
        true
    });
    match read {
        Ok(_) => blocks,
        Err(error) => {
            tracing::warn!(path = %file.path().display(), %error, "a cache cannot be read: deriving it again");
            Vec::new()
        }
    }
}

/// Adds a block after those that end before it; `false` where it does not fit.
///
/// Nothing is synced: a checksum shows what a power failure destroyed, and deriving it again is faster than syncing.
fn write(file: &mut BlockFile, block: &Block) -> io::Result<bool> {
    let (first, last) = (block.nodes.first().get(), block.nodes.last().get());
    let Some(leaf) = file.anchor().leaf(last) else { return Ok(false) };
    let Some(_turn) = file.turn()? else { return Ok(false) };
    file.read(|_, _| true)?;
    let before = file.blocks().iter().take_while(|placed| placed.header.last < first);
    let kept = before.clone().count();
    let reaches_the_block = before.last().map_or(0, |placed| placed.header.last) + 1 == first;
    if !reaches_the_block || file.through() >= last {
        return Ok(false);
    }
    file.drop_blocks(kept);
    file.put(NewBlock::new((first, last), leaf, &block.bytes, &[], 0))?;
    Ok(true)
}

impl BlockCache for BlockFiles {
    fn read<'a>(&'a self, key: BlockKey<'a>) -> BoxFuture<'a, Vec<Block>> {
        Box::pin(async move { read(self.file(&key)) })
    }

    fn write<'a>(&'a self, key: BlockKey<'a>, block: &'a Block) -> BoxFuture<'a, Result<bool, BlockCacheError>> {
        Box::pin(async move {
            if !self.writes {
                return Ok(false);
            }
            let mut file = self.file(&key);
            write(&mut file, block).map_err(|source| BlockCacheError::Io { path: file.path().to_owned(), source })
        })
    }
}

#[cfg(test)]
mod tests;
