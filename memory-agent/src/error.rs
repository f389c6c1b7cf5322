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
    /// The window has no room for the smallest prompt. All tokens are those of the model's provider.
    #[error(
        "the window of {window} tokens has no room: the smallest prompt has {prompt}, as the provider counts, and may \
         have {budget}, next to {tools} of tools, {reply} for the reply and {frame} for what the provider adds. Offer \
         fewer tools, a shorter reply, or a model with a larger window"
    )]
    NoRoom {
        /// The model's window.
        window: u32,
        /// Tokens of the smallest prompt.
        prompt: u32,
        /// Tokens that a prompt may have: those of the window without the other three.
        budget: u32,
        /// Tokens of the tools' descriptions.
        tools: u32,
        /// Tokens kept for the reply.
        reply: u32,
        /// Tokens kept for roles, templates and frames of tools.
        frame: u32,
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

impl AgentError {
    /// True if the message or the tools take more room than there is, so that the same turn cannot succeed.
    #[must_use]
    pub const fn is_too_long(&self) -> bool {
        matches!(
            self,
            Self::NoRoom { .. }
                | Self::Model(ChatError::ContextOverflow { .. })
                | Self::Memory(memory::Error::QuestionTooLong { .. } | memory::Error::Plan(_))
        )
    }
}
