//! Reasons why a turn has no answer.

use memory::{NodeId, port::ChatError};

/// Reason why a turn has no answer. The log has everything up to there; [`resume`](crate::Agent::resume) tries again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The memory failed. [`Plan`](memory::Error::Plan) states the tokens needed if no prompt fits the window.
    #[error(transparent)]
    Memory(#[from] memory::Error),
    /// The model failed. Nothing of its reply was appended.
    #[error(transparent)]
    Model(#[from] ChatError),
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
