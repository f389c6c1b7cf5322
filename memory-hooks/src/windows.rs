//! Windows that running agents were shown last, by conversation.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use lru::LruCache;
use memory_core::{ConversationId, NodeId, NodeRange};

use crate::render::Part;

/// Most windows that are kept. The least recently used one goes first, and is read again from the record.
const MOST: NonZeroUsize = NonZeroUsize::new(64).unwrap();

/// Window that a running agent was shown last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    /// The history, with words recalled for a message of the user before that message.
    pub(crate) shown: Vec<Part>,
    /// Number of messages that the window represents.
    pub(crate) nodes: u64,
    /// Erased messages among them when it was made. A window from before an erasure is not shown again.
    pub(crate) erased: Vec<NodeRange>,
    /// Last message of the user that messages were recalled for.
    pub(crate) asked: Option<NodeId>,
    /// Token budget that the window was made for.
    pub(crate) budget: u32,
    /// The most tokens of a text or a tool result; longer ones are shown by head and tail.
    pub(crate) longest_result: Option<u32>,
}

/// The windows of a memory's conversations.
#[derive(Debug)]
pub(crate) struct Windows(Mutex<LruCache<ConversationId, Arc<Window>>>);

impl Default for Windows {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MOST)))
    }
}

impl Windows {
    fn lock(&self) -> MutexGuard<'_, LruCache<ConversationId, Arc<Window>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, conversation: &ConversationId) -> Option<Arc<Window>> {
        self.lock().get(conversation).cloned()
    }

    pub(crate) fn keep(&self, conversation: &ConversationId, window: Window) {
        self.lock().put(conversation.clone(), Arc::new(window));
    }
}
