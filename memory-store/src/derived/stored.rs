//! Derived files of a store, by whatever model: listed, checked and forgotten without a model.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use memory_core::{
    ConversationId, ModelId, NodeSet,
    port::{
        BoxFuture, Derived, DerivedError, DerivedFault, DerivedKind, DerivedSize, Forget, Forgotten, Holding, Holdings,
        TokenIndex, VectorError, VectorIndex,
    },
};
use memory_files::{Links, open_dir};

use super::{
    anchor::Anchor,
    disk, graph,
    kind::{Contents, Depth, Kind, Listed, Listing},
    tokens::{self, QuantizedTokens},
    turn::Turn,
    vectors::{self, AutoIndex},
};
use crate::{LogStore, log::Leaves};

/// Derived files of one kind in the cache of a store. [`DerivedBlocks`](crate::DerivedBlocks) are those of words.
///
/// Forgetting nodes rewrites their files without them: vectors and tokens leave an empty place, a graph is removed.
/// Forgetting a conversation removes its files. Both also remove files of no known conversation. Other processes may
/// read and write at the same time, taking turns to write. A crash leaves the old files or the new ones.
///
/// An open index of this process must be passed, because it holds data of its files in memory.
#[derive(Debug)]
pub struct DerivedFiles {
    kind: &'static Kind,
    cache: PathBuf,
    leaves: Leaves,
    writes: bool,
    open: OpenIndex,
}

/// Open index of this process over these files.
#[derive(Debug)]
enum OpenIndex {
    Nothing,
    Vectors(Arc<AutoIndex>),
    Graphs(Arc<AutoIndex>),
    Tokens(Arc<QuantizedTokens>),
}

impl DerivedFiles {
    fn new(store: &LogStore, kind: &'static Kind, open: OpenIndex) -> Self {
        Self { kind, cache: store.cache_dir(), leaves: store.leaves(), writes: store.may_write(), open }
    }

    /// The vectors of messages by all models.
    #[must_use]
    pub fn vectors(store: &LogStore, open: Option<Arc<AutoIndex>>) -> Self {
        Self::new(store, &vectors::KIND, open.map_or(OpenIndex::Nothing, OpenIndex::Vectors))
    }

    /// The graphs of vectors by all models.
    #[must_use]
    pub fn graphs(store: &LogStore, open: Option<Arc<AutoIndex>>) -> Self {
        Self::new(store, &graph::KIND, open.map_or(OpenIndex::Nothing, OpenIndex::Graphs))
    }

    /// The vectors of tokens by all models.
    #[must_use]
    pub fn tokens(store: &LogStore, open: Option<Arc<QuantizedTokens>>) -> Self {
        Self::new(store, &tokens::KIND, open.map_or(OpenIndex::Nothing, OpenIndex::Tokens))
    }

    fn dir(&self) -> PathBuf {
        self.cache.join(self.kind.directory)
    }

    fn list(&self) -> Result<Listing, DerivedError> {
        let listing = self.kind.list(&self.cache, self.leaves.named());
        listing.map_err(|source| DerivedError::io("list", self.dir().display(), source))
    }

    fn read(&self, listed: &Listed, depth: Depth) -> Result<Contents, DerivedError> {
        let contents = (self.kind.read)(listed, self.anchor(&listed.conversation), depth);
        contents.map_err(|source| DerivedError::io("read", listed.path().display(), source))
    }

    fn anchor(&self, conversation: &ConversationId) -> Anchor {
        Anchor::new(Some(&self.leaves), conversation)
    }

    fn list_holdings(&self) -> Result<Holdings, DerivedError> {
        let listing = self.list()?;
        let mut all: BTreeMap<ConversationId, Holding> = BTreeMap::new();
        let mut add = |conversation: &ConversationId, through: u64, size: DerivedSize| {
            let new = || Holding::new(conversation.clone(), 0, DerivedSize::default());
            let held = all.entry(conversation.clone()).or_insert_with(new);
            held.through = held.through.max(through);
            held.size = held.size.plus(size);
        };
        for listed in &listing.known {
            let Contents { through, count, .. } = self.read(listed, Depth::Headers)?;
            add(&listed.conversation, through, DerivedSize::default().count(count).disk(listed.bytes()));
        }
        for (conversation, through, bytes) in self.open.in_memory() {
            add(&conversation, through, DerivedSize::default().memory(bytes));
        }
        let strange = listing.strange.iter().filter_map(|path| path.symlink_metadata().ok()).map(|file| file.len());
        // Bytes of packs in addition to their current files.
        let packs = listing.packs.bytes().map_err(|source| DerivedError::io("list", self.dir().display(), source))?;
        let counting: u64 = listing.known.iter().map(Listed::packed_bytes).sum();
        let shared = strange.sum::<u64>() + packs.saturating_sub(counting);
        Ok(Holdings::new(all.into_values().collect(), DerivedSize::default().disk(shared)))
    }

    /// Removes the files that `which` accepts, and files of no known conversation.
    fn remove(&self, which: impl Fn(&Listed) -> bool) -> Result<(), DerivedError> {
        let listing = self.list()?;
        let is_any_strange = !listing.strange.is_empty() || !listing.strange_in_packs.is_empty();
        if !is_any_strange && !listing.known.iter().any(&which) {
            return Ok(());
        }
        let _turn = Turn::required(&self.dir())?;
        // Listed again under the turn, because another process may have finished a file meanwhile.
        let listing = self.list()?;
        let removed =
            |path: &Path| disk::remove(path).map_err(|source| DerivedError::io("remove", path.display(), source));
        let mut stems = listing.strange_in_packs;
        stems.extend(listing.known.iter().filter(|listed| which(listed)).map(|listed| listed.stem().to_owned()));
        // Loose files take precedence, so that no older data becomes visible between the two removals.
        let left = listing.packs.forget(|stem| stems.contains(stem));
        left.map_err(|source| DerivedError::io("write", self.dir().display(), source))?;
        listing.strange.iter().try_for_each(|path| removed(path))?;
        listing.known.iter().filter(|listed| which(listed)).flat_map(Listed::paths).try_for_each(|path| removed(&path))
    }

    fn forget_on_disk(&self, conversation: &ConversationId, nodes: Option<&NodeSet>) -> Result<(), DerivedError> {
        let is_theirs = |listed: &Listed| listed.conversation == *conversation;
        self.remove(|listed| nodes.is_none() && is_theirs(listed))?;
        if let Some(nodes) = nodes {
            let listing = self.list()?;
            listing
                .known
                .iter()
                .filter(|listed| is_theirs(listed))
                .try_for_each(|listed| self.forget_nodes(listed, nodes))?;
        }
        // Renames and removals must survive a power failure.
        match open_dir(&self.dir(), Links::Refuse).and_then(|dir| dir.sync_all()) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(DerivedError::io("sync", self.dir().display(), source))
            }
            _ => Ok(()),
        }
    }

    fn forget_nodes(&self, listed: &Listed, nodes: &NodeSet) -> Result<(), DerivedError> {
        let forgotten = (self.kind.forget)(listed, &self.anchor(&listed.conversation), nodes);
        let failed = |source| DerivedError::io("write", listed.path().display(), source);
        if forgotten.map_err(failed)? {
            // Files that were packed before this rewrite may still contain the nodes.
            let _turn = Turn::required(&self.dir())?;
            return listed.packs.forget_older(listed.stem()).map_err(failed);
        }
        // Files that cannot be rewritten without these nodes are removed and rebuilt from the log.
        self.remove(|other| other.path() == listed.path())
    }

    fn find_faults(&self) -> Result<Vec<DerivedFault>, DerivedError> {
        let listing = self.list()?;
        let strange = |path: &PathBuf| {
            let what = "its header is damaged, or of another store or version: it is not used, and may be deleted";
            DerivedFault::new(None, path.display().to_string(), what)
        };
        let mut faults: Vec<_> = listing.strange.iter().map(strange).collect();
        let damaged =
            listing.packs.damaged().map_err(|source| DerivedError::io("read", self.dir().display(), source))?;
        faults.extend(damaged.iter().map(|path| {
            let what = "it is not as it was written: what is damaged is derived again";
            DerivedFault::new(None, path.display().to_string(), what)
        }));
        for listed in &listing.known {
            if let Some(fault) = self.fault(listed)? {
                // Another process may have been writing it; check again under the turn.
                let _turn = if self.writes { Turn::required(&self.dir()).ok() } else { None };
                faults.extend(self.fault(listed)?.and(Some(fault)));
            }
        }
        Ok(faults)
    }

    fn fault(&self, listed: &Listed) -> Result<Option<DerivedFault>, DerivedError> {
        let all = listed.bytes();
        let Contents { through, bytes, .. } = self.read(listed, Depth::All)?;
        let place = listed.path().display().to_string();
        let what = || format!("{bytes} of {all} bytes are good, up to node {through}: the rest is derived again");
        Ok((bytes != all).then(|| DerivedFault::new(Some(listed.conversation.clone()), place, what())))
    }
}

impl OpenIndex {
    /// Unsaved data in memory: conversation, last node, and bytes.
    fn in_memory(&self) -> Vec<(ConversationId, u64, u64)> {
        let all = match self {
            Self::Nothing | Self::Graphs(_) => Vec::new(),
            Self::Vectors(index) => index.held_in_memory(),
            Self::Tokens(index) => index.held_in_memory(),
        };
        all.into_iter().filter(|(_, _, bytes)| *bytes > 0).collect()
    }

    /// Forgets data in memory, and in the files of the index's own model.
    async fn forget(&self, conversation: &ConversationId, nodes: Option<&NodeSet>) -> Result<(), VectorError> {
        match (self, nodes) {
            (Self::Nothing, _) => Ok(()),
            (Self::Graphs(index), _) => index.forget_graph(conversation),
            (Self::Vectors(index), None) => index.forget(conversation),
            (Self::Tokens(index), None) => index.forget(conversation),
            (Self::Vectors(index), Some(nodes)) => {
                index.remove(conversation, nodes).await?;
                index.flush().await
            }
            (Self::Tokens(index), Some(nodes)) => {
                index.remove(conversation, nodes).await?;
                index.flush().await
            }
        }
    }
}

impl Derived for DerivedFiles {
    fn kind(&self) -> DerivedKind {
        self.kind.kind
    }

    fn holdings(&self) -> BoxFuture<'_, Result<Holdings, DerivedError>> {
        Box::pin(async move { self.list_holdings() })
    }

    fn forget<'a>(&'a self, what: &'a Forget<'a>) -> BoxFuture<'a, Result<Forgotten, DerivedError>> {
        Box::pin(async move {
            if !self.writes {
                return Err(DerivedError::ReadOnly { place: self.dir().display().to_string() });
            }
            if what.nodes.is_some_and(NodeSet::is_empty) {
                return Ok(Forgotten::All);
            }
            self.open
                .forget(what.conversation, what.nodes)
                .await
                .map_err(|source| DerivedError::Backend { backend: "memory", source: source.into() })?;
            self.forget_on_disk(what.conversation, what.nodes)?;
            Ok(Forgotten::All)
        })
    }

    fn verify(&self) -> BoxFuture<'_, Result<Vec<DerivedFault>, DerivedError>> {
        Box::pin(async move { self.find_faults() })
    }
}

/// Removes the vectors, graphs and tokens of all models but `model` from the cache of `store`. Call it after everything
/// was embedded by another model. Embedding makes them again.
///
/// # Errors
/// When a directory cannot be listed, another process keeps the right to write to it, or a file cannot be removed;
/// files before that one are gone.
pub fn forget_other_models(store: &LogStore, model: &ModelId) -> Result<(), DerivedError> {
    let all =
        [DerivedFiles::vectors(store, None), DerivedFiles::graphs(store, None), DerivedFiles::tokens(store, None)];
    all.iter().try_for_each(|files| files.remove(|listed| listed.name != model.as_str()))
}

#[cfg(test)]
mod tests;
