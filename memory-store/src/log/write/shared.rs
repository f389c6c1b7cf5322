//! State that the writer thread and the readers of one opening share, and that follows other processes.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use memory_core::port::{Place, StoreError};

use super::{prepared::Buffers, queue::Queue, request::Request};
use crate::log::{
    failure::io_error,
    format::{
        Location,
        segment::{SEGMENT_HEADER, Segment, segment_path},
    },
    keys,
    media::{Access, Media},
    read::{
        directory::{Directory, read_format},
        recovery::{Mode, Recovered, recover, renew_tail, saved},
        summary_cache::SummaryCache,
        watermark::{Durable, Watermark},
    },
    state::State,
};

/// One opening of a store.
pub(crate) struct Shared {
    pub(crate) directory: Directory,
    pub(crate) media: Arc<dyn Media>,
    pub(crate) queue: Queue<Request>,
    pub(crate) buffers: Buffers,
    /// The durable watermark, once it exists: a copied store has none before its first writer.
    watermark: OnceLock<Watermark>,
    pub(crate) summaries: SummaryCache,
    state: RwLock<State>,
    /// Lock of the thread that applies data of other processes.
    following: Mutex<()>,
    /// The first record that a newer version wrote while this process had the store open. Every call fails then, as
    /// opening would.
    newer: OnceLock<(Place, u8, u8)>,
    /// The generation and the end of `state`, for comparison with a peek at the durable watermark.
    generation: AtomicU64,
    position: AtomicU64,
    /// End of the log according to the checkpoint when the store was opened. The durable watermark may never have
    /// recorded it.
    known: Option<Location>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn new(
        directory: Directory,
        media: Arc<dyn Media>,
        queue_bytes: usize,
        watermark: Option<Watermark>,
        recovered: Recovered,
        generation: u64,
    ) -> Self {
        let Recovered { state, durable, known, .. } = recovered;
        // Missing durable data is damage, and is not searched for again.
        let seen = state.cursor.end.max(durable.unwrap_or_default());
        let position = AtomicU64::new(Durable::position(seen));
        Self {
            directory,
            media,
            queue: Queue::new(queue_bytes),
            buffers: Buffers::default(),
            watermark: watermark.map_or_else(OnceLock::new, OnceLock::from),
            summaries: SummaryCache::default(),
            state: RwLock::new(state),
            following: Mutex::default(),
            newer: OnceLock::new(),
            generation: AtomicU64::new(generation),
            position,
            known,
        }
    }

    /// The state, with everything that any process has made durable. Hold it briefly: publishing a commit group waits
    /// for it.
    pub(crate) fn current(&self) -> Result<RwLockReadGuard<'_, State>, StoreError> {
        self.follow()?;
        Ok(self.state())
    }

    /// The state as this process knows it.
    pub(crate) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn poisoned(&self, why: &str) -> StoreError {
        StoreError::Poisoned { place: (&self.directory.path).into(), why: why.to_owned() }
    }

    pub(crate) fn watermark(&self) -> Option<&Watermark> {
        self.watermark.get()
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Keeps the other threads of this process from applying data of other processes.
    pub(crate) fn hold_following(&self) -> MutexGuard<'_, ()> {
        self.following.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the end of the log on disk. The value never decreases: data that is missing since is damage, and stays
    /// known.
    pub(crate) fn note_position(&self, end: Location) {
        self.position.fetch_max(Durable::position(end), Ordering::AcqRel);
    }

    /// Applies data that other processes have made durable since.
    fn follow(&self) -> Result<(), StoreError> {
        self.refuse_newer()?;
        let Some(watermark) = self.watermark() else { return self.look_for_watermark() };
        // Segments may be replaced meanwhile; a read of new files by old places is discarded.
        const TRIES: usize = 8;
        for _ in 0..TRIES {
            let (generation, position) = watermark.peek();
            if generation == self.generation() && position <= self.position.load(Ordering::Acquire) {
                return Ok(());
            }
            let _held = self.hold_following();
            let Some(durable) = watermark.durable() else { return Ok(()) };
            self.catch_up(durable)?;
            if durable.generation == watermark.peek().0 {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Looks for a durable watermark, which a store without one gets when it is opened for writing.
    fn look_for_watermark(&self) -> Result<(), StoreError> {
        let Directory { path, id, .. } = &self.directory;
        let found = Watermark::open(&*self.media, path, *id, Access::Read)?;
        let Some(watermark) = found else { return Ok(()) };
        let Some(durable) = watermark.durable() else { return Ok(()) };
        let _held = self.hold_following();
        if self.watermark.set(watermark).is_ok() {
            // The state read without the watermark may be more than it covers, or something else.
            self.reload(durable)?;
        }
        Ok(())
    }

    /// Applies durable data, segment by segment. The caller holds [`Self::hold_following`].
    pub(crate) fn catch_up(&self, durable: Durable) -> Result<(), StoreError> {
        if durable.generation != self.generation() {
            return self.reload(durable);
        }
        if Durable::position(durable.end) <= self.position.load(Ordering::Acquire) {
            return Ok(());
        }
        loop {
            let (segment, end) = {
                let state = self.state();
                (state.segments.last().cloned(), state.cursor.end)
            };
            let Some(segment) = segment.filter(|_| end < durable.end) else { break };
            let is_last = end.segment == durable.end.segment;
            let limit = is_last.then_some(durable.end.offset);
            let path = segment.path().to_owned();
            let most = limit.map_or(u32::MAX, |limit| limit.saturating_sub(end.offset));
            let bytes = segment.image_part(end.offset, most).map_err(io_error("read", &path))?;
            self.state_mut().replay_more(&segment, &bytes, true, limit.unwrap_or_default(), &mut |_, _, _| ());
            if is_last {
                break;
            }
            self.enter(end.segment.saturating_add(1), durable.end)?;
        }
        // Missing durable data is damage, and is not searched for again.
        self.note_position(self.state().cursor.end.max(durable.end));
        self.refuse_newer_state()
    }

    /// Fails if a newer version wrote a record that this one cannot read.
    fn refuse_newer(&self) -> Result<(), StoreError> {
        let Some((place, kind, version)) = self.newer.get() else { return Ok(()) };
        Err(StoreError::NewerRecord { place: place.clone(), kind: *kind, version: *version })
    }

    /// [`Self::refuse_newer`] after more of the log was applied.
    fn refuse_newer_state(&self) -> Result<(), StoreError> {
        if let Some(StoreError::NewerRecord { place, kind, version }) = &self.state().newer {
            self.newer.get_or_init(|| (place.clone(), *kind, *version));
        }
        self.refuse_newer()
    }

    /// Seals the last segment and applies the next one up to `durable`.
    fn enter(&self, number: u32, durable: Location) -> Result<(), StoreError> {
        let log = self.directory.log();
        let is_last = number == durable.segment;
        let segment = Segment::open(&*self.media, (&log, &self.directory.keys), number, !is_last)?;
        let path = segment_path(&log, number);
        let most = if is_last { durable.offset } else { u32::MAX };
        let bytes = segment.image_part(0, most).map_err(io_error("read", &path))?;
        let mut state = self.state_mut();
        state.seal_last();
        let proven = if is_last { durable.offset } else { 0 };
        state.replay_segment(&segment, &bytes, true, proven, &mut |_, _, _| ());
        Ok(())
    }

    /// Applies the whole log, and returns its generation and end. The caller holds the write lock and
    /// [`Self::hold_following`].
    pub(crate) fn catch_up_locked(&self) -> Result<Durable, StoreError> {
        self.refuse_newer()?;
        let watermark = self.watermark();
        let durable = watermark.and_then(Watermark::durable);
        if let Some(durable) = durable {
            self.catch_up(durable)?;
            if !durable.generation.is_multiple_of(2) {
                // The process that was replacing segments has died. Every process must see its replacements.
                self.reload(Durable { generation: durable.generation.wrapping_add(1), ..durable })?;
            }
        }
        // Unless the last writer recorded that it finished, some of its data may stand after the durable watermark.
        if durable.is_none() || watermark.is_some_and(Watermark::is_unfinished) {
            self.adopt_leftovers()?;
            self.refuse_newer_state()?;
        }
        Ok(Durable { generation: self.generation(), end: self.state().cursor.end })
    }

    /// Publishes the end of the log on disk to every process. The caller holds the write lock.
    pub(crate) fn tell(&self, durable: Durable) {
        self.note_position(durable.end);
        // Never publish less than was once durable, so that the next opening detects the loss.
        let end = Durable::place(self.position.load(Ordering::Acquire));
        self.watermark().into_iter().for_each(|watermark| watermark.publish(Durable { end, ..durable }));
    }

    /// Reads everything again, after segments were replaced.
    pub(crate) fn reload(&self, durable: Durable) -> Result<(), StoreError> {
        let (media, directory) = (&*self.media, &self.directory);
        if read_format(media, &directory.path)?.is_some_and(|format| format.is_encrypted != directory.keys.is_some()) {
            return Err(keys::changed(&directory.path));
        }
        directory.keys.refresh()?;
        let saved = saved(media, directory);
        let Recovered { state, .. } =
            recover(media, directory, Mode::ReadOnly, Some(durable.end), saved.as_ref(), self.known)?;
        self.renew(state, durable);
        Ok(())
    }

    /// Replaces the state by one that was read again, after segments were replaced. The caller holds
    /// [`Self::hold_following`].
    pub(crate) fn renew(&self, mut state: State, durable: Durable) {
        let end = state.cursor.end.max(durable.end);
        let mut current = self.state_mut();
        state.epoch = current.epoch + 1;
        *current = state;
        drop(current);
        self.summaries.clear();
        self.generation.store(durable.generation, Ordering::Release);
        self.note_position(end);
    }

    /// Applies the data of a dead writer, cuts a torn tail, and makes the rest durable. The caller holds the write lock
    /// and [`Self::hold_following`], and has caught up with the durable watermark.
    pub(crate) fn adopt_leftovers(&self) -> Result<(), StoreError> {
        let log = self.directory.log();
        loop {
            let (segment, end) = {
                let state = self.state();
                (state.segments.last().cloned(), state.cursor.end)
            };
            let Some(segment) = segment else { return Ok(()) };
            let names = self.media.list(&log).map_err(io_error("list", &log))?;
            let is_there = |next: &u32| names.iter().any(|name| segment_path(&log, *next).ends_with(name));
            let next = end.segment.checked_add(1).filter(is_there);
            let path = segment.path().to_owned();
            let bytes = segment.image_from(end.offset).map_err(io_error("read", &path))?;
            let mut state = self.state_mut();
            let read = state.replay_more(&segment, &bytes, next.is_some(), end.offset, &mut |_, _, _| ());
            let Some(next) = next else {
                drop(state);
                renew_tail(&*self.media, &segment, &bytes, end.offset, &read).map_err(io_error("repair", &path))?;
                break;
            };
            // The process that made it may have died before its name was on disk.
            self.media.sync_dir(&log).map_err(io_error("sync", &log))?;
            state.seal_last();
            let segment = Segment::open(&*self.media, (&log, &self.directory.keys), next, false)?;
            let mut header = Vec::new();
            let header = segment.bytes(0, SEGMENT_HEADER as usize, &mut header);
            let header = header.map_err(io_error("read", segment.path()))?;
            state.replay_segment(&segment, header, true, 0, &mut |_, _, _| ());
        }
        self.note_position(self.state().cursor.end);
        Ok(())
    }

    /// Opens the last segment for writing.
    pub(crate) fn open_last(&self) -> Result<(Segment, u64), StoreError> {
        let number = self.state().cursor.end.segment;
        let path = segment_path(&self.directory.log(), number);
        let file = self.media.open(&path, Access::Write).map_err(io_error("open", &path))?;
        let size = file.size().map_err(io_error("read", &path))?;
        Ok((Segment::new(number, &path, file, &self.directory.keys), size))
    }
}
