//! The answer with an agent's list.

use memory_core::port::ManagerState;
use serde::Serialize;
use serde_json::Value;

use super::message::StrandsMessage;

/// List of an agent, and the state of its manager.
#[derive(Debug, Serialize)]
pub(super) struct ListAnswer {
    pub(super) messages: Vec<StrandsMessage>,
    /// Index of each message in the list of the request; null for a new one.
    pub(super) from: Vec<Option<usize>>,
    /// Errors that did not fail the request.
    pub(super) notices: Vec<Value>,
    /// State; `None` of the manager that changes nothing.
    #[serde(flatten)]
    pub(super) state: Option<StateAnswer>,
}

/// State of a manager.
#[derive(Debug, Serialize)]
pub(super) struct StateAnswer {
    pub(super) state: ManagerState,
    /// Number of the session's leading messages that a restored list does not repeat, because they were removed, pinned
    /// or replaced by a view.
    pub(super) session_offset: u64,
}

impl ListAnswer {
    /// A list of messages from these indices.
    pub(super) fn new(messages: Vec<StrandsMessage>, from: Vec<Option<usize>>) -> Self {
        Self { messages, from, notices: Vec::new(), state: None }
    }

    /// The list of the request.
    pub(super) fn unchanged(messages: Vec<StrandsMessage>) -> Self {
        let from = (0..messages.len()).map(Some).collect();
        Self::new(messages, from)
    }

    /// A list of new messages.
    pub(super) fn replaced(messages: Vec<StrandsMessage>) -> Self {
        let from = vec![None; messages.len()];
        Self::new(messages, from)
    }
}
