//! Which conversations are being compacted by this memory.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use memory_core::ConversationId;

/// A store's lease keeps other processes away; this keeps a second task of this one from paying for the same summaries.
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<HashSet<ConversationId>>);

/// Ends when dropped, by whatever way the work ends.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    conversation: ConversationId,
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, HashSet<ConversationId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` while another task has the turn. Nobody waits for one: a hook that is told of a compaction may ask for a
    /// context, and would wait for itself.
    pub(crate) fn take(&self, conversation: &ConversationId) -> Option<Turn<'_>> {
        let is_free = self.lock().insert(conversation.clone());
        is_free.then(|| Turn { turns: self, conversation: conversation.clone() })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.lock().remove(&self.conversation);
    }
}
