//! Graphs of an index: building, saving and loading.

use std::{
    collections::HashMap,
    fs, io,
    num::NonZero,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, RwLock, RwLockWriteGuard, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use memory_core::{
    ConversationId, Hash, NodeRange,
    port::{Progress, VectorError, VectorIndex},
};
use memory_files::seal::KeySet;

use super::super::{
    super::{
        cached::Data,
        disk,
        file::temporary,
        graph::{Codes, Graph, GraphBinding, GraphOptions},
        header::file_name,
        map::FileMap,
        parallel::cores,
        turn::Turn,
    },
    exact::ExactIndex,
    rows::Rows,
};

/// Vectors that are linked under one lock, during which inserts to the conversation wait: a few hundredths of a second.
const STEP: usize = 512;
/// A graph that is built in the background is saved once an eighth of it is new, so that a conversation that grows by
/// single messages does not write its graph each time.
const NEWS_IN_BACKGROUND: usize = 8;

/// Graphs of conversations that are large enough.
#[derive(Debug)]
pub(super) struct Graphs {
    /// Index of the vectors; does not keep it alive.
    exact: Weak<ExactIndex>,
    options: GraphOptions,
    entries: Mutex<HashMap<ConversationId, Arc<Entry>>>,
}

/// Graph of a conversation.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) built: RwLock<Built>,
    /// Held during building.
    building: Mutex<()>,
    in_background: AtomicBool,
}

/// A graph, with the rows that it belongs to.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) graph: Graph,
    /// [`Rows::id`] of those rows.
    rows: u64,
    /// Number of rows in the saved file.
    saved: usize,
}

impl Built {
    /// Number of linked rows among these.
    pub(super) fn of(&self, rows: &Rows) -> usize {
        if self.rows == rows.id() { self.graph.len().min(rows.first_block().0) } else { 0 }
    }
}

impl Graphs {
    pub(super) fn new(exact: &Arc<ExactIndex>, options: GraphOptions) -> Self {
        Self { exact: Arc::downgrade(exact), options, entries: Mutex::default() }
    }

    pub(super) fn entry(&self, conversation: &ConversationId) -> Arc<Entry> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            let built = RwLock::new(Built { graph: Graph::new(self.options), rows: 0, saved: 0 });
            Arc::new(Entry { built, building: Mutex::default(), in_background: AtomicBool::new(false) })
        };
        Arc::clone(entries.entry(conversation.clone()).or_insert_with(new))
    }

    pub(super) fn forget(&self, exact: &ExactIndex, conversation: &ConversationId) -> Result<(), VectorError> {
        let entry = self.entry(conversation);
        // Waits for a running build or save.
        let _turn = entry.building.lock().unwrap_or_else(PoisonError::into_inner);
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).remove(conversation);
        let Some(path) = Self::path(exact, conversation) else { return Ok(()) };
        disk::remove(&path).map_err(|source| VectorError::Io { path, source })
    }

    /// Links the missing rows of a graph on a background thread, unless one is already running.
    pub(super) fn build_in_background(self: &Arc<Self>, conversation: &ConversationId) {
        let entry = self.entry(conversation);
        if entry.in_background.swap(true, Ordering::AcqRel) {
            return;
        }
        let (graphs, conversation, of_thread) = (Arc::downgrade(self), conversation.clone(), Arc::clone(&entry));
        // Leaves the other cores to callers that wait for an answer.
        let threads = NonZero::new(cores().get() / 2).unwrap_or(NonZero::<usize>::MIN);
        let build = move || {
            // Upgraded for one step at a time, so that the builder does not keep a dropped index alive.
            while let Some(graphs) = graphs.upgrade()
                && let Some(exact) = graphs.exact.upgrade()
            {
                let (linked, rows) = graphs.step(&exact, &conversation, threads);
                tracing::debug!(%conversation, linked, rows, "building a graph of vectors");
                if linked >= rows {
                    graphs.save(&exact, &conversation, NEWS_IN_BACKGROUND);
                    break;
                }
            }
            of_thread.in_background.store(false, Ordering::Release);
        };
        if let Err(error) = thread::Builder::new().name("memory-graph".to_owned()).spawn(build) {
            tracing::warn!(%error, "no thread for building a graph of vectors");
            entry.in_background.store(false, Ordering::Release);
        }
    }

    /// Links the missing rows of a graph on all cores, because a caller waits. Returns its number of rows.
    pub(super) fn build(&self, exact: &ExactIndex, conversation: &ConversationId, progress: &dyn Progress) -> usize {
        loop {
            let (linked, rows) = self.step(exact, conversation, cores());
            progress.report(linked as u64, rows as u64);
            if linked >= rows {
                self.save(exact, conversation, 0);
                return linked;
            }
        }
    }

    /// Number of linked rows, in memory or in the file, and of all rows.
    pub(super) fn linked(&self, exact: &ExactIndex, conversation: &ConversationId) -> (usize, usize) {
        let entry = self.entry(conversation);
        let _turn = entry.building.lock().unwrap_or_else(PoisonError::into_inner);
        exact.cache.reading(conversation, |held| {
            (self.of_rows(&entry, exact, conversation, &held.data).graph.len(), held.data.first_block().0)
        })
    }

    /// Loads the graph of these rows from its file, unless it is loaded or being built, since an answer must not wait
    /// for that.
    pub(super) fn load_once(&self, entry: &Entry, exact: &ExactIndex, conversation: &ConversationId, rows: &Rows) {
        let is_known = || entry.built.read().unwrap_or_else(PoisonError::into_inner).rows == rows.id();
        if !is_known()
            && let Ok(_turn) = entry.building.try_lock()
        {
            drop(self.of_rows(entry, exact, conversation, rows));
        }
    }

    /// Graph of these rows; loaded from its file if the one in memory belongs to other rows. Only for the builder.
    fn of_rows<'e>(
        &self,
        entry: &'e Entry,
        exact: &ExactIndex,
        conversation: &ConversationId,
        rows: &Rows,
    ) -> RwLockWriteGuard<'e, Built> {
        let mut built = entry.built.write().unwrap_or_else(PoisonError::into_inner);
        if built.rows != rows.id() {
            let graph = self.load(exact, conversation, rows).unwrap_or_else(|| Graph::new(self.options));
            *built = Built { saved: graph.len(), graph, rows: rows.id() };
        }
        built
    }

    /// Links the next step of rows; returns the number of linked rows and of all rows.
    fn step(&self, exact: &ExactIndex, conversation: &ConversationId, threads: NonZero<usize>) -> (usize, usize) {
        let entry = self.entry(conversation);
        let _turn = entry.building.lock().unwrap_or_else(PoisonError::into_inner);
        exact.cache.reading(conversation, |held| {
            let rows = &held.data;
            let (count, codes) = rows.first_block();
            let mut built = self.of_rows(&entry, exact, conversation, rows);
            let linked = built.graph.len();
            // Steps end at fixed rows, so that the graph does not depend on when it was built.
            let end = ((linked / STEP + 1) * STEP).min(count);
            if linked < end {
                built.graph.grow(count);
            }
            drop(built);
            if let Some(codes) = codes.get(..end * rows.dimensions()).filter(|_| linked < end) {
                let built = entry.built.read().unwrap_or_else(PoisonError::into_inner);
                built.graph.link(&Codes::new(rows.dimensions(), codes, rows.scales()), threads);
            }
            (end.max(linked), count)
        })
    }

    fn path(exact: &ExactIndex, conversation: &ConversationId) -> Option<PathBuf> {
        let name = file_name(conversation.as_str(), exact.model().as_str());
        Some(exact.cache.dir()?.join("graphs").join(name).with_extension("hnsw"))
    }

    /// Binding of a graph of the rows up to node `through`: the slots of the rows, and the leaf of the node in the log.
    /// The leaf is salted, so a log that was restored to an earlier state has no equal one. Vectors are not hashed,
    /// because the graph stays valid when a removed vector is gone from the disk.
    fn binding(exact: &ExactIndex, conversation: &ConversationId, rows: &Rows, through: u64) -> Option<GraphBinding> {
        let anchor = exact.cache.anchor(conversation);
        let leaf = anchor.leaf(through)?;
        let first = rows.rows_of(NodeRange::first_n(through)).end;
        let mut slots = Vec::with_capacity(first * 12);
        for slot in rows.slots().iter().take(first) {
            slots.extend_from_slice(&slot.node.get().to_le_bytes());
            slots.extend_from_slice(&slot.chunk.to_le_bytes());
        }
        Some(GraphBinding {
            store: anchor.store(),
            conversation: conversation.as_str().to_owned(),
            model: exact.model().as_str().to_owned(),
            dimensions: u32::try_from(exact.dimensions()).unwrap_or(u32::MAX),
            through,
            leaf: *leaf.as_bytes(),
            rows: *Hash::of_parts([slots.as_slice()]).as_bytes(),
        })
    }

    /// The saved graph, if it belongs to these rows or the first of them.
    fn load(&self, exact: &ExactIndex, conversation: &ConversationId, rows: &Rows) -> Option<Graph> {
        let path = Self::path(exact, conversation)?;
        let image = Arc::new(disk::open(&path, &exact.cache.keys()).and_then(|file| FileMap::of(&file)).ok()?);
        let through = GraphBinding::of_file((*image).as_ref())?.through;
        let binding = Self::binding(exact, conversation, rows, through.min(rows.through()))?;
        match Graph::decode(image, &binding, self.options) {
            Ok(graph) if graph.len() <= rows.first_block().0 => Some(graph),
            Ok(_) => None,
            Err(why) => {
                tracing::info!(path = %path.display(), %why, "a graph of vectors is set aside and rebuilt");
                None
            }
        }
    }

    /// Saves a graph of rows that are on disk, if more than one in `news_in` of its rows is not in the file; with 0, if
    /// any is not.
    fn save(&self, exact: &ExactIndex, conversation: &ConversationId, news_in: usize) {
        let Some(path) = Self::path(exact, conversation).filter(|_| exact.cache.writes) else { return };
        let entry = self.entry(conversation);
        let _turn = entry.building.lock().unwrap_or_else(PoisonError::into_inner);
        let encoded = exact.cache.reading(conversation, |held| {
            let built = entry.built.read().unwrap_or_else(PoisonError::into_inner);
            let (rows, linked) = (&held.data, built.of(&held.data));
            let is_news = linked.saturating_sub(built.saved) > linked.checked_div(news_in).unwrap_or(0);
            let last = rows.slots().get(linked.checked_sub(1)?)?.node.get();
            // A node of which only some chunks are linked cannot be the last one of a file.
            let is_whole = rows.rows_of(NodeRange::first_n(last)).end == linked;
            if !is_news || !is_whole || linked > rows.on_disk() {
                return None;
            }
            Some((linked, built.graph.encode(&Self::binding(exact, conversation, rows, last)?)))
        });
        let Some((linked, bytes)) = encoded else { return };
        match write(&path, &exact.cache.keys(), &bytes) {
            Ok(()) => entry.built.write().unwrap_or_else(PoisonError::into_inner).saved = linked,
            Err(error) => tracing::warn!(path = %path.display(), %error, "a graph of vectors cannot be kept"),
        }
    }
}

fn write(path: &Path, keys: &KeySet, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary(path);
    let Some(_turn) = Turn::wait(path.parent().unwrap_or(Path::new(".")))? else {
        return Err(io::Error::new(io::ErrorKind::WouldBlock, "another process is writing graphs"));
    };
    disk::create(&temporary, keys)?.write_all_at(bytes, 0)?;
    fs::rename(&temporary, path)
}
