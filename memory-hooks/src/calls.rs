//! Calls of models, counted by conversation.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use memory_core::ConversationId;

/// How many calls of models were reported in this process.
#[derive(Debug, Default)]
pub(crate) struct Calls(Mutex<HashMap<ConversationId, u64>>);

impl Calls {
    /// The number of the next call, from 1.
    pub(crate) fn next(&self, conversation: &ConversationId) -> u64 {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = calls.entry(conversation.clone()).or_default();
        *number += 1;
        *number
    }
}
