//! Events of a turn, as they happen.

use memory::{Json, Message, NodeId, Prompt, port::ChatEvent};

use crate::CallDone;

/// An event of a turn.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AgentEvent<'a> {
    /// A message is on disk.
    Appended {
        /// Number of the message.
        node: NodeId,
        /// The message.
        message: &'a Message,
    },
    /// The model is sent this prompt.
    Asked(&'a Prompt),
    /// A part of the model's reply has arrived.
    Part(ChatEvent),
    /// The request exceeded the window, and the parts of its reply are void. A smaller prompt follows.
    Overflow {
        /// Window in tokens, as the provider states it.
        window: u32,
        /// Tokens of the prompt that did not fit.
        tokens: u32,
    },
    /// The model takes no tools. The request is made again without them, and later ones have none.
    WithoutTools {
        /// The provider's message.
        why: &'a str,
    },
    /// A tool is called.
    Calling {
        /// Id of the call.
        id: &'a str,
        /// Name of the tool.
        name: &'a str,
        /// Arguments.
        input: &'a Json,
    },
    /// The result of a call is on disk.
    Called(&'a CallDone),
}

/// Receiver of events. Called where the turn is polled, in order.
pub trait AgentEvents: Send + Sync {
    /// Receives an event.
    fn event(&self, event: AgentEvent<'_>);
}

/// Ignores events.
impl AgentEvents for () {
    fn event(&self, _: AgentEvent<'_>) {}
}

impl<F: Fn(AgentEvent<'_>) + Send + Sync> AgentEvents for F {
    fn event(&self, event: AgentEvent<'_>) {
        self(event);
    }
}
