//! What the writer thread and the readers of one opening share, and how it follows what other processes write.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use memory_core::StoreError;

use super::{
    directory::Directory,
    failure::io_error,
    horizon::{Durable, Horizon},
    media::{Access, Media},
    prepared::Buffers,
    queue::Queue,
    recovery::{Mode, Recovered, open_segment, recover, renew_tail, saved},
    segment::{SEGMENT_HEADER, Segment, segment_path},
    state::{Location, State},
    summary_cache::SummaryCache,
    writer::Request,
};

/// One opening of a store.
pub(crate) struct Shared {
    pub(crate) directory: Directory,
    pub(crate) media: Arc<dyn Media>,
    pub(crate) queue: Queue<Request>,
    pub(crate) buffers: Buffers,
    /// Filled once there is one: a store that was copied has none before somebody writes to it.
    horizon: OnceLock<Horizon>,
    pub(crate) summaries: SummaryCache,
    state: RwLock<State>,
    /// Held by whoever takes in what others wrote.
    following: Mutex<()>,
    /// The generation that `state` is of, and how far it reaches; to be compared with the horizon at a glance.
    generation: AtomicU64,
    position: AtomicU64,
    /// How far the checkpoint knew the log to be when the store was opened. The horizon may never have known it.
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
        horizon: Option<Horizon>,
        recovered: Recovered,
        generation: u64,
    ) -> Self {
        let Recovered { state, durable, known, .. } = recovered;
        // What is missing of what was on disk is damage, and need not be looked for again.
        let seen = state.cursor.end.max(durable.unwrap_or_default());
        let position = AtomicU64::new(Durable::position(seen));
        Self {
            directory,
            media,
            queue: Queue::new(queue_bytes),
            buffers: Buffers::default(),
            horizon: horizon.map_or_else(OnceLock::new, OnceLock::from),
            summaries: SummaryCache::default(),
            state: RwLock::new(state),
            following: Mutex::default(),
            generation: AtomicU64::new(generation),
            position,
            known,
        }
    }

    /// The state, with all that any process has made durable. Held for as short as can be: publishing a commit
    /// group waits for it.
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
        StoreError::Poisoned { path: self.directory.path.clone(), why: why.to_owned() }
    }

    pub(crate) fn horizon(&self) -> Option<&Horizon> {
        self.horizon.get()
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Keeps everybody else of this process from taking in what others wrote.
    pub(crate) fn hold_following(&self) -> MutexGuard<'_, ()> {
        self.following.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes how far the log was on disk. It never was less far: what is missing since is damage, and stays known.
    pub(crate) fn note_position(&self, end: Location) {
        self.position.fetch_max(Durable::position(end), Ordering::AcqRel);
    }

    /// Takes in what other processes have made durable since.
    fn follow(&self) -> Result<(), StoreError> {
        let Some(horizon) = self.horizon() else { return self.look_for_horizon() };
        // Segments may be replaced meanwhile: what was read then of new files by old places is no answer.
        const TRIES: usize = 8;
        for _ in 0..TRIES {
            let (generation, position) = horizon.glance();
            if generation == self.generation() && position <= self.position.load(Ordering::Acquire) {
                return Ok(());
            }
            let _held = self.hold_following();
            let Some(durable) = horizon.durable() else { return Ok(()) };
            self.catch_up(durable)?;
            if durable.generation == horizon.glance().0 {
                return Ok(());
            }
        }
        Ok(())
    }

    /// A store without a horizon gets one when somebody opens it for writing.
    fn look_for_horizon(&self) -> Result<(), StoreError> {
        let Directory { path, id } = &self.directory;
        let found = Horizon::open(&*self.media, path, *id, Access::Read)?;
        let Some(horizon) = found else { return Ok(()) };
        let Some(durable) = horizon.durable() else { return Ok(()) };
        let _held = self.hold_following();
        if self.horizon.set(horizon).is_ok() {
            // What was read without it may be more, or other, than what it is about.
            self.reload(durable)?;
        }
        Ok(())
    }

    /// Takes in what is durable, segment after segment. The caller holds [`Self::hold_following`].
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
        // What is missing of it is damage, and need not be looked for again.
        self.note_position(self.state().cursor.end.max(durable.end));
        Ok(())
    }

    /// Seals the last segment and takes in the next one up to `durable`.
    fn enter(&self, number: u32, durable: Location) -> Result<(), StoreError> {
        let log = self.directory.log();
        let is_last = number == durable.segment;
        let segment = open_segment(&*self.media, &log, number, !is_last)?;
        let path = segment_path(&log, number);
        let most = if is_last { durable.offset } else { u32::MAX };
        let bytes = segment.image_part(0, most).map_err(io_error("read", &path))?;
        let mut state = self.state_mut();
        state.seal_last();
        let proven = if is_last { durable.offset } else { 0 };
        state.replay_segment(&segment, &bytes, true, proven, &mut |_, _, _| ());
        Ok(())
    }

    /// Takes in everything that there is, and gives back how far that is. The caller holds the write lock and
    /// [`Self::hold_following`].
    pub(crate) fn catch_up_locked(&self) -> Result<Durable, StoreError> {
        let horizon = self.horizon();
        let durable = horizon.and_then(Horizon::durable);
        if let Some(durable) = durable {
            self.catch_up(durable)?;
            if !durable.generation.is_multiple_of(2) {
                // Whoever was replacing segments has died. What it replaced, everybody is to see.
                self.reload(Durable { generation: durable.generation.wrapping_add(1), ..durable })?;
            }
        }
        // Unless the writer before finished, and said so, something of it may stand behind the horizon.
        if durable.is_none() || horizon.is_some_and(Horizon::is_unfinished) {
            self.adopt_leftovers()?;
        }
        Ok(Durable { generation: self.generation(), end: self.state().cursor.end })
    }

    /// Tells every process how far the log is on disk. The caller holds the write lock.
    pub(crate) fn tell(&self, durable: Durable) {
        self.note_position(durable.end);
        // It may have been further, and something that was on disk is missing: the next one to open the store is to
        // know that as well.
        let end = Durable::place(self.position.load(Ordering::Acquire));
        self.horizon().into_iter().for_each(|horizon| horizon.publish(Durable { end, ..durable }));
    }

    /// Reads everything anew, since segments were replaced.
    pub(crate) fn reload(&self, durable: Durable) -> Result<(), StoreError> {
        let (media, directory) = (&*self.media, &self.directory);
        let saved = saved(media, directory);
        let Recovered { state, .. } =
            recover(media, directory, Mode::ReadOnly, Some(durable.end), saved.as_ref(), self.known)?;
        self.renew(state, durable);
        Ok(())
    }

    /// Puts what was read anew in place of the state, since segments were replaced. The caller holds
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

    /// Takes in what a writer left that died, cuts what is torn, and makes the rest durable. The caller holds the
    /// write lock and [`Self::hold_following`], and has caught up with the horizon.
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
            // Its maker may have died before its name was on disk.
            self.media.sync_dir(&log).map_err(io_error("sync", &log))?;
            state.seal_last();
            let segment = open_segment(&*self.media, &log, next, false)?;
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
        Ok((Segment::new(number, &path, file), size))
    }
}
