//! The writer thread: all waiting requests go to disk together, with one sync.

use std::{
    collections::VecDeque,
    io, mem,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use memory_core::port::StoreError;

use super::{
    batch::{Pending, PlannedFrame, plan_fork},
    checkpointer::{Checkpointer, Moment},
    lock::Lock,
    request::{Answer, Request, answer},
    shared::Shared,
    tail::{Tail, create_segment},
};
use crate::log::{
    failure::{Failure, fill_random, repeated},
    format::{
        Location,
        codec::Opening,
        frame::{FRAME_HEADER, FrameHeader, FrameKind},
        segment::{SEGMENT_HEADER, SegmentHeader},
    },
    keys::{Keys, Slots},
    read::watermark::{Durable, Watermark},
    state::{Applied, State},
};

/// A commit group is written once it has this many bytes, even if more requests wait.
const MOST_GROUP_BYTES: usize = 8 << 20;

/// Time for which other processes that wait for the write lock go first.
const COURTESY: Duration = Duration::from_millis(2);

/// Frames that go to disk together.
#[derive(Debug, Default)]
struct Group {
    bytes: Vec<u8>,
    applied: Vec<Applied>,
    /// The place of the last frame.
    last_frame: Option<Location>,
    answers: Vec<Answer>,
}

/// Options of a writer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriterOptions {
    pub(crate) segment_bytes: u32,
    pub(crate) checkpoint_bytes: u64,
    /// Time limit of waiting for the write lock.
    pub(crate) lock_timeout: Duration,
}

/// Writes to the end of the log, which belongs to it while it holds the write lock.
#[derive(Debug)]
pub(crate) struct Writer {
    shared: Arc<Shared>,
    lock: Lock,
    /// Identifies this writer in `HORIZON`; not 0.
    name: u64,
    tail: Tail,
    next_lsn: u64,
    options: WriterOptions,
    checkpointer: Checkpointer,
    group: Group,
    pending: Pending,
    /// Salts for records of the next frames, if the store is encrypted.
    slots: Slots,
    poisoned: Option<String>,
}

/// Refuses callers when the writer has ended, after a panic too.
struct TurnAway(Arc<Shared>);

impl Drop for TurnAway {
    fn drop(&mut self) {
        self.0.queue.abandon();
    }
}

impl Writer {
    /// A writer that holds `lock`, of a store that was just opened.
    pub(crate) fn new(
        shared: Arc<Shared>,
        lock: Lock,
        options: WriterOptions,
        checkpoint: Location,
    ) -> Result<Self, StoreError> {
        let mut name = [0; 8];
        fill_random(&mut name)?;
        let name = u64::from_le_bytes(name).max(1);
        let (segment, allocated) = shared.open_last()?;
        let (end, next_lsn) = {
            let cursor = &shared.state().cursor;
            (cursor.end.offset, cursor.next_lsn)
        };
        let writer = Self {
            checkpointer: Checkpointer::new(name, checkpoint, options.checkpoint_bytes),
            shared,
            lock,
            name,
            tail: Tail { segment, end, allocated },
            next_lsn,
            options,
            group: Group::default(),
            pending: Pending::default(),
            slots: Slots::default(),
            poisoned: None,
        };
        writer.tell();
        writer.lock.release();
        Ok(writer)
    }

    /// Serves requests until the queue is closed.
    pub(crate) fn run(mut self) {
        let turn_away = TurnAway(Arc::clone(&self.shared));
        while let Some(requests) = self.shared.queue.take_all() {
            self.serve(requests);
        }
        self.close();
        drop(turn_away);
    }

    /// A store at rest takes no more space than its frames. Leftover zeros do no harm, and in a damaged segment it is
    /// unknown which bytes are zeros.
    fn close(&mut self) {
        let is_damaged = {
            let state = self.shared.state();
            state.damage.iter().any(|damage| damage.path == *self.tail.segment.path())
        };
        let is_short = self.tail.allocated <= u64::from(self.tail.end);
        if self.poisoned.is_some() || is_damaged || is_short && !self.checkpointer.is_due(&self.shared, Moment::Close) {
            return;
        }
        // A short wait: the thread that drops the store is blocked meanwhile.
        self.options.lock_timeout = self.options.lock_timeout.min(COURTESY * 50);
        if self.take_lock().is_err() {
            return;
        }
        if let Err(failure) = self.tail.trim() {
            tracing::debug!(why = failure.why(), "zeros stay after the end of the log");
        }
        self.lock.release();
        self.checkpointer.write_if_due(&self.shared, Moment::Close);
    }

    fn serve(&mut self, requests: VecDeque<Request>) {
        if let Some(why) = &self.poisoned {
            requests.into_iter().for_each(|request| request.refuse(self.shared.poisoned(why)));
            return;
        }
        let wanted = self.shared.watermark().map(Watermark::wanted);
        if let Err(error) = self.take_lock() {
            requests.into_iter().for_each(|request| request.refuse(repeated(&error)));
            return;
        }
        for request in requests {
            self.plan(request);
            if self.group.bytes.len() >= MOST_GROUP_BYTES && self.commit().is_err() {
                self.pending = Pending::default();
            }
        }
        drop(self.commit());
        self.pending = Pending::default();
        self.lock.release();
        self.give_way(wanted);
        if self.poisoned.is_none() {
            self.checkpointer.write_if_due(&self.shared, Moment::Between);
        }
    }

    /// Takes the write lock and applies what others wrote meanwhile.
    fn take_lock(&mut self) -> Result<(), StoreError> {
        let shared = Arc::clone(&self.shared);
        let waiting = || shared.watermark().into_iter().for_each(Watermark::want);
        self.lock.take(&*shared.media, self.options.lock_timeout, waiting)?;
        // Another process may have begun to write with another key.
        let caught_up = shared.directory.keys.refresh_to_write().and_then(|()| self.catch_up());
        if caught_up.is_err() {
            self.lock.release();
        }
        caught_up
    }

    fn catch_up(&mut self) -> Result<(), StoreError> {
        let shared = Arc::clone(&self.shared);
        let Some(watermark) = shared.watermark() else { return Ok(()) };
        if !watermark.is_in_place(&*shared.media, &shared.directory.path) {
            let why = "its file HORIZON was deleted, replaced or cut while it was open".to_owned();
            self.poisoned = Some(why.clone());
            return Err(shared.poisoned(&why));
        }
        let generation = shared.generation();
        if watermark.is_as_left_by(self.name) && watermark.peek().0 == generation && generation.is_multiple_of(2) {
            return Ok(());
        }
        self.lock.sign(&*shared.media);
        let _held = shared.hold_following();
        let durable = shared.catch_up_locked()?;
        let (segment, allocated) = shared.open_last()?;
        self.next_lsn = shared.state().cursor.next_lsn;
        self.tail = Tail { segment, end: durable.end.offset, allocated };
        self.tell();
        Ok(())
    }

    /// Publishes to other processes how far the log is on disk, and that this writer has finished.
    fn tell(&self) {
        let end = Location { segment: self.tail.segment.number(), offset: self.tail.end };
        self.shared.tell(Durable { generation: self.shared.generation(), end });
        self.shared.watermark().into_iter().for_each(|watermark| watermark.finish(self.name));
    }

    /// Lets waiting processes have the write lock: a process that releases a lock and takes it again at once is
    /// otherwise always the first.
    fn give_way(&self, wanted: Option<u64>) {
        let Some((watermark, wanted)) = self.shared.watermark().zip(wanted) else { return };
        if watermark.wanted() == wanted {
            return;
        }
        let (before, start) = (watermark.peek(), Instant::now());
        while watermark.peek() == before && start.elapsed() < COURTESY {
            thread::sleep(COURTESY / 20);
        }
    }

    /// Checks a request and puts its frame into the group.
    fn plan(&mut self, request: Request) {
        match request {
            Request::Append { owner, conversation, batch, reply } => {
                let planned = self.check(|pending, state| pending.plan_append(state, owner, &conversation, batch));
                match planned {
                    Ok((frame, appended)) => self.place(frame, Answer::Appended(reply, appended)),
                    Err(error) => answer(reply, Err(error)),
                }
            }
            Request::Record { owner, conversation, events, reply } => {
                let planned = self.check(|pending, state| pending.plan_record(state, owner, &conversation, events));
                match planned {
                    Ok((frame, recorded)) => self.place(frame, Answer::Recorded(reply, recorded)),
                    Err(error) => answer(reply, Err(error)),
                }
            }
            Request::Fork { parent, node, child, reply } => {
                // A fork shares the durable nodes of the parent, and the next request may be about the fork.
                let settled = self.settle().map_err(|failure| StoreError::from(&failure));
                let planned = settled.and_then(|()| self.check(|_, state| plan_fork(state, &parent, node, &child)));
                match planned {
                    Ok(frame) => self.place(Some(frame), Answer::Forked(reply)),
                    Err(error) => return answer(reply, Err(error)),
                }
                drop(self.settle());
            }
            Request::Seal { reply } => answer(reply, self.seal()),
        }
    }

    /// Commits the group, so that nothing is pending.
    fn settle(&mut self) -> Result<(), Failure> {
        let committed = self.commit();
        self.pending = Pending::default();
        committed
    }

    /// Begins a new segment unless the active one is empty.
    fn seal(&mut self) -> Result<(), StoreError> {
        if let Some(why) = &self.poisoned {
            return Err(self.shared.poisoned(why));
        }
        // The next segment would record that this one ends here, and the missing part would be forgotten.
        if let Some(damage) = self.shared.state().damage.first() {
            return Err(damage.clone().into());
        }
        let committed = self.settle();
        let is_empty = self.tail.end <= SEGMENT_HEADER;
        let sealed = committed.and_then(|()| if is_empty { Ok(()) } else { self.roll() });
        sealed.map_err(|failure| StoreError::from(&failure))
    }

    fn check<T>(&mut self, plan: impl FnOnce(&mut Pending, &State) -> Result<T, StoreError>) -> Result<T, StoreError> {
        if let Some(why) = &self.poisoned {
            return Err(self.shared.poisoned(why));
        }
        plan(&mut self.pending, &self.shared.state())
    }

    fn place(&mut self, frame: Option<PlannedFrame>, answer: Answer) {
        if let Some(frame) = frame
            && let Err(failure) = self.add(frame)
        {
            // The frame was checked against the group that has just failed. Nothing is pending any more.
            self.pending = Pending::default();
            return answer.give(Some((&failure).into()));
        }
        self.group.answers.push(answer);
    }

    /// Adds a frame to the group, in the next segment if this one has no room.
    fn add(&mut self, mut frame: PlannedFrame) -> Result<(), Failure> {
        let lsn = self.next_lsn + self.group.applied.len() as u64;
        let number = frame.number.unwrap_or(lsn);
        let key_epoch = self.shared.directory.keys.current();
        let mut header = FrameHeader {
            kind: FrameKind::Batch,
            conversation: number,
            lsn,
            nodes_before: frame.nodes_before,
            key_epoch,
            payload: 0,
            durable: 0,
        };
        if key_epoch > 0
            && let Err(failure) = self.seal_frame(&header, &mut frame)
        {
            // The frames before it are whole, and nothing of this one was written.
            self.commit()?;
            return Err(self.poison_unless_full(failure));
        }
        let bytes = frame.payload.frame_bytes();
        // An empty segment takes a frame of any length.
        if self.offset() > SEGMENT_HEADER && self.offset() as usize + bytes > self.options.segment_bytes as usize {
            self.commit()?;
            self.roll()?;
        }
        let offset = self.offset();
        let first_record = offset.saturating_add(u32::try_from(FRAME_HEADER).unwrap_or(u32::MAX));
        let said_at = Location { segment: self.tail.segment.number(), offset: first_record };
        let opening = || (Opening { name: frame.id.clone(), owner: frame.owner.clone(), past: frame.past }, said_at);
        let opened = frame.number.is_none().then(opening);
        if opened.is_some() {
            self.pending.opened(&frame.id, number);
        }
        header.payload = u32::try_from(bytes - FRAME_HEADER).unwrap_or(u32::MAX);
        header.durable = self.tail.end;
        let segment = &self.tail.segment;
        frame.locate(Location { segment: segment.number(), offset });
        let PlannedFrame { payload, nodes_before, changes, .. } = frame;
        self.group.last_frame = Some(Location { segment: segment.number(), offset });
        let place = segment.place(self.shared.directory.id, offset);
        let free = payload.finish_into(&header, &place, &mut self.group.bytes);
        self.shared.buffers.give(free);
        self.group.applied.push(Applied { conversation: number, opened, nodes_before, changes });
        Ok(())
    }

    /// Encrypts the records of a frame; its changes name their new places.
    fn seal_frame(&mut self, header: &FrameHeader, frame: &mut PlannedFrame) -> Result<(), Failure> {
        let keys = self.shared.directory.keys.clone();
        let payload = frame.payload.get(FRAME_HEADER..frame.payload.frame_bytes());
        if let Some(wanted) = self.slots.wanted(Keys::salted(payload)) {
            self.slots.add(keys.reserve(wanted)?);
        }
        let sealed = keys
            .seal(header, payload, &mut self.slots)
            .map_err(|why| Failure::new("encrypt a record of", &self.shared.directory.path, &io::Error::other(why)))?;
        frame.changes.iter_mut().for_each(|change| change.move_within(|offset| sealed.offset(offset)));
        let free = mem::replace(&mut frame.payload, sealed.payload);
        self.shared.buffers.give(free.into_buffer());
        Ok(())
    }

    /// Offset of the next frame of the group in its segment.
    fn offset(&self) -> u32 {
        self.tail.end.saturating_add(u32::try_from(self.group.bytes.len()).unwrap_or(u32::MAX))
    }

    /// Puts the group on disk, publishes it to readers, and answers.
    fn commit(&mut self) -> Result<(), Failure> {
        let Group { mut bytes, applied, last_frame, answers } = mem::take(&mut self.group);
        if bytes.is_empty() {
            // Every request was stored already, so there is nothing to write or to publish.
            answers.into_iter().for_each(|answer| answer.give(None));
            self.group.bytes = bytes;
            return Ok(());
        }
        let length = bytes.len();
        let written = self.write(&mut bytes);
        match &written {
            Ok(()) => self.publish(applied, last_frame, length),
            Err(failure) => tracing::error!(why = failure.why(), "a commit group was not written"),
        }
        for answer in answers {
            answer.give(written.as_ref().err().map(StoreError::from));
        }
        if bytes.capacity() <= 2 * MOST_GROUP_BYTES {
            bytes.clear();
            self.group.bytes = bytes;
        }
        written
    }

    /// Writes frames after the end, and after them zeros, which are appended to `bytes`.
    fn write(&mut self, bytes: &mut Vec<u8>) -> Result<(), Failure> {
        let until = u64::from(self.tail.end) + bytes.len() as u64;
        self.shared.watermark().into_iter().for_each(|watermark| watermark.begin(self.name));
        let reserved = self.tail.reserve(until, self.options.segment_bytes);
        reserved.map_err(|failure| self.poison_unless_full(failure))?;
        let zeros = self.tail.end_of_page(until) - until;
        bytes.resize(bytes.len() + usize::try_from(zeros).unwrap_or(0), 0);
        let file = self.tail.segment.file();
        if let Err(error) = file.write_at(bytes, u64::from(self.tail.end)) {
            let failure = Failure::new("write", self.tail.segment.path(), &error);
            if failure.is_disk_full() && self.tail.trim().is_ok() {
                return Err(failure);
            }
            return Err(self.poison(failure));
        }
        let synced = self.tail.segment.file().sync_data();
        synced.map_err(|error| self.poison(Failure::new("sync", self.tail.segment.path(), &error)))?;
        // After the sync, so that what is acknowledged was in its place then.
        self.tail
            .segment
            .check_place()
            .map_err(|error| self.poison(Failure::new("write", self.tail.segment.path(), &error)))
    }

    fn publish(&mut self, applied: Vec<Applied>, last_frame: Option<Location>, bytes: usize) {
        self.next_lsn += applied.len() as u64;
        self.tail.end = self.tail.end.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
        {
            let mut state = self.shared.state_mut();
            state.cursor.next_lsn = self.next_lsn;
            state.cursor.last_frame = last_frame.or(state.cursor.last_frame);
            state.cursor.end.offset = self.tail.end;
            for frame in applied {
                // Every write was checked against this very state. If it does not fit, memory and disk differ.
                if let Err(why) = state.apply(frame) {
                    self.poisoned = Some(format!("the index does not follow the log: {why}"));
                }
            }
        }
        self.tell();
    }

    /// Seals the segment and begins the next.
    fn roll(&mut self) -> Result<(), Failure> {
        self.shared.watermark().into_iter().for_each(|watermark| watermark.begin(self.name));
        self.tail.trim().map_err(|failure| self.poison_unless_full(failure))?;
        let Some(number) = self.tail.segment.number().checked_add(1) else {
            let error = io::Error::other("no segment can follow it: its number is the last that there is");
            return Err(self.poison(Failure::new("seal", self.tail.segment.path(), &error)));
        };
        let header = SegmentHeader {
            store: self.shared.directory.id,
            number,
            previous_end: self.tail.end,
            first_lsn: self.next_lsn,
            end: None,
            rewritten: 0,
        };
        let created =
            create_segment(&*self.shared.media, (&self.shared.directory.log(), &self.shared.directory.keys), &header);
        self.tail = created.map_err(|failure| self.poison_unless_full(failure))?;
        {
            let mut state = self.shared.state_mut();
            state.seal_last();
            Arc::make_mut(&mut state.segments).push(self.tail.segment.clone());
            state.cursor.end = Location { segment: header.number, offset: self.tail.end };
            state.cursor.declared_end = None;
        }
        self.tell();
        Ok(())
    }

    fn poison_unless_full(&mut self, failure: Failure) -> Failure {
        if failure.is_disk_full() { failure } else { self.poison(failure) }
    }

    fn poison(&mut self, failure: Failure) -> Failure {
        self.poisoned = Some(failure.why());
        failure.leaving_doubt()
    }
}
