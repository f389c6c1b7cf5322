//! Calls of models, counted by conversation.

use std::{
    num::NonZeroUsize,
    sync::{Mutex, PoisonError},
};

use lru::LruCache;
use memory_core::ConversationId;

/// Most conversations whose calls are counted. One that was not called for the longest time is forgotten first, and
/// counts from 1 again.
const MOST: NonZeroUsize = NonZeroUsize::new(1 << 12).unwrap();

/// Number of the last call of a model in this process, by conversation.
#[derive(Debug)]
pub(crate) struct Calls(Mutex<LruCache<ConversationId, u64>>);

impl Default for Calls {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MOST)))
    }
}

impl Calls {
    /// The number of the next call, from 1.
    pub(crate) fn next(&self, conversation: &ConversationId) -> u64 {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = calls.get_or_insert_mut_ref(conversation, || 0);
        *number += 1;
        *number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_that_was_not_called_for_long_is_forgotten_and_counts_from_1_again() {
        let calls = Calls::default();
        let id = |number: usize| ConversationId::new(&format!("talk-{number}")).unwrap();
        assert_eq!([calls.next(&id(0)), calls.next(&id(0)), calls.next(&id(1))], [1, 2, 1]);
        (2..MOST.get()).for_each(|number| assert_eq!(calls.next(&id(number)), 1));
        assert_eq!(calls.next(&id(0)), 3);
        // One conversation over the limit: the least recently called one goes.
        calls.next(&id(MOST.get()));
        assert_eq!(calls.0.lock().unwrap().len(), MOST.get());
        assert_eq!([calls.next(&id(0)), calls.next(&id(1))], [4, 1]);
    }
}
