//! Port: a chat model.

use std::fmt;

use serde_json::{Value, json};

use super::{BoxError, BoxFuture};
use crate::{Message, json::message_to_json};

/// A request to a model.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct ChatRequest {
    /// Instructions that precede the messages.
    pub system: Option<String>,
    /// Messages, alternating between user and assistant, the user first. Results of tool calls are the first blocks of
    /// the user message after the calls; every call has a result, and every result a call.
    pub messages: Vec<Message>,
    /// Ends of the prefixes that later requests are likely to share, in order, at most four. The model sends them to a
    /// provider that caches prefixes on request, and ignores them otherwise.
    pub breakpoints: Vec<Breakpoint>,
    /// Maximum tokens of the reply; by default the model's own limit.
    pub max_reply_tokens: Option<u32>,
}

/// End of a prefix of a request: everything up to and including this block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Breakpoint {
    /// The index of the message.
    pub message: usize,
    /// The index of the block in the message.
    pub block: usize,
}

impl ChatRequest {
    /// A request without instructions.
    #[must_use]
    pub fn new(messages: Vec<Message>) -> Self {
        Self { system: None, messages, breakpoints: Vec::new(), max_reply_tokens: None }
    }

    crate::setters! {
        into system: Option<String>,
        breakpoints: Vec<Breakpoint>,
        into max_reply_tokens: Option<u32>,
    }

    /// JSON of the form `{"system", "messages": [{"role", "content"}], "breakpoints": [{"message", "block"}],
    /// "max_reply_tokens"}`. Blocks are those of Anthropic's Messages API, as [`message_to_json`] writes them.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let breakpoint = |at: &Breakpoint| json!({ "message": at.message, "block": at.block });
        json!({
            "system": self.system,
            "messages": self.messages.iter().map(message_to_json).collect::<Vec<_>>(),
            "breakpoints": self.breakpoints.iter().map(breakpoint).collect::<Vec<_>>(),
            "max_reply_tokens": self.max_reply_tokens,
        })
    }
}

/// A model's reply.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct ChatReply {
    /// The reply.
    pub message: Message,
    /// Tokens of the request, if the provider reports them.
    pub prompt_tokens: Option<u32>,
}

impl ChatReply {
    /// A reply to a request whose tokens are unknown.
    #[must_use]
    pub fn new(message: Message) -> Self {
        Self { message, prompt_tokens: None }
    }

    crate::setters! { into prompt_tokens: Option<u32> }
}

/// A chat model.
///
/// Contract: a request that exceeds the window fails with [`ChatError::ContextOverflow`], and only such a request does,
/// because this error triggers a reduction.
pub trait ChatModel: fmt::Debug + Send + Sync {
    /// Name of the model at its provider.
    fn name(&self) -> &str;

    /// Maximum tokens of request and reply together.
    fn context_window(&self) -> u32;

    /// Requests a reply.
    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ChatError>>;
}

/// Reason for a missing reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The request is longer than the model's window.
    #[error("the request does not fit the window of {window} tokens")]
    ContextOverflow {
        /// The window.
        window: u32,
    },
    /// The provider failed.
    #[error("model {model} failed")]
    Backend {
        /// The model.
        model: String,
        /// The cause.
        #[source]
        source: BoxError,
    },
}
