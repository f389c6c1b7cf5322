//! What running agents were shown last, by conversation.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use memory_core::{ConversationId, NodeId};

use crate::render::Part;

/// Most windows that are kept. One that was not used for the longest time goes first: it is read again from the record.
const MOST: usize = 64;

/// What a running agent was shown last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    /// The history, with what was recalled for a message of the user before that message.
    pub(crate) shown: Vec<Part>,
    /// How many messages it represents.
    pub(crate) nodes: u64,
    /// The last message of the user that was recalled for.
    pub(crate) asked: Option<NodeId>,
    /// The most tokens of a text or a tool result; longer ones are shown by head and tail.
    pub(crate) longest_result: Option<u32>,
}

/// The windows of a memory's conversations.
#[derive(Debug, Default)]
pub(crate) struct Windows(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// With the time of the last use.
    windows: HashMap<ConversationId, (Arc<Window>, u64)>,
    clock: u64,
}

impl Windows {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, conversation: &ConversationId) -> Option<Arc<Window>> {
        let mut inner = self.lock();
        inner.clock += 1;
        let now = inner.clock;
        let (window, used) = inner.windows.get_mut(conversation)?;
        *used = now;
        Some(Arc::clone(window))
    }

    pub(crate) fn keep(&self, conversation: &ConversationId, window: Window) {
        let mut inner = self.lock();
        inner.clock += 1;
        let now = inner.clock;
        inner.windows.insert(conversation.clone(), (Arc::new(window), now));
        if inner.windows.len() > MOST {
            let oldest = inner.windows.iter().min_by_key(|(_, (_, used))| *used).map(|(id, _)| id.clone());
            oldest.and_then(|oldest| inner.windows.remove(&oldest));
        }
    }
}
