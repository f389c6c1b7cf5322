//! Files of blocks of words, or of any other data that search derives from conversations.

mod block;
mod stored;

use std::{
    collections::HashMap,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use memory_core::{
    Hash,
    port::{Block, BlockCache, BlockCacheError, BlockId, BlockKey, BlockRun, BoxFuture},
};

use self::block::StoredBlock;
pub use self::stored::DerivedBlocks;
use super::{disk, file::remove, file::temporary, turn::Turn};
use crate::{LogStore, log::Leaves};

/// The extension of the files.
const EXTENSION: &str = "blocks";

/// Keeps each block in a mapped file under `cache/KIND`.
///
/// ```
/// use memory_core::{port::{BlockCache, BlockKey, BlockRun, Store}, ConversationId, Message, NodeDraft, NodeRange, Timestamp};
/// use memory_store::{BlockFiles, LogStore};
///
/// # pollster::block_on(async {
/// # let dir = tempfile::tempdir()?;
/// let store = LogStore::open(dir.path())?;
/// let talk = ConversationId::new("talk")?;
/// store.append(&talk, vec![NodeDraft::new(Message::user("Hi."), Timestamp::from_millis(0), 2)]).await?;
///
/// let cache = BlockFiles::beside(&store);
/// let key = BlockKey { kind: "letters", version: 1 };
/// let run = BlockRun::new(talk, NodeRange::first_n(1).unwrap());
/// assert!(cache.write(key, &[run.clone()], b"Hi", &[]).await?);
/// let blocks = cache.blocks(key).await;
/// assert_eq!((blocks[0].runs.as_slice(), blocks[0].bytes()), ([run].as_slice(), Some(b"Hi".as_slice())));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct BlockFiles {
    dir: PathBuf,
    leaves: Leaves,
    writes: bool,
    open: Mutex<HashMap<PathBuf, OpenedBlock>>,
}

/// An opened file; `None` if it is not a block of this store.
type OpenedBlock = Option<(StoredBlock, Arc<Block>)>;

impl BlockFiles {
    /// The files next to the log of `store`. Writes nothing if `store` is read-only.
    #[must_use]
    pub fn beside(store: &LogStore) -> Self {
        Self { dir: store.cache_dir(), leaves: store.leaves(), writes: store.may_write(), open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<PathBuf, OpenedBlock>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Current blocks of a kind and version.
    fn list(&self, key: BlockKey) -> io::Result<Vec<Arc<Block>>> {
        let dir = self.dir.join(key.kind);
        let paths = paths(&dir)?;
        let mut open = self.open();
        open.retain(|path, _| !path.starts_with(&dir) || paths.contains(path));
        let mut blocks = Vec::new();
        for path in paths {
            let opened = match open.remove(&path) {
                Some(opened) => opened,
                None => match self.opened(&path) {
                    Ok(opened) => opened,
                    // Another process has removed the file, or descriptors or memory are short; a later call tries
                    // again.
                    Err(error) => {
                        tracing::debug!(path = %path.display(), %error, "a block cannot be opened");
                        continue;
                    }
                },
            };
            let opened = opened.map(|(stored, block)| {
                // The log may have received these nodes since.
                let is_current = block.runs.iter().all(|run| run.is_current);
                let block = if is_current { block } else { self.block(&path, &stored) };
                (stored, block)
            });
            let is_asked = |stored: &StoredBlock| (stored.kind.as_str(), stored.version) == (key.kind, key.version);
            blocks.extend(opened.iter().filter(|(stored, _)| is_asked(stored)).map(|(_, block)| Arc::clone(block)));
            open.insert(path, opened);
        }
        Ok(blocks)
    }

    fn opened(&self, path: &Path) -> io::Result<OpenedBlock> {
        let stored = StoredBlock::open(&disk::open(path, &self.leaves.keys())?, self.leaves.store())?;
        Ok(stored.map(|stored| {
            let block = self.block(path, &stored);
            (stored, block)
        }))
    }

    fn block(&self, path: &Path, stored: &StoredBlock) -> Arc<Block> {
        let id = BlockId::new(&path.file_stem().unwrap_or_default().to_string_lossy());
        Arc::new(Block::new(id, stored.runs(&self.leaves), stored.body.clone()))
    }

    /// Writes the file of a block; removes those of replaced blocks, and files that are not blocks of this store.
    ///
    /// Nothing is synced: a checksum detects what a power failure destroyed, and deriving it again is faster than
    /// syncing.
    fn write_file(&self, key: BlockKey, runs: &[BlockRun], bytes: &[u8], replaced: &[BlockId]) -> io::Result<bool> {
        let dir = self.dir.join(key.kind);
        let Some(_turn) = Turn::wait(&dir)? else { return Ok(false) };
        let runs = block::runs_bytes(runs, &self.leaves);
        let id = Hash::of_parts([key.kind.as_bytes(), &key.version.to_le_bytes(), &runs, bytes]).to_string();
        let path = path(&dir, &id);
        let file = disk::create(&temporary(&path), &self.leaves.keys())?;
        block::write(&file, (self.leaves.store(), key.kind, key.version), &runs, bytes)?;
        fs::rename(temporary(&path), &path)?;
        for gone in replaced.iter().filter(|gone| gone.as_str() != id) {
            remove(&self::path(&dir, gone.as_str()))?;
        }
        self.list(key)?;
        let strange: Vec<PathBuf> = self
            .open()
            .iter()
            .filter(|(path, open)| open.is_none() && path.starts_with(&dir))
            .map(|(path, _)| path.clone())
            .collect();
        strange.iter().try_for_each(|path| remove(path))?;
        Ok(true)
    }
}

/// Path of the file of a block.
fn path(dir: &Path, id: &str) -> PathBuf {
    dir.join(id).with_extension(EXTENSION)
}

/// Paths of the complete block files in a directory.
fn paths(dir: &Path) -> io::Result<std::collections::HashSet<PathBuf>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Default::default()),
        Err(error) => return Err(error),
    };
    let has_extension = |name: &OsString| Path::new(name).extension().is_some_and(|extension| extension == EXTENSION);
    let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
    names.filter(|name| name.as_ref().map_or(true, has_extension)).map(|name| Ok(dir.join(name?))).collect()
}

impl BlockCache for BlockFiles {
    fn blocks(&self, key: BlockKey) -> BoxFuture<'_, Vec<Arc<Block>>> {
        Box::pin(async move {
            self.list(key).unwrap_or_else(|error| {
                tracing::warn!(dir = %self.dir.join(key.kind).display(), %error, "a cache cannot be read: deriving it again");
                Vec::new()
            })
        })
    }

    fn write<'a>(
        &'a self,
        key: BlockKey,
        runs: &'a [BlockRun],
        bytes: &'a [u8],
        replaced: &'a [BlockId],
    ) -> BoxFuture<'a, Result<bool, BlockCacheError>> {
        Box::pin(async move {
            let written = if self.writes { self.write_file(key, runs, bytes, replaced) } else { Ok(false) };
            written.map_err(|source| BlockCacheError::Io { path: self.dir.join(key.kind), source })
        })
    }
}

#[cfg(test)]
mod tests;
