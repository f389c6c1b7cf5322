//! Events that are passed to hooks.

use memory_core::{
    ContentBlock, ConversationId, Json, Message, NodeId, NodeRange, Timestamp, WrittenBy, port::HookEvent,
};

/// A message was appended. Hooks may change the outgoing copy for the model; the log keeps the original message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MessageAdded {
    /// The conversation.
    pub conversation: ConversationId,
    /// The stored message.
    pub node: NodeId,
    /// The outgoing copy.
    pub outgoing: Message,
    /// Earlier messages that the model is shown verbatim anyway, in order.
    pub visible: Vec<NodeRange>,
    /// Earlier messages whose words hooks added to the outgoing copy, in order; empty if no memory was used.
    pub recalled: Vec<NodeRange>,
}

/// An agent that works on a conversation was created.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentInitialized {
    /// The conversation.
    pub conversation: ConversationId,
}

/// An earlier conversation continues.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionRestored {
    /// The conversation.
    pub conversation: ConversationId,
    /// Number of messages in the conversation.
    pub messages: u64,
    /// Time of the last message, if known.
    pub last_at: Option<Timestamp>,
}

/// An agent is about to answer its user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BeforeInvocation {
    /// The conversation.
    pub conversation: ConversationId,
}

/// An agent has answered, or failed to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AfterInvocation {
    /// The conversation.
    pub conversation: ConversationId,
    /// Calls of the model in this invocation.
    pub model_calls: u64,
}

/// A model is about to be called.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BeforeModelCall {
    /// The conversation.
    pub conversation: ConversationId,
    /// Number of the call in this process, from 1, counted by conversation, across invocations. A conversation that was
    /// not used while 4,096 others were counts from 1 again.
    pub call: u64,
    /// Tokens of the request, if known.
    pub projected_tokens: Option<u64>,
    /// The model's window in tokens, if known.
    pub window: Option<u64>,
}

/// A model has answered, or failed to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AfterModelCall {
    /// The conversation.
    pub conversation: ConversationId,
    /// The number of the call, as in [`BeforeModelCall`].
    pub call: u64,
    /// The answer; `None` if there is none.
    pub reply: Option<Message>,
    /// Cause of a missing answer, as text.
    pub error: Option<String>,
}

/// A tool is about to be called. Hooks may change the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BeforeToolCall {
    /// The conversation.
    pub conversation: ConversationId,
    /// The call's id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Arguments of the call.
    pub input: Json,
}

/// A tool has answered, or failed to. Hooks may change the result before it is appended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AfterToolCall {
    /// The conversation.
    pub conversation: ConversationId,
    /// The call's id.
    pub id: String,
    /// Result of the tool.
    pub content: Vec<ContentBlock>,
    /// True if the tool failed.
    pub is_error: bool,
}

/// A hook failed at an event that closes something. The other hooks were called; nothing was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookFailed {
    /// The hook.
    pub hook: String,
    /// The error, as text.
    pub error: String,
}

/// Recalled words were added for a question.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecallUsed {
    /// The conversation.
    pub conversation: ConversationId,
    /// The recalled nodes.
    pub nodes: Vec<NodeRange>,
    /// Ids of the recalled pieces in the prompt, in order: `message 7`, `message 7 of trip`.
    pub pieces: Vec<String>,
}

/// A model judged which of the shown summaries matter for a question.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextJudged {
    /// The conversation.
    pub conversation: ConversationId,
    /// The model's name.
    pub model: String,
    /// Messages of the summaries to judge.
    pub asked: Vec<NodeRange>,
    /// Messages that matter, the most important first. As many of them as fit are shown verbatim.
    pub chosen: Vec<NodeRange>,
}

/// A compaction begins to write summaries.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionStarted {
    /// The conversation.
    pub conversation: ConversationId,
    /// Tokens of the smallest view before.
    pub tokens_before: u32,
}

/// A compaction wrote summaries.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// The conversation.
    pub conversation: ConversationId,
    /// Number of summaries written.
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
    /// The strategy that answered, under its own name; `None` if messages keep their importance.
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

/// Implements `HookEvent`: hooks of `before` events run in order, hooks of `after` events in reverse.
macro_rules! events {
    (before $($before:ident)*; after $($after:ident)*) => {
        $(impl HookEvent for $before {})*
        $(impl HookEvent for $after {
            const REVERSED: bool = true;
        })*
    };
}

events! {
    before AgentInitialized SessionRestored BeforeInvocation MessageAdded BeforeModelCall BeforeToolCall CompactionStarted;
    after AfterInvocation AfterModelCall AfterToolCall ContextJudged RecallUsed Compacted FellBack CompactionFailed HookFailed
}
