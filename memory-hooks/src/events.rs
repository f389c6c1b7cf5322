//! What hooks are told about.

use memory_core::{ConversationId, Message, NodeId, NodeRange, WrittenBy};

/// Something that hooks may take part in.
pub trait HookEvent: Send + 'static {
    /// Hooks of an event that closes something run in reverse order, so that they nest.
    const REVERSED: bool = false;
}

/// A message was appended. What a hook changes is the copy that goes out to the model; the log keeps what
/// was said.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageAdded {
    /// Where.
    pub conversation: ConversationId,
    /// The stored message.
    pub node: NodeId,
    /// The copy that goes out.
    pub outgoing: Message,
}

/// Recalled words were added for a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecallUsed {
    /// Where.
    pub conversation: ConversationId,
    /// What was recalled.
    pub nodes: Vec<NodeRange>,
}

/// A compaction wrote summaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// Where.
    pub conversation: ConversationId,
    /// How many summaries.
    pub summaries: u64,
    /// Tokens of the coarsest view before.
    pub tokens_before: u32,
    /// Tokens of the coarsest view after.
    pub tokens_after: u32,
}

/// A strategy failed at a job, and another answered that job. Told once for each strategy and cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FellBack {
    /// Where it was first seen.
    pub conversation: ConversationId,
    /// Who failed.
    pub strategy: WrittenBy,
    /// Who answered, under its own name; `None` where messages keep the weight that they had.
    pub answered_by: Option<WrittenBy>,
    /// Why, in words.
    pub cause: String,
}

/// A compaction failed. What it had written before is recorded where it lowers the token count; nothing else changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionFailed {
    /// Where.
    pub conversation: ConversationId,
    /// Why, in words.
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
