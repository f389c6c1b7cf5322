//! Conversations that this memory is compacting.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use memory_core::ConversationId;

/// Conversations under compaction. A store's lease excludes other processes; this excludes a second task of the same
/// process, so that no summary is paid for twice.
#[derive(Debug, Default)]
pub(crate) struct CompactionLocks(Mutex<HashSet<ConversationId>>);

/// The right to compact a conversation, until drop, however the work ends.
#[derive(Debug)]
pub(crate) struct CompactionLock<'a> {
    locks: &'a CompactionLocks,
    conversation: ConversationId,
}

impl CompactionLocks {
    fn lock(&self) -> MutexGuard<'_, HashSet<ConversationId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks a conversation; `None` while another task has it. Never waits: a hook that handles a
    /// compaction may request a prompt, and would wait for itself.
    pub(crate) fn take(&self, conversation: &ConversationId) -> Option<CompactionLock<'_>> {
        let is_free = self.lock().insert(conversation.clone());
        is_free.then(|| CompactionLock { locks: self, conversation: conversation.clone() })
    }
}

impl Drop for CompactionLock<'_> {
    fn drop(&mut self) {
        self.locks.lock().remove(&self.conversation);
    }
}
