//! Block files as derived data.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use memory_core::{
    ConversationId, NodeRange, NodeSet,
    port::{
        BlockBytes, BoxFuture, Derived, DerivedError, DerivedFault, DerivedKind, DerivedSize, Forget, Forgotten,
        Holding, Holdings,
    },
};
use memory_files::{Links, open_dir};

use super::{
    super::{disk, file::remove, turn::Turn},
    EXTENSION,
    block::StoredBlock,
};
use crate::{LogStore, log::Leaves};

const DIRECTORY: &str = "words";

/// Words of messages in the cache of a store, as derived data.
///
/// Only the producer knows the layout of a block. So forgetting nodes removes whole blocks that were derived from them,
/// including data of other conversations, and the words are derived again from the log. Unfinished files and files of
/// no known conversation are removed too.
#[derive(Debug)]
pub struct DerivedBlocks {
    dir: PathBuf,
    leaves: Leaves,
    writes: bool,
}

/// Files of the directory.
#[derive(Debug, Default)]
struct Listing {
    known: Vec<(PathBuf, StoredBlock)>,
    /// Unfinished or damaged files, and those of another store or version.
    strange: Vec<PathBuf>,
}

impl DerivedBlocks {
    /// Words in the cache of `store`.
    #[must_use]
    pub fn words(store: &LogStore) -> Self {
        Self { dir: store.cache_dir().join(DIRECTORY), leaves: store.leaves(), writes: store.may_write() }
    }

    fn list(&self) -> Result<Listing, DerivedError> {
        self.listing().map_err(|source| DerivedError::io("list", self.dir.display(), source))
    }

    fn listing(&self) -> io::Result<Listing> {
        let mut listing = Listing::default();
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(listing),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let path = entry?.path();
            let is_finished = path.extension() == Some(OsStr::new(EXTENSION));
            let opened = match disk::open(&path, &self.leaves.keys()) {
                Ok(file) if is_finished => StoredBlock::open(&file, self.leaves.store())?,
                Ok(_) => None,
                Err(error) if error.kind() == io::ErrorKind::InvalidData => None,
                // Another process has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            match opened {
                Some(block) => listing.known.push((path, block)),
                None => listing.strange.push(path),
            }
        }
        listing.known.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(listing)
    }

    fn list_holdings(&self) -> Result<Holdings, DerivedError> {
        let listing = self.list()?;
        let mut runs: BTreeMap<ConversationId, (BTreeSet<NodeRange>, DerivedSize)> = BTreeMap::new();
        for (_, block) in &listing.known {
            // Bytes of a block are attributed to its runs by their numbers of nodes; the last run gets the remainder.
            let nodes: u64 = block.runs.iter().map(|(_, run, _)| run.count()).sum();
            let (mut bytes, mut rest) = (block.body.file_bytes(), nodes);
            for run in block.runs(&self.leaves) {
                let share = u64::try_from(u128::from(bytes) * u128::from(run.nodes.count()) / u128::from(rest.max(1)));
                let share = share.unwrap_or(bytes);
                (bytes, rest) = (bytes - share, rest - run.nodes.count());
                let (known, size) = runs.entry(run.conversation).or_default();
                *size = size.plus(DerivedSize::default().count(1).disk(share));
                if run.is_current {
                    known.insert(run.nodes);
                }
            }
        }
        let through = |runs: &BTreeSet<NodeRange>| {
            let reach = |through: u64, run: &NodeRange| {
                if run.first().get() <= through + 1 { through.max(run.last().get()) } else { through }
            };
            runs.iter().fold(0, reach)
        };
        let holding = |(conversation, (runs, size))| Holding::new(conversation, through(&runs), size);
        let strange = listing.strange.iter().filter_map(|path| path.symlink_metadata().ok()).map(|file| file.len());
        Ok(Holdings::new(runs.into_iter().map(holding).collect(), DerivedSize::default().disk(strange.sum())))
    }

    fn forget_on_disk(&self, conversation: &ConversationId, nodes: Option<&NodeSet>) -> Result<(), DerivedError> {
        let is_theirs = |block: &StoredBlock| {
            let touches = |run: NodeRange| {
                let is_apart = |gone: &NodeRange| gone.last() < run.first() || gone.first() > run.last();
                nodes.is_none_or(|nodes| !nodes.runs().iter().all(is_apart))
            };
            block.runs.iter().any(|(of, run, _)| of == conversation && touches(*run))
        };
        let listing = self.list()?;
        if listing.strange.is_empty() && !listing.known.iter().any(|(_, block)| is_theirs(block)) {
            return Ok(());
        }
        let _turn = Turn::required(&self.dir)?;
        // Listed again under the turn, because another process may have finished a file meanwhile.
        let listing = self.list()?;
        let theirs = listing.known.iter().filter(|(_, block)| is_theirs(block)).map(|(path, _)| path);
        let removed =
            |path: &PathBuf| remove(path).map_err(|source| DerivedError::io("remove", path.display(), source));
        listing.strange.iter().chain(theirs).try_for_each(removed)?;
        // Removals must survive a power failure.
        let synced = open_dir(&self.dir, Links::Refuse).and_then(|dir| dir.sync_all());
        synced.map_err(|source| DerivedError::io("sync", self.dir.display(), source))
    }

    fn find_faults(&self) -> Result<Vec<DerivedFault>, DerivedError> {
        // A file that another process is writing is not a fault, so the turn is taken first.
        let _turn = if self.writes && self.dir.exists() { Turn::required(&self.dir).ok() } else { None };
        let listing = self.list()?;
        let strange = listing.strange.iter().map(|path| strange(path));
        let damaged = |(path, block): &(PathBuf, StoredBlock)| {
            let what = || "its contents are damaged: it is derived again, and may be deleted".to_owned();
            block.body.get().is_none().then(|| DerivedFault::new(None, path.display().to_string(), what()))
        };
        Ok(strange.chain(listing.known.iter().filter_map(damaged)).collect())
    }
}

fn strange(path: &Path) -> DerivedFault {
    let what = "it is unfinished, damaged, or of another store or version: it is not used, and may be deleted";
    DerivedFault::new(None, path.display().to_string(), what)
}

impl Derived for DerivedBlocks {
    fn kind(&self) -> DerivedKind {
        DerivedKind::Words
    }

    fn holdings(&self) -> BoxFuture<'_, Result<Holdings, DerivedError>> {
        Box::pin(async move { self.list_holdings() })
    }

    fn forget<'a>(&'a self, what: &'a Forget<'a>) -> BoxFuture<'a, Result<Forgotten, DerivedError>> {
        Box::pin(async move {
            if !self.writes {
                return Err(DerivedError::ReadOnly { place: self.dir.display().to_string() });
            }
            if what.nodes.is_none_or(|nodes| !nodes.is_empty()) {
                self.forget_on_disk(what.conversation, what.nodes)?;
            }
            Ok(Forgotten::All)
        })
    }

    fn verify(&self) -> BoxFuture<'_, Result<Vec<DerivedFault>, DerivedError>> {
        Box::pin(async move { self.find_faults() })
    }
}
