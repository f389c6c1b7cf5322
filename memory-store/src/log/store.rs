//! The log as a [`Store`].

mod upkeep;

use std::{
    future::poll_fn,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
    thread::{self, JoinHandle},
};

use futures_channel::oneshot;
use memory_core::{
    Appended, BoxFuture, Changes, ConversationId, ConversationState, Event, Lease, MessageKey, Node, NodeDraft, NodeId,
    NodeOutline, NodeProof, NodeRange, OwnerId, ReadNodes, Recorded, Revision, Salt, Source, Store, StoreError,
    Summary, SummaryId, SummaryOutline, Verification, View, ViewId,
};

use super::{
    failure::{fill_random, io_error},
    format::{location::Location, segment::Segment},
    leaves::Leaves,
    media::{Access, Disk, Media},
    options::LogOptions,
    read::{
        checkpoint::Saved,
        directory::Directory,
        reader::Reader,
        recovery::{Mode, OpenReport, Recovered, recover, saved},
        watermark::Watermark,
    },
    state::{conversation::Conversation, read_request::Snapshot},
    upkeep::verify::verify,
    write::{
        batch::invalid,
        lock,
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
/// It needs no runtime: writing happens on a thread of its own, verification on another, and short reads on the thread
/// that polls the future. The log needs a local file system of a Unix-like system, with `flock` and mapped files that
/// processes share.
///
/// Dropping the store waits until all accepted writes are done.
#[derive(Debug)]
pub struct LogStore {
    pub(super) shared: Arc<Shared>,
    report: OpenReport,
    /// The writer thread of a store that was opened for writing.
    writer: Option<JoinHandle<()>>,
    may_write: bool,
    /// The lease of this opening, while it holds one.
    lease: Mutex<Weak<lock::HeldLease>>,
}

impl LogStore {
    /// Opens the store in a directory, or makes one in a directory that is empty or not there yet.
    ///
    /// # Errors
    /// [`StoreError::Locked`] when another process is stuck while writing to it, [`StoreError::NewerFormat`],
    /// [`StoreError::NotAStore`], or an error of the file system. Damage inside the log is not an error: see
    /// [`Self::report`]. What the damage does not touch can be read.
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

    /// Opens a store for reading alone, on read-only media too. It follows what other processes append. A torn tail is
    /// left as it is. Writes fail with [`StoreError::ReadOnly`].
    ///
    /// # Errors
    /// As for [`Self::open`], except for the lock.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_read_only_on(Arc::new(Disk), path.as_ref())
    }

    pub(crate) fn open_read_only_on(media: Arc<dyn Media>, path: &Path) -> Result<Self, StoreError> {
        let directory = Directory::open(&*media, path)?;
        let watermark = Watermark::open(&*media, path, directory.id, Access::Read)?;
        // Segments may be replaced while they are opened one by one. What was read before that is discarded.
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
        Ok(Self { shared: Arc::new(shared), report, writer: None, may_write: false, lease: Mutex::default() })
    }

    pub(crate) fn open_on(media: Arc<dyn Media>, path: &Path, options: LogOptions) -> Result<Self, StoreError> {
        let LogOptions { segment_bytes, queue_bytes, checkpoint_bytes, lock_timeout } = options;
        let Owned { directory, lock, created } = Owned::open(&*media, path, lock_timeout)?;
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
        Ok(Self { shared, report, writer: Some(thread), may_write: true, lease: Mutex::default() })
    }

    /// What opening it found.
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

    /// Whether the end of the log is still in its directory. Every append looks at that itself; this is for a program
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

    /// Whether it was opened for writing.
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

    /// All summaries that can be read. Only those that the cache lacks are read from disk.
    fn known_summaries(&self, id: &ConversationId) -> Result<Arc<Vec<Summary>>, StoreError> {
        let (segments, number, count, known, missing) = {
            let state = self.shared.current()?;
            let there = state.conversation(id)?;
            let known = self.shared.summaries.get(there.number);
            let missing = there.summaries.locations(known.read);
            (Arc::clone(&state.segments), there.number, there.summaries.len(), known.summaries, missing)
        };
        if missing.is_empty() {
            return Ok(known);
        }
        let mut summaries = Vec::with_capacity(known.len() + missing.len());
        summaries.extend_from_slice(&known);
        read_summaries(id, &segments, missing, |summary| summaries.push(summary))?;
        let summaries = Arc::new(summaries);
        self.shared.summaries.put(number, Arc::clone(&summaries), usize::try_from(count).unwrap_or(usize::MAX));
        Ok(summaries)
    }

    fn wanted(&self, id: &ConversationId, range: NodeRange) -> Result<Snapshot, StoreError> {
        let state = self.shared.current()?;
        let wanted = state.conversation(id)?.wanted(range);
        Ok((Arc::clone(&state.segments), wanted))
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

/// Reads the summaries at these places, except lost ones.
fn read_summaries(
    id: &ConversationId,
    segments: &[Segment],
    locations: impl IntoIterator<Item = Location>,
    mut take: impl FnMut(Summary),
) -> Result<(), StoreError> {
    let mut reader = Reader::new(segments);
    for location in locations {
        match reader.summary(location) {
            Ok(summary) => take(summary),
            // Its text is lost; the nodes below it stay readable.
            Err(error) if error.is_damage() => tracing::error!(%error, conversation = %id, "a summary is lost"),
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

impl Source for LogStore {
    fn outline<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Vec<NodeOutline>, StoreError>> {
        Box::pin(async move { self.read(conversation, |there| Ok(there.nodes.outlines())) })
    }

    fn summaries<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        Box::pin(async move {
            let summaries = self.known_summaries(conversation)?;
            Ok(summaries.to_vec())
        })
    }

    fn conversation<'a>(
        &'a self,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<ConversationState, StoreError>> {
        Box::pin(async move {
            let state = self.shared.current()?;
            Ok(state.overview(state.conversation(conversation)?))
        })
    }

    fn conversations(&self) -> BoxFuture<'_, Result<Vec<ConversationState>, StoreError>> {
        Box::pin(async move {
            let state = self.shared.current()?;
            Ok(state.conversations().map(|conversation| state.overview(conversation)).collect())
        })
    }

    fn readable_nodes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<ReadNodes, StoreError>> {
        Box::pin(ReadNodes::of(self, conversation, range))
    }
}

impl Store for LogStore {
    fn append_for<'a>(
        &'a self,
        owner: Option<&'a OwnerId>,
        conversation: &'a ConversationId,
        batch: Vec<NodeDraft>,
    ) -> BoxFuture<'a, Result<Vec<Appended>, StoreError>> {
        Box::pin(async move {
            if batch.is_empty() {
                return Ok(Vec::new());
            }
            let batch = prepare(conversation, batch, &self.shared.buffers)?;
            let bytes = batch.bytes();
            let (owner, conversation) = (owner.cloned(), conversation.clone());
            self.write(bytes, |reply| Request::Append { owner, conversation, batch, reply }).await
        })
    }

    fn record<'a>(
        &'a self,
        conversation: &'a ConversationId,
        events: Vec<Event>,
    ) -> BoxFuture<'a, Result<Vec<Recorded>, StoreError>> {
        Box::pin(async move {
            let bytes = events.iter().map(event_bytes).sum();
            let conversation = conversation.clone();
            self.write(bytes, |reply| Request::Record { conversation, events, reply }).await
        })
    }

    fn fork<'a>(
        &'a self,
        parent: &'a ConversationId,
        node: NodeId,
        child: &'a ConversationId,
    ) -> BoxFuture<'a, Result<ConversationState, StoreError>> {
        Box::pin(async move {
            let (from, to) = (parent.clone(), child.clone());
            self.write(0, |reply| Request::Fork { parent: from, node, child: to, reply }).await?;
            self.conversation(child).await
        })
    }

    fn node<'a>(&'a self, conversation: &'a ConversationId, node: NodeId) -> BoxFuture<'a, Result<Node, StoreError>> {
        Box::pin(async move {
            let (segments, wanted) = {
                let state = self.shared.current()?;
                let there = state.conversation(conversation)?;
                let wanted = there.nodes.wanted(node).ok_or_else(|| there.unknown_node(node))?;
                (Arc::clone(&state.segments), wanted)
            };
            Reader::new(&segments).node(&wanted)
        })
    }

    fn nodes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<Node>, StoreError>> {
        Box::pin(async move { self.read_nodes(conversation, range) })
    }

    fn summaries_of<'a>(
        &'a self,
        conversation: &'a ConversationId,
        ids: &'a [SummaryId],
    ) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        Box::pin(async move {
            let (segments, locations) = {
                let state = self.shared.current()?;
                let there = state.conversation(conversation)?;
                let mut ids = ids.to_vec();
                ids.sort_unstable();
                ids.dedup();
                let locations: Vec<_> = ids.iter().filter_map(|id| there.summaries.location(*id)).collect();
                (Arc::clone(&state.segments), locations)
            };
            let mut summaries = Vec::with_capacity(locations.len());
            read_summaries(conversation, &segments, locations, |summary| summaries.push(summary))?;
            Ok(summaries)
        })
    }

    fn views<'a>(
        &'a self,
        conversation: &'a ConversationId,
        first: ViewId,
        last: ViewId,
    ) -> BoxFuture<'a, Result<Vec<View>, StoreError>> {
        Box::pin(async move {
            let (segments, locations) = {
                let state = self.shared.current()?;
                (Arc::clone(&state.segments), state.conversation(conversation)?.views.locations(first, last))
            };
            let mut views = Vec::with_capacity(locations.len());
            let mut reader = Reader::new(&segments);
            for location in locations {
                match reader.view(location) {
                    Ok(view) => views.push(view),
                    // Nothing depends on it: only the record that it was shown is gone.
                    Err(error) if error.is_damage() => tracing::error!(%error, %conversation, "a view is lost"),
                    Err(error) => return Err(error),
                }
            }
            Ok(views)
        })
    }

    fn changes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        since: Revision,
    ) -> BoxFuture<'a, Result<Changes, StoreError>> {
        Box::pin(async move {
            let (segments, (mut changes, locations)) = {
                let state = self.shared.current()?;
                (Arc::clone(&state.segments), state.conversation(conversation)?.changes(state.epoch, since))
            };
            let summaries = &mut changes.summaries;
            read_summaries(conversation, &segments, locations, |summary| {
                summaries.push(SummaryOutline::of(summary.id, &summary.body));
            })?;
            Ok(changes)
        })
    }

    fn find_key<'a>(
        &'a self,
        conversation: &'a ConversationId,
        key: &'a MessageKey,
    ) -> BoxFuture<'a, Result<Option<NodeId>, StoreError>> {
        Box::pin(async move {
            let (segments, candidates) = {
                let state = self.shared.current()?;
                let hash = state.key_hash(key.as_str());
                let candidates = state.key_candidates(state.conversation(conversation)?, hash);
                (Arc::clone(&state.segments), candidates)
            };
            let found = Reader::new(&segments).with_key(key, &candidates)?;
            Ok(found.map(|(node, _)| node))
        })
    }

    fn proofs<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<NodeProof>, StoreError>> {
        Box::pin(async move {
            let (segments, wanted) = self.wanted(conversation, range)?;
            let mut reader = Reader::of_run(&segments, &wanted);
            wanted.iter().map(|wanted| reader.proof(wanted.location)).collect()
        })
    }

    fn nodes_with_proofs<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<(Node, NodeProof)>, StoreError>> {
        Box::pin(async move {
            let (segments, wanted) = self.wanted(conversation, range)?;
            Reader::of_run(&segments, &wanted).nodes_with_proofs(&wanted)
        })
    }

    fn verify<'a>(
        &'a self,
        conversation: Option<&'a ConversationId>,
    ) -> BoxFuture<'a, Result<Verification, StoreError>> {
        Box::pin(async move {
            // Reads every byte: too long for the thread that polls.
            let (reply, answer) = oneshot::channel();
            let (shared, only) = (Arc::clone(&self.shared), conversation.cloned());
            let thread = thread::Builder::new().name("memory-verify".into());
            let spawned = thread.spawn(move || reply.send(verify(&shared, only.as_ref())));
            spawned.map_err(|source| StoreError::Io { action: "verify", place: self.path().into(), source })?;
            let panicked = || StoreError::Backend { backend: "verification", source: "its thread panicked".into() };
            answer.await.unwrap_or_else(|_| Err(panicked()))
        })
    }

    fn lease(&self) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move {
            if !self.may_write() {
                return Ok(Lease::unshared());
            }
            let mut held = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
            let lease = match held.upgrade() {
                Some(lease) => lease,
                None => Arc::new(self.take_lease()?),
            };
            *held = Arc::downgrade(&lease);
            Ok(Lease::holding(lease))
        })
    }
}

/// About how many bytes the event takes in the log.
fn event_bytes(event: &Event) -> usize {
    const FIXED: usize = 64;
    FIXED
        + match event {
            Event::Summary(draft) => draft.text.len() + draft.children.len() * 3,
            Event::Title(title) => title.len(),
            Event::View(draft) => {
                let elsewhere = draft.elsewhere.iter();
                let elsewhere =
                    elsewhere.map(|other| 64 + other.title.as_ref().map_or(0, String::len) + other.runs.len() * 16);
                draft.question.len() + (draft.history.len() + draft.recalled.len()) * 16 + elsewhere.sum::<usize>()
            }
            Event::Tags(tags) => tags.iter().map(String::len).sum(),
            _ => 0,
        }
}
