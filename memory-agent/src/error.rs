//! Reasons why a turn has no answer.

use memory::{ConversationId, NodeId, port::ChatError};

/// Reason why a turn has no answer. The log has everything up to there; [`resume`](crate::Agent::resume) tries again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The memory failed.
    #[error(transparent)]
    Memory(#[from] memory::Error),
    /// The model failed before a word of its reply came.
    #[error(transparent)]
    Model(#[from] ChatError),
    /// Another agent answers in this conversation. Nothing was appended.
    #[error("`{conversation}` is being answered by process {pid} on {host}: wait until it is done, or end it")]
    Answering {
        /// The conversation.
        conversation: ConversationId,
        /// Process id of the other agent.
        pid: u32,
        /// Machine of the other agent.
        host: String,
    },
    /// The window has no room for the smallest prompt.
    #[error(
        "the window of {window} tokens has no room: the prompt needs {prompt} and gets {budget}, next to {tools} of \
         tools and {reply} for the reply. Offer fewer tools, a shorter reply, or a model with a larger window"
    )]
    NoRoom {
        /// The model's window in tokens.
        window: u32,
        /// Tokens of the smallest prompt.
        prompt: u32,
        /// Tokens that a prompt may have.
        budget: u32,
        /// Tokens of the tools' descriptions.
        tools: u32,
        /// Tokens kept for the reply.
        reply: u32,
    },
    /// Another process recorded a different answer or result at this place.
    #[error("another process continued the conversation at message {node}: resume it, or begin a new turn")]
    Elsewhere {
        /// The message of the other process.
        node: NodeId,
    },
    /// A tool has the name of another one.
    #[error("two tools are called `{name}`: rename one of them")]
    TwoTools {
        /// The name.
        name: String,
    },
}
