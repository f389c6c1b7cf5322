//! What an index holds of each conversation, loaded on first use.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use memory_core::ConversationId;

/// Values by conversation.
#[derive(Debug)]
pub(super) struct Conversations<T>(Mutex<HashMap<ConversationId, Arc<Entry<T>>>>);

/// The value of a conversation, present from its first use.
#[derive(Debug)]
pub(super) struct Entry<T>(OnceLock<RwLock<T>>);

impl<T> Default for Conversations<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Conversations<T> {
    fn lock(&self) -> MutexGuard<'_, HashMap<ConversationId, Arc<Entry<T>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn entry(&self, conversation: &ConversationId) -> Arc<Entry<T>> {
        Arc::clone(self.lock().entry(conversation.clone()).or_insert_with(|| Arc::new(Entry(OnceLock::new()))))
    }

    /// Acts on every value that was loaded. A failure does not keep it from the others.
    pub(super) fn each_loaded<E>(&self, mut act: impl FnMut(&mut T) -> Result<(), E>) -> Result<(), E> {
        let all: Vec<_> = self.lock().values().cloned().collect();
        let loaded = all.iter().filter_map(|entry| entry.0.get());
        loaded.map(|value| act(&mut value.write().unwrap_or_else(PoisonError::into_inner))).fold(Ok(()), Result::and)
    }
}

impl<T> Conversations<T> {
    /// What `look` gives of every value that was loaded.
    pub(super) fn look_at_loaded<R>(&self, mut look: impl FnMut(&ConversationId, &T) -> R) -> Vec<R> {
        let all: Vec<_> = self.lock().iter().map(|(id, entry)| (id.clone(), Arc::clone(entry))).collect();
        let loaded = all.iter().filter_map(|(id, entry)| Some((id, entry.0.get()?)));
        loaded.map(|(id, value)| look(id, &value.read().unwrap_or_else(PoisonError::into_inner))).collect()
    }
}

impl<T> Entry<T> {
    /// The value, loaded by `load` unless it is there. Requests for other conversations do not wait meanwhile.
    pub(super) fn read(&self, load: impl FnOnce() -> T) -> RwLockReadGuard<'_, T> {
        self.0.get_or_init(|| RwLock::new(load())).read().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Self::read`].
    pub(super) fn write(&self, load: impl FnOnce() -> T) -> RwLockWriteGuard<'_, T> {
        self.0.get_or_init(|| RwLock::new(load())).write().unwrap_or_else(PoisonError::into_inner)
    }
}
