//! The log as a store.

mod ports;
mod upkeep;

use std::{
    collections::BTreeSet,
    future::poll_fn,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, Weak},
    thread::{self, JoinHandle},
};

use futures_channel::oneshot;
use memory_core::{
    ConversationId, Hash, Node, NodeDraft, NodeId, NodeRange, Summary, SummaryId, port::StoreError, proof::Salt,
};
use memory_files::seal::KeySet;

use super::{
    failure::{fill_random, io_error},
    format::{Location, frame::StoreId, segment::Segment},
    keys::{self, Keys, MasterKey, Unlock},
    media::{Access, Disk, Media, Ram},
    options::LogOptions,
    read::{
        checkpoint::Saved,
        directory::{Directory, FORMAT_TEMPORARY},
        reader::Reader,
        recovery::{Mode, OpenReport, Recovered, recover, saved},
        summary_cache::Known,
        watermark::Watermark,
    },
    state::{conversation::Conversation, nodes::Snapshot},
    upkeep::encrypt::resume,
    write::{
        batch::invalid,
        checkpointer, lock,
        owned::Owned,
        prepared::{Buffers, Prepared},
        request::{Reply, Request},
        shared::Shared,
        writer::{Writer, WriterOptions},
    },
};

/// Conversations in an append-only log on disk.
///
/// An append returns once its bytes are synced; everything that waits at that time shares the sync.
///
/// Several processes may have the same store open and write to it. Each takes the write lock for one commit group at a
/// time, after it has applied what the others wrote. Reads see all that any process has made durable. A process that
/// dies leaves nothing that could stop the others. One that is stopped while it writes makes them fail with
/// [`StoreError::Locked`], which names it.
///
/// Writing happens on a thread of its own, verification on another, and short reads on the thread that polls the
/// future, so no runtime is needed. The log needs a local file system of a Unix-like system, with `flock` and mapped
/// files that processes share.
///
/// Dropping the store waits until all accepted writes are done.
#[derive(Debug)]
pub struct LogStore {
    pub(super) shared: Arc<Shared>,
    report: OpenReport,
    /// The writer thread of a store that was opened for writing.
    writer: Option<JoinHandle<()>>,
    may_write: bool,
    /// True if no file holds any of it.
    is_in_memory: bool,
    /// The lease of this opening, while it holds one.
    lease: Mutex<Weak<lock::HeldLease>>,
    /// Held during a vacuum, which the lease does not keep apart from another one of this opening.
    vacuuming: Mutex<()>,
}

/// Path of a store in memory, in a file system of its own.
const IN_MEMORY: &str = "/a store in memory";
/// Segment size of a store in memory, whose active segment is filled with zeros.
const IN_MEMORY_SEGMENT: u32 = 1 << 20;

/// Summaries as they were recorded, and the numbers of those that are disabled.
type KnownSummaries = (Arc<Vec<Summary>>, BTreeSet<SummaryId>);

impl LogStore {
    /// Opens the store in a directory, or makes one in a directory that is empty or not there yet. A reader in another
    /// process sees no store until all of it is there.
    ///
    /// # Errors
    /// [`StoreError::Locked`] when another process is stuck while writing to it, [`StoreError::NewerFormat`],
    /// [`StoreError::NotAStore`], or an error of the file system. Damage inside the log is not an error: see
    /// [`Self::report`]. The rest can be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(path, LogOptions::default())
    }

    /// [`Self::open`] with options.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn open_with(path: impl AsRef<Path>, options: LogOptions) -> Result<Self, StoreError> {
        Self::open_on(Arc::new(Disk), path.as_ref(), options)
    }

    /// [`Self::open_with`] of a store that may be encrypted. The key is not used for one that is not. A store that was
    /// being encrypted, decrypted or given new keys is completed.
    ///
    /// # Errors
    /// [`StoreError::Key`] if the key of an encrypted store is missing or another one, and as for [`Self::open`].
    pub fn open_encrypted(
        path: impl AsRef<Path>,
        options: LogOptions,
        key: Option<&MasterKey>,
    ) -> Result<Self, StoreError> {
        Self::open_whole(Arc::new(Disk), path.as_ref(), options, key)
    }

    /// [`Self::open_encrypted`] in any file system.
    pub(crate) fn open_whole(
        media: Arc<dyn Media>,
        path: &Path,
        options: LogOptions,
        key: Option<&MasterKey>,
    ) -> Result<Self, StoreError> {
        let store = Self::open_keyed(Arc::clone(&media), path, options, key)?;
        if !store.shared.directory.keys.is_changing() || !resume(&store)? {
            return Ok(store);
        }
        // The store is not encrypted any more.
        drop(store);
        Self::open_keyed(media, path, options, key)
    }

    /// [`Self::open_read_only`] of a store that may be encrypted.
    ///
    /// # Errors
    /// As for [`Self::open_encrypted`], except for the lock.
    pub fn open_read_only_encrypted(path: impl AsRef<Path>, key: Option<&MasterKey>) -> Result<Self, StoreError> {
        Self::open_read_only_keyed(Arc::new(Disk), path.as_ref(), key)
    }

    /// True if a directory holds an encrypted store.
    #[must_use]
    pub fn is_encrypted_at(path: impl AsRef<Path>) -> bool {
        Directory::open(&Disk, path.as_ref()).is_ok_and(|directory| directory.is_encrypted)
    }

    /// True if the store is encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.shared.directory.keys.is_some()
    }

    /// True while the store is being encrypted, decrypted or given new keys, or that was interrupted.
    #[must_use]
    pub fn is_encryption_changing(&self) -> bool {
        self.shared.directory.keys.is_changing()
    }

    /// Keys of the files that are derived from the log; none if the store is not encrypted.
    #[must_use]
    pub fn file_keys(&self) -> KeySet {
        self.shared.directory.keys.files()
    }

    /// A new store in memory: nothing of it reaches a file, and it ends with this value. Its path names no directory,
    /// so it has neither backups nor derived files.
    ///
    /// # Errors
    /// If the system provides no randomness or no thread.
    pub fn in_memory(options: LogOptions) -> Result<Self, StoreError> {
        let options = LogOptions { must_exist: false, ..options.segment_bytes(IN_MEMORY_SEGMENT) };
        let mut store = Self::open_on(Arc::new(Ram::default()), Path::new(IN_MEMORY), options)?;
        store.is_in_memory = true;
        Ok(store)
    }

    /// True if the store is in memory alone.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        self.is_in_memory
    }

    /// Opens a store read-only, on read-only media too. It follows what other processes append. A torn tail is
    /// left as it is. Writes fail with [`StoreError::ReadOnly`].
    ///
    /// # Errors
    /// As for [`Self::open`], except for the lock.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_read_only_on(Arc::new(Disk), path.as_ref())
    }

    /// True if a directory holds a store, or the segments of one that lost its `FORMAT`; `false` while a store is being
    /// made there.
    #[must_use]
    pub fn exists(path: impl AsRef<Path>) -> bool {
        !matches!(Directory::open(&Disk, path.as_ref()), Err(StoreError::NotAStore { .. }))
    }

    pub(crate) fn open_read_only_on(media: Arc<dyn Media>, path: &Path) -> Result<Self, StoreError> {
        Self::open_read_only_keyed(media, path, None)
    }

    pub(crate) fn open_read_only_keyed(
        media: Arc<dyn Media>,
        path: &Path,
        key: Option<&MasterKey>,
    ) -> Result<Self, StoreError> {
        #[cfg(test)]
        let key = key.or(tested::key());
        let mut directory = Directory::open(&*media, path)?;
        directory.unlock(&media, key)?;
        let watermark = Watermark::open(&*media, path, directory.id, Access::Read)?;
        // Segments may be replaced while they are opened one by one. Anything read before that is discarded.
        let (recovered, generation) = loop {
            let before = watermark.as_ref().map_or(0, |watermark| watermark.peek().0);
            let saved = saved(&*media, &directory);
            let durable = watermark.as_ref().and_then(Watermark::durable).map(|durable| durable.end);
            let known = saved.as_ref().map(Saved::end);
            let recovered = recover(&*media, &directory, Mode::ReadOnly, durable, saved.as_ref(), known)?;
            let is_known = |watermark: &Watermark| durable.is_some() || watermark.durable().is_none();
            let (after, same) =
                watermark.as_ref().map_or((0, true), |watermark| (watermark.peek().0, is_known(watermark)));
            if before == after && same {
                break (recovered, before);
            }
        };
        let report = report(&recovered, false);
        let shared = Shared::new(directory, media, 0, watermark, recovered, generation);
        Ok(Self {
            shared: Arc::new(shared),
            report,
            writer: None,
            may_write: false,
            is_in_memory: false,
            lease: Mutex::default(),
            vacuuming: Mutex::default(),
        })
    }

    pub(crate) fn open_on(media: Arc<dyn Media>, path: &Path, options: LogOptions) -> Result<Self, StoreError> {
        Self::open_keyed(media, path, options, None)
    }

    pub(crate) fn open_keyed(
        media: Arc<dyn Media>,
        path: &Path,
        options: LogOptions,
        key: Option<&MasterKey>,
    ) -> Result<Self, StoreError> {
        let LogOptions { segment_bytes, queue_bytes, checkpoint_bytes, lock_timeout, must_exist, encrypt } = options;
        #[cfg(test)]
        let (key, encrypt) = (key.or(tested::key()), encrypt || tested::key().is_some());
        // Nothing is touched before the key is known to fit.
        let mut known = Keys::default();
        match Directory::open(&*media, path) {
            Ok(mut directory) => {
                directory.unlock(&media, key)?;
                known = directory.keys;
            }
            Err(error) if must_exist => return Err(error),
            Err(_) if encrypt && key.is_none() => return Err(keys::missing(path)),
            Err(_) => {}
        }
        let unlock = Unlock { key, encrypts_new: encrypt };
        let Owned { mut directory, lock, created } = Owned::open(&media, path, lock_timeout, unlock)?;
        // A passphrase is not stretched twice.
        if known.is_some() && directory.is_encrypted {
            directory.keys = known;
        } else {
            directory.unlock(&media, key)?;
        }
        directory.keys.refresh_to_write()?;
        let watermark = Watermark::open(&*media, path, directory.id, Access::Write)?;
        // The write lock is held, so a process that was replacing segments is dead: the others must look again.
        let told = watermark.as_ref().and_then(Watermark::durable);
        let generation = match (told, &watermark) {
            (Some(told), _) if told.generation.is_multiple_of(2) => told.generation,
            (_, Some(watermark)) => watermark.next_generation(),
            (_, None) => 0,
        };
        if told.is_none() || watermark.as_ref().is_some_and(Watermark::is_unfinished) {
            // The process that made these files may have died before their names were on disk.
            directory.sync(&*media)?;
        }
        clean(&*media, &directory);
        let durable = told.map(|told| told.end);
        let saved = saved(&*media, &directory);
        let known = saved.as_ref().map(Saved::end);
        let recovered = recover(&*media, &directory, Mode::Write, durable, saved.as_ref(), known)?;
        let report = report(&recovered, created);
        let checkpoint = recovered.checkpoint;
        let shared = Arc::new(Shared::new(directory, media, queue_bytes, watermark, recovered, generation));
        let options = WriterOptions { segment_bytes, checkpoint_bytes, lock_timeout };
        let writer = Writer::new(Arc::clone(&shared), lock, options, checkpoint)?;
        let thread = thread::Builder::new().name("memory-log".into()).spawn(move || writer.run());
        let thread = thread.map_err(|source| StoreError::Io {
            action: "start the writer thread of",
            place: path.into(),
            source,
        })?;
        Ok(Self {
            shared,
            report,
            writer: Some(thread),
            may_write: true,
            is_in_memory: false,
            lease: Mutex::default(),
            vacuuming: Mutex::default(),
        })
    }

    /// Findings of the opening.
    #[must_use]
    pub fn report(&self) -> &OpenReport {
        &self.report
    }

    /// The store's directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.directory.path
    }

    /// The directory of caches derived from the log. Everything in it may be deleted.
    #[must_use]
    pub fn cache_dir(&self) -> PathBuf {
        self.shared.directory.cache()
    }

    /// Seals the active segment, unless it is empty. All appended so far is mapped from now on, the fastest way to read
    /// it, and may be compressed and backed up as a whole. For conversations that are read often and hardly written to
    /// any more; each call leaves one more file.
    ///
    /// # Errors
    /// As for an append.
    pub async fn seal(&self) -> Result<(), StoreError> {
        self.write(0, |reply| Request::Seal { reply }).await
    }

    /// Checks that the end of the log is still in its directory. Every append checks that itself; this is for a program
    /// that has appended for the last time and is about to report success.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the active segment was deleted or replaced while it was open: what was appended is lost.
    pub fn check_place(&self) -> Result<(), StoreError> {
        let last = self.shared.current()?.segments.last().cloned();
        let Some(segment) = last else { return Ok(()) };
        segment.check_place().map_err(io_error("find", segment.path()))
    }

    /// The leaves that bind a cache to this log.
    pub(crate) fn leaves(&self) -> Leaves {
        Leaves::of(&self.shared)
    }

    /// True if the store was opened for writing.
    pub fn may_write(&self) -> bool {
        self.may_write
    }

    fn read<T>(
        &self,
        id: &ConversationId,
        read: impl FnOnce(&Conversation) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        read(self.shared.current()?.conversation(id)?)
    }

    /// Hands a request to the writer and waits for its answer.
    async fn write<T>(&self, bytes: usize, request: impl FnOnce(Reply<T>) -> Request) -> Result<T, StoreError> {
        if !self.may_write() {
            return Err(StoreError::ReadOnly { place: self.path().into() });
        }
        let (reply, answer) = oneshot::channel();
        let mut request = Some(request(reply));
        let gone = || self.shared.poisoned("its writer thread has ended");
        let pushed = poll_fn(|context| self.shared.queue.poll_push(context, &mut request, bytes)).await;
        pushed.map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    fn read_nodes(&self, id: &ConversationId, range: NodeRange) -> Result<Vec<Node>, StoreError> {
        let (segments, wanted) = self.wanted(id, range)?;
        Reader::of_run(&segments, &wanted).nodes(&wanted)
    }

    /// The records of a conversation at these places, except lost ones.
    fn read_all<T>(
        &self,
        id: &ConversationId,
        places: impl FnOnce(&Conversation) -> Vec<Location>,
        read: impl Fn(&mut Reader<'_>, Location) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let (segments, locations) = {
            let state = self.shared.current()?;
            (Arc::clone(&state.segments), places(state.conversation(id)?))
        };
        let mut records = Vec::with_capacity(locations.len());
        read_records(id, &segments, locations, read, |record| records.push(record))?;
        Ok(records)
    }

    /// All readable summaries, without erased and stale ones, and the numbers of disabled ones. Only those that the
    /// cache lacks are read from disk.
    fn known_summaries(&self, id: &ConversationId) -> Result<KnownSummaries, StoreError> {
        let (segments, number, count, known, missing, is_less, disabled) = {
            let state = self.shared.current()?;
            let there = state.conversation(id)?;
            let mut known = self.shared.summaries.get(there.number);
            if !there.disabled.is_empty() {
                // Summaries that were stale may be read again.
                let read = |summary: &&Summary| there.summaries.location(summary.id).is_some();
                if known.summaries.iter().filter(read).count() < there.summaries.present_among(known.read) {
                    known = Known::default();
                }
            }
            let missing = there.summaries.locations(known.read);
            let is_erased = |summary: &Summary| there.summaries.location(summary.id).is_none();
            let is_less =
                !(there.erased.is_empty() && there.disabled.is_empty()) && known.summaries.iter().any(is_erased);
            if is_less {
                Arc::make_mut(&mut known.summaries).retain(|summary| !is_erased(summary));
            }
            let (number, count, disabled) = (there.number, there.summaries.len(), there.disabled_summaries());
            (Arc::clone(&state.segments), number, count, known.summaries, missing, is_less, disabled)
        };
        if missing.is_empty() && !is_less {
            return Ok((known, disabled));
        }
        let mut summaries = Vec::with_capacity(known.len() + missing.len());
        summaries.extend_from_slice(&known);
        read_records(id, &segments, missing, Reader::summary, |summary| summaries.push(summary))?;
        let summaries = Arc::new(summaries);
        self.shared.summaries.put(number, Arc::clone(&summaries), usize::try_from(count).unwrap_or(usize::MAX));
        Ok((summaries, disabled))
    }

    fn wanted(&self, id: &ConversationId, range: NodeRange) -> Result<Snapshot, StoreError> {
        let state = self.shared.current()?;
        let wanted = state.conversation(id)?.wanted(range);
        Ok((Arc::clone(&state.segments), wanted))
    }
}

/// Key of the stores that tests open: those of one thread, or all with `MEMORY_TEST_ENCRYPTED` in the environment.
#[cfg(test)]
pub(crate) mod tested {
    use std::{cell::Cell, sync::LazyLock};

    use crate::MasterKey;

    static KEY: MasterKey = MasterKey::from_bytes([0x4B; 32]);
    static ALL: LazyLock<bool> = LazyLock::new(|| std::env::var_os("MEMORY_TEST_ENCRYPTED").is_some());
    thread_local! { static THESE: Cell<bool> = const { Cell::new(false) } }

    pub(crate) fn key() -> Option<&'static MasterKey> {
        (THESE.get() || *ALL).then_some(&KEY)
    }

    /// Runs a test with encrypted stores.
    pub(crate) fn encrypted(test: impl FnOnce()) {
        THESE.set(true);
        test();
        THESE.set(false);
    }
}

impl Drop for LogStore {
    fn drop(&mut self) {
        self.shared.queue.close();
        if let Some(thread) = self.writer.take()
            && thread.join().is_err()
        {
            tracing::error!(path = %self.path().display(), "the writer thread of the log has panicked");
        }
    }
}

/// The leaves of the log in its current state, by which a cache checks that it was derived from this very log.
#[derive(Clone, Debug)]
pub(crate) struct Leaves(Arc<Shared>);

impl Leaves {
    pub(crate) fn of(shared: &Arc<Shared>) -> Self {
        Self(Arc::clone(shared))
    }

    /// The name of the store.
    pub(crate) fn store(&self) -> StoreId {
        self.0.directory.id
    }

    /// The name of the store, and the keys of what is derived from it.
    pub(crate) fn named(&self) -> (StoreId, KeySet) {
        (self.store(), self.keys())
    }

    /// Keys of what is derived from the log.
    pub(crate) fn keys(&self) -> KeySet {
        self.0.directory.keys.files()
    }

    /// Number of nodes of a conversation in the log, readable or not; 0 while it is unknown.
    pub(crate) fn count(&self, conversation: &ConversationId) -> u64 {
        let state = self.0.current().ok();
        state.and_then(|state| Some(state.find(conversation)?.nodes())).unwrap_or(0)
    }

    /// The leaf of a node; `None` when the log has no such node or cannot read it. Leaves are salted, so no other
    /// message has the same leaf, not even one of the same words.
    pub(crate) fn get(&self, conversation: &ConversationId, node: NodeId) -> Option<Hash> {
        let (segments, wanted) = {
            let state = self.0.current().ok()?;
            (Arc::clone(&state.segments), state.find(conversation)?.wanted(NodeRange::single(node)))
        };
        Reader::new(&segments).leaf(wanted.first()?).ok()
    }
}

/// Removes what killed processes left, and a checkpoint in clear of an encrypted store, which nothing reads. The caller
/// holds the write lock.
fn clean(media: &dyn Media, directory: &Directory) {
    let format = media.remove(&directory.path.join(FORMAT_TEMPORARY)).or_else(|error| {
        if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(io_error("remove", &directory.path)(error)) }
    });
    let is_sealed = directory.keys.current() > 0 && !directory.keys.is_changing();
    let checkpoint =
        is_sealed.then(|| checkpointer::remove_others(media, &directory.cache(), directory.keys.current()));
    for error in [format, checkpoint.unwrap_or(Ok(()))].into_iter().filter_map(Result::err) {
        tracing::warn!(%error, "it stays until the next opening");
    }
}

/// Reads the records at these places, except lost ones, on which nothing else depends.
fn read_records<'s, T>(
    id: &ConversationId,
    segments: &'s [Segment],
    locations: impl IntoIterator<Item = Location>,
    read: impl Fn(&mut Reader<'s>, Location) -> Result<T, StoreError>,
    mut take: impl FnMut(T),
) -> Result<(), StoreError> {
    let mut reader = Reader::new(segments);
    for location in locations {
        match read(&mut reader, location) {
            Ok(record) => take(record),
            Err(error) if error.is_damage() => tracing::error!(%error, conversation = %id, "a record is lost"),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn report(recovered: &Recovered, created: bool) -> OpenReport {
    let state = &recovered.state;
    OpenReport {
        created,
        conversations: state.conversations().count() as u64,
        nodes: state.conversations().map(Conversation::nodes).sum(),
        torn: recovered.torn.clone(),
        damage: state.damage.clone(),
        lost: state.conversations().flat_map(Conversation::lost_nodes).collect(),
    }
}

/// Gives each message a salt unless it brings one, hashes and encodes them.
fn prepare(id: &ConversationId, batch: Vec<NodeDraft>, buffers: &Buffers) -> Result<Prepared, StoreError> {
    const SALT: usize = size_of::<Salt>();
    let mut random = vec![0; batch.len() * SALT];
    fill_random(&mut random)?;
    let (salts, _) = random.as_chunks::<SALT>();
    Prepared::new(batch, salts, buffers).map_err(|error| invalid(id, error))
}
