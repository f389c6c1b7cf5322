//! Data of conversations in memory, each with its cache files: the common part of the indexes of vectors and tokens.

use std::{fmt, io, path::Path, sync::Arc};

use memory_core::{
    ConversationId, ModelId,
    port::{CachedInMemory, DerivedKind, VectorError},
};
use memory_files::seal::KeySet;

use super::{
    anchor::Anchor,
    conversations::{Conversations, Loaded},
    file::BlockFile,
    packs::Packs,
};
use crate::{LogStore, log::Leaves};

/// Default limit on bytes of the heap: enough for a million vectors, whose rows are mapped and do not count.
const MEMORY: usize = 64 << 20;

/// Data of a conversation.
pub(super) trait Data {
    /// Bytes on the heap, without mapped rows.
    fn heap(&self) -> usize;

    /// Last node.
    fn through(&self) -> u64;

    /// Bytes of unsaved rows.
    fn bytes_in_memory(&self) -> u64;

    /// Makes data without a file smaller, if that is worthwhile.
    fn compact(&mut self) {}
}

/// Cache files of a conversation's data.
pub(super) trait CacheFile: fmt::Debug + Sized {
    type Data: Data + fmt::Debug;
    /// The number or quantization of components.
    type Shape: fmt::Debug;

    const KIND: DerivedKind;
    /// Directory in the cache of a store.
    const DIRECTORY: &'static str;
    const EXTENSIONS: &'static [&'static str];

    /// The files of a conversation and `model`, loose or in `packs`, unread.
    fn new(packs: &Arc<Packs>, anchor: Anchor, model: &ModelId, shape: &Self::Shape) -> Self;

    /// Data of no node.
    fn empty(shape: &Self::Shape) -> Self::Data;

    /// Reads the valid part of the files: undamaged, and derived from the log of the anchor. The next [`Self::save`]
    /// overwrites the rest, which is not an error.
    ///
    /// # Errors
    /// If the files cannot be checked, for example for lack of descriptors or memory. They count as missing until they
    /// can be read.
    fn try_read(&mut self) -> io::Result<Self::Data>;

    /// Rereads files that another process has changed. Unsaved data stays, unless nodes before it are gone.
    ///
    /// # Errors
    /// If the files cannot be read; `data` is then unchanged.
    fn refresh(&mut self, data: &mut Self::Data) -> io::Result<()>;

    /// True if the files lack changes in memory.
    fn owes(&self, data: &Self::Data) -> bool;

    /// Writes unsaved data, and destroys removed data on disk. If another process has written further, loads its data.
    ///
    /// Writes nothing while another process is writing; the next call does. Never writes past the last node that the
    /// log can read, because such data could not be matched to a log later.
    ///
    /// # Errors
    /// If the files cannot be read or written; the unsaved data stays unsaved.
    fn save(&mut self, data: &mut Self::Data) -> io::Result<()>;

    /// Removes the files; the next [`Self::save`] rebuilds them.
    fn remove(&mut self) -> io::Result<()>;

    /// The file with the blocks.
    fn blocks(&self) -> &BlockFile;

    fn error(&self, source: io::Error) -> VectorError {
        VectorError::Io { path: self.blocks().path().to_owned(), source }
    }
}

/// Data of a conversation in memory, with its files.
#[derive(Debug)]
pub(super) struct Cached<F: CacheFile> {
    pub(super) data: F::Data,
    pub(super) file: Option<F>,
}

/// Data of all conversations, loaded on demand.
#[derive(Debug)]
pub(super) struct CachedConversations<F: CacheFile> {
    pub(super) model: ModelId,
    pub(super) shape: F::Shape,
    /// Directory of the files, with its packs.
    packs: Option<Arc<Packs>>,
    /// Leaves of the log, to which the files are bound.
    leaves: Option<Leaves>,
    /// True if a flush writes to disk.
    pub(super) writes: bool,
    conversations: Conversations<Cached<F>>,
}

impl<F: CacheFile> CachedConversations<F> {
    /// Data only in memory.
    pub(super) fn in_memory(model: ModelId, shape: F::Shape) -> Self {
        Self { model, shape, packs: None, leaves: None, writes: false, conversations: Conversations::new(MEMORY) }
    }

    /// Data with files in the cache of `store`, bound to its log.
    pub(super) fn beside(store: &LogStore, model: ModelId, shape: F::Shape) -> Self {
        let packs = Packs::new(&store.cache_dir().join(F::DIRECTORY), store.leaves().named(), F::EXTENSIONS);
        let (leaves, writes) = (Some(store.leaves()), store.may_write());
        Self { packs: Some(packs), leaves, writes, ..Self::in_memory(model, shape) }
    }

    /// Keys of the files.
    pub(super) fn keys(&self) -> KeySet {
        self.leaves.as_ref().map(Leaves::keys).unwrap_or_default()
    }

    /// Data with files in `dir`, not bound to a log.
    pub(super) fn open(dir: &Path, writes: bool, model: ModelId, shape: F::Shape) -> Self {
        let packs = Packs::new(dir, ([0; 16], KeySet::default()), F::EXTENSIONS);
        Self { packs: Some(packs), writes, ..Self::in_memory(model, shape) }
    }

    pub(super) fn hold_at_most(&mut self, bytes: usize) {
        self.conversations.limit_to(bytes);
    }

    pub(super) fn dir(&self) -> Option<&Path> {
        self.packs.as_ref().map(|packs| packs.dir())
    }

    /// Binding of a conversation's data to the log.
    pub(super) fn anchor(&self, conversation: &ConversationId) -> Anchor {
        Anchor::new(self.leaves.as_ref(), conversation)
    }

    pub(super) fn reading<T>(&self, conversation: &ConversationId, act: impl FnOnce(&Cached<F>) -> T) -> T {
        self.conversations.read(conversation, || self.load(conversation), act)
    }

    pub(super) fn writing<T>(&self, conversation: &ConversationId, act: impl FnOnce(&mut Cached<F>) -> T) -> T {
        self.conversations.write(conversation, || self.load(conversation), act)
    }

    /// Reads the data of several conversations, which must be distinct.
    pub(super) fn reading_all<T>(&self, ids: &[&ConversationId], act: impl FnOnce(&[&Cached<F>]) -> T) -> T
    where
        Self: Sync,
        Cached<F>: Send + Sync,
    {
        self.conversations.read_all(ids, |conversation| self.load(conversation), act)
    }

    fn load(&self, conversation: &ConversationId) -> Cached<F> {
        let Some(packs) = &self.packs else { return Cached { data: F::empty(&self.shape), file: None } };
        let mut file = F::new(packs, self.anchor(conversation), &self.model, &self.shape);
        let data = file.try_read().unwrap_or_else(|error| {
            let path = file.blocks().path().display();
            tracing::warn!(%path, %error, "a derived file cannot be read: it is left alone");
            F::empty(&self.shape)
        });
        Cached { data, file: Some(file) }
    }

    /// Forgets a conversation's data, in memory and on disk.
    ///
    /// # Errors
    /// If a file cannot be removed; the data in memory is gone nevertheless.
    pub(super) fn forget(&self, conversation: &ConversationId) -> Result<(), VectorError> {
        self.writing(conversation, |cached| {
            cached.data = F::empty(&self.shape);
            let Some(file) = &mut cached.file else { return Ok(()) };
            file.remove().map_err(|source| file.error(source))
        })
    }

    pub(super) fn flush(&self) -> Result<(), VectorError> {
        if self.packs.is_some() && !self.writes {
            return Ok(());
        }
        self.conversations.flush(|Cached { data, file }| match file {
            Some(file) => file.save(data).map_err(|source| file.error(source)),
            None => {
                data.compact();
                Ok(())
            }
        })?;
        self.packs.as_deref().is_some_and(Packs::tidy).then(|| self.conversations.drop_outdated());
        Ok(())
    }

    /// Loaded conversations, each with its last node and the bytes of unsaved rows.
    pub(super) fn unsaved(&self) -> Vec<(ConversationId, u64, u64)> {
        self.conversations
            .look_at_loaded(|id, cached| (id.clone(), cached.data.through(), cached.data.bytes_in_memory()))
    }

    pub(super) fn held(&self) -> Vec<CachedInMemory> {
        vec![self.conversations.held(F::KIND)]
    }
}

impl<F: CacheFile> Loaded for Cached<F> {
    fn heap(&self) -> usize {
        self.data.heap() + self.file.as_ref().map_or(0, |file| size_of::<F>() + file.blocks().heap())
    }

    fn is_saved(&self) -> bool {
        self.file.as_ref().map_or(self.data.through() == 0, |file| !file.owes(&self.data))
    }

    fn is_outdated(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.blocks().is_outdated())
    }

    fn refresh(&mut self) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.refresh(&mut self.data) {
            tracing::warn!(path = %file.blocks().path().display(), %error, "a derived file cannot be read again");
        }
    }
}
