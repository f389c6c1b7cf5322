//! Events that are passed to hooks.

use memory_core::{ConversationId, HookEvent, Message, NodeId, NodeRange, WrittenBy};

/// A message was appended. Hooks may change the outgoing copy for the model; the log keeps what was said.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MessageAdded {
    /// The conversation.
    pub conversation: ConversationId,
    /// The stored message.
    pub node: NodeId,
    /// The outgoing copy.
    pub outgoing: Message,
    /// The earlier messages whose words hooks have added to it, in order: a sign that memory was used.
    pub recalled: Vec<NodeRange>,
}

/// Recalled words were added for a question.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecallUsed {
    /// The conversation.
    pub conversation: ConversationId,
    /// The recalled nodes.
    pub nodes: Vec<NodeRange>,
    /// The ids of their pieces in the prompt, in order: `message 7`, `message 7 of trip`.
    pub pieces: Vec<String>,
}

/// A compaction wrote summaries.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// The conversation.
    pub conversation: ConversationId,
    /// How many summaries.
    pub summaries: u64,
    /// Tokens of the coarsest view before.
    pub tokens_before: u32,
    /// Tokens of the coarsest view after.
    pub tokens_after: u32,
}

/// A strategy failed at a job, and another did the job. Reported once for each strategy and cause.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FellBack {
    /// The conversation in which it was first seen.
    pub conversation: ConversationId,
    /// The strategy that failed.
    pub strategy: WrittenBy,
    /// The strategy that answered, under its own name; `None` where messages keep their importance.
    pub answered_by: Option<WrittenBy>,
    /// The cause, as text.
    pub cause: String,
}

/// A compaction failed. Summaries written before are recorded if they lower the token count; nothing else changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionFailed {
    /// The conversation.
    pub conversation: ConversationId,
    /// The error, as text.
    pub error: String,
}

impl HookEvent for MessageAdded {}
impl HookEvent for RecallUsed {
    const REVERSED: bool = true;
}
impl HookEvent for Compacted {
    const REVERSED: bool = true;
}
impl HookEvent for FellBack {
    const REVERSED: bool = true;
}
impl HookEvent for CompactionFailed {
    const REVERSED: bool = true;
}
