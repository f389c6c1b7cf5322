//! Cache of a value per conversation: loaded on first use, dropped above a limit in bytes.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Instant,
};

use memory_core::{
    ConversationId,
    port::{CachedInMemory, DerivedKind},
};

use super::parallel::{cores, parallel};

/// Fewer conversations than this are loaded by one thread, because starting a thread takes as long as loading some of
/// them.
const LOADED_BY_ONE_THREAD: usize = 16;

/// Value of a conversation.
pub(super) trait Loaded {
    /// Bytes on the heap.
    fn heap(&self) -> usize;

    /// True if the files contain the whole value, so that dropping it loses nothing.
    fn is_saved(&self) -> bool;

    /// True if another process has changed the files since they were read. Takes microseconds.
    fn is_outdated(&self) -> bool;

    /// Rereads the files that another process has changed.
    fn refresh(&mut self);
}

#[derive(Debug)]
pub(super) struct Conversations<T> {
    entries: Mutex<HashMap<ConversationId, Arc<Entry<T>>>>,
    /// Values that were changed since the last flush. This reference keeps them from being dropped.
    changed: Mutex<Vec<Arc<Entry<T>>>>,
    /// Held during a flush, so that a concurrent flush waits for it.
    flushing: Mutex<()>,
    /// Maximum bytes of all values.
    limit: usize,
    /// Current bytes of all values.
    heap: AtomicUsize,
    /// Bytes above which values are dropped. Above the limit while nothing can be dropped.
    ceiling: AtomicUsize,
    /// Number of uses, as a clock for the least recently used value.
    clock: AtomicU64,
    opened: Instant,
}

/// Value of a conversation, empty until its first use.
#[derive(Debug)]
struct Entry<T> {
    value: OnceLock<RwLock<T>>,
    heap: AtomicUsize,
    used: AtomicU64,
    /// Second since opening in which its files were last checked for changes.
    looked: AtomicU64,
    is_changed: AtomicBool,
}

impl<T> Entry<T> {
    fn new() -> Self {
        let (heap, used, looked) = (AtomicUsize::new(0), AtomicU64::new(0), AtomicU64::new(u64::MAX));
        Self { value: OnceLock::new(), heap, used, looked, is_changed: AtomicBool::new(false) }
    }
}

impl<T: Loaded> Conversations<T> {
    /// Values of at most `limit` bytes together, not counting values that are in use or unsaved.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            entries: Mutex::default(),
            changed: Mutex::default(),
            flushing: Mutex::default(),
            limit,
            heap: AtomicUsize::new(0),
            ceiling: AtomicUsize::new(limit),
            clock: AtomicU64::new(0),
            opened: Instant::now(),
        }
    }

    /// Reads a value; `load` loads it if needed, without blocking other conversations.
    pub(super) fn read<R>(
        &self,
        conversation: &ConversationId,
        load: impl FnOnce() -> T,
        act: impl FnOnce(&T) -> R,
    ) -> R {
        let entry = self.entry(conversation);
        self.keep_up(&entry, self.opened.elapsed().as_secs());
        let result = act(&self.loaded(&entry, load).read().unwrap_or_else(PoisonError::into_inner));
        drop(entry);
        self.make_room();
        result
    }

    /// Changes a value, loaded as in [`Self::read`], without checking the files for changes.
    pub(super) fn write<R>(
        &self,
        conversation: &ConversationId,
        load: impl FnOnce() -> T,
        act: impl FnOnce(&mut T) -> R,
    ) -> R {
        let entry = self.entry(conversation);
        let mut value = self.loaded(&entry, load).write().unwrap_or_else(PoisonError::into_inner);
        let result = act(&mut value);
        self.account(&entry, &value);
        drop(value);
        drop(entry);
        self.make_room();
        result
    }

    /// Reads several values, in the order of `conversations`.
    pub(super) fn read_all<R>(
        &self,
        conversations: &[&ConversationId],
        load: impl Fn(&ConversationId) -> T + Sync,
        act: impl FnOnce(&[&T]) -> R,
    ) -> R
    where
        T: Send + Sync,
    {
        let entries = self.entries(conversations);
        self.load_all(conversations, &entries, &load);
        // Each lock is taken once, in the order of memory addresses, because two readers with a waiting writer between
        // them could deadlock.
        let mut order: Vec<usize> = (0..entries.len()).collect();
        let address = |at: &usize| entries.get(*at).map(Arc::as_ptr);
        order.sort_unstable_by_key(address);
        let mut guards: Vec<RwLockReadGuard<'_, T>> = Vec::with_capacity(entries.len());
        let (mut places, mut last) = (vec![0; entries.len()], None);
        for at in order {
            let (Some(entry), Some(conversation), Some(place)) =
                (entries.get(at), conversations.get(at), places.get_mut(at))
            else {
                continue;
            };
            if last != Some(Arc::as_ptr(entry)) {
                let value = self.loaded(entry, || load(conversation));
                guards.push(value.read().unwrap_or_else(PoisonError::into_inner));
                last = Some(Arc::as_ptr(entry));
            }
            *place = guards.len() - 1;
        }
        let values: Vec<&T> = places.iter().filter_map(|place| guards.get(*place).map(|guard| &**guard)).collect();
        let result = act(&values);
        drop(guards);
        drop(entries);
        self.release();
        result
    }

    /// Applies `act` to every value that was changed since it was saved. A failure does not stop the others.
    pub(super) fn flush<E>(&self, mut act: impl FnMut(&mut T) -> Result<(), E>) -> Result<(), E> {
        let _flushing = self.flushing.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner));
        let mut result = Ok(());
        for entry in changed {
            let Some(value) = entry.value.get() else { continue };
            let mut value = value.write().unwrap_or_else(PoisonError::into_inner);
            entry.is_changed.store(false, Ordering::Relaxed);
            result = result.and(act(&mut value));
            self.account(&entry, &value);
        }
        self.release();
        result
    }

    /// Drops values whose files were changed, unless they are in use or unsaved.
    pub(super) fn drop_outdated(&self) {
        let outdated: Vec<_> = self.look_at_loaded(|id, value| value.is_outdated().then(|| id.clone()));
        let mut entries = self.lock();
        for id in outdated.into_iter().flatten() {
            let dropped = entries.remove_entry(&id);
            if let Some((id, entry)) = dropped {
                if Arc::strong_count(&entry) == 1 {
                    self.heap.fetch_sub(entry.heap.load(Ordering::Relaxed), Ordering::Relaxed);
                } else {
                    entries.insert(id, entry);
                }
            }
        }
    }

    /// Applies `look` to every loaded value.
    pub(super) fn look_at_loaded<R>(&self, mut look: impl FnMut(&ConversationId, &T) -> R) -> Vec<R> {
        let all: Vec<_> = self.lock().iter().map(|(id, entry)| (id.clone(), Arc::clone(entry))).collect();
        let loaded = all.iter().filter_map(|(id, entry)| Some((id, entry.value.get()?)));
        loaded.map(|(id, value)| look(id, &value.read().unwrap_or_else(PoisonError::into_inner))).collect()
    }

    /// Sets the limit for values that are loaded from now on.
    pub(super) fn limit_to(&mut self, limit: usize) {
        self.limit = limit;
        self.ceiling.store(limit, Ordering::Relaxed);
    }

    /// Bytes and limit of the values, as data of `kind`.
    pub(super) fn held(&self, kind: DerivedKind) -> CachedInMemory {
        CachedInMemory::new(kind, self.heap() as u64, self.limit as u64)
    }

    pub(super) fn heap(&self) -> usize {
        self.heap.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConversationId, Arc<Entry<T>>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry(&self, conversation: &ConversationId) -> Arc<Entry<T>> {
        self.find(&mut self.lock(), conversation)
    }

    fn entries(&self, conversations: &[&ConversationId]) -> Vec<Arc<Entry<T>>> {
        let mut all = self.lock();
        let entries: Vec<_> = conversations.iter().map(|conversation| self.find(&mut all, conversation)).collect();
        drop(all);
        let now = self.opened.elapsed().as_secs();
        entries.iter().for_each(|entry| self.keep_up(entry, now));
        entries
    }

    /// Rereads files that another process has changed, at most one check per second.
    fn keep_up(&self, entry: &Arc<Entry<T>>, now: u64) {
        let Some(value) = entry.value.get() else { return };
        if entry.looked.swap(now, Ordering::Relaxed) != now
            && value.read().unwrap_or_else(PoisonError::into_inner).is_outdated()
        {
            let mut value = value.write().unwrap_or_else(PoisonError::into_inner);
            value.refresh();
            self.account(entry, &value);
        }
    }

    fn find(
        &self,
        entries: &mut HashMap<ConversationId, Arc<Entry<T>>>,
        conversation: &ConversationId,
    ) -> Arc<Entry<T>> {
        let entry = match entries.get(conversation) {
            Some(entry) => Arc::clone(entry),
            None => Arc::clone(entries.entry(conversation.clone()).or_insert_with(|| Arc::new(Entry::new()))),
        };
        entry.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        entry
    }

    fn loaded<'e>(&self, entry: &'e Arc<Entry<T>>, load: impl FnOnce() -> T) -> &'e RwLock<T> {
        entry.value.get_or_init(|| {
            let value = load();
            self.account(entry, &value);
            RwLock::new(value)
        })
    }

    /// Loads missing values on all cores.
    fn load_all(
        &self,
        conversations: &[&ConversationId],
        entries: &[Arc<Entry<T>>],
        load: &(impl Fn(&ConversationId) -> T + Sync),
    ) where
        T: Send + Sync,
    {
        let all = conversations.iter().zip(entries);
        let missing: Vec<_> = all.filter(|(_, entry)| entry.value.get().is_none()).collect();
        if missing.len() >= LOADED_BY_ONE_THREAD {
            let _: Vec<()> = parallel(
                cores(),
                missing,
                1,
                || (),
                |(), (conversation, entry), _| {
                    let _loaded = self.loaded(entry, || load(conversation));
                },
            );
        }
    }

    /// Updates the bytes of a value, and marks an unsaved value for the next flush.
    fn account(&self, entry: &Arc<Entry<T>>, value: &T) {
        let heap = value.heap();
        let before = entry.heap.swap(heap, Ordering::Relaxed);
        self.heap.fetch_add(heap, Ordering::Relaxed);
        self.heap.fetch_sub(before, Ordering::Relaxed);
        if !value.is_saved() && !entry.is_changed.swap(true, Ordering::Relaxed) {
            self.changed.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(entry));
        }
    }

    /// [`Self::make_room`] after values have become droppable.
    fn release(&self) {
        self.ceiling.store(self.limit, Ordering::Relaxed);
        self.make_room();
    }

    /// Drops the least recently used values if there are too many bytes, down to some bytes below the limit.
    fn make_room(&self) {
        if self.heap() <= self.ceiling.load(Ordering::Relaxed) {
            return;
        }
        let mut entries = self.lock();
        // Only the map references these values: nobody uses them and none is unsaved. Nobody can begin to use them
        // while the map is locked.
        let idle = entries.iter().filter(|(_, entry)| Arc::strong_count(entry) == 1);
        let mut idle: Vec<_> = idle
            .map(|(id, entry)| (entry.used.load(Ordering::Relaxed), entry.heap.load(Ordering::Relaxed), id.clone()))
            .collect();
        idle.sort_unstable();
        let room = self.limit - self.limit / 8;
        let mut dropped = Vec::new();
        for (_, heap, id) in idle {
            if self.heap() <= room {
                break;
            }
            dropped.extend(entries.remove(&id));
            self.heap.fetch_sub(heap, Ordering::Relaxed);
        }
        // If nothing could be dropped, wait for some growth before the next attempt.
        let left = self.heap();
        let ceiling = if dropped.is_empty() { left.saturating_add(left / 8) } else { self.limit };
        self.ceiling.store(ceiling.max(self.limit), Ordering::Relaxed);
        // Unmapping is slow, so the lock is released first.
        drop(entries);
    }
}

#[cfg(test)]
mod tests;
