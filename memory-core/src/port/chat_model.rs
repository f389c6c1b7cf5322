//! Port: the model that replies.

use std::fmt;

use serde_json::{Value, json};

use super::{BoxError, BoxFuture};
use crate::{Message, message_to_json};

/// A request to a model.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct ChatRequest {
    /// Instructions that precede the messages.
    pub system: Option<String>,
    /// The messages. User and assistant take turns, the user first. The results of tool calls are the first blocks of
    /// the user's message that follows the calls; each call has its result, and each result its call.
    pub messages: Vec<Message>,
    /// The ends of the beginnings that later requests are likely to share, in order, at most four. A model whose
    /// provider asks for it has the provider cache up to there; another ignores them.
    pub breakpoints: Vec<Breakpoint>,
    /// The most tokens that the reply may have; the model's own limit by default.
    pub max_reply_tokens: Option<u32>,
}

/// The end of a beginning of a request: everything up to and including a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Breakpoint {
    /// The index of the message.
    pub message: usize,
    /// The index of the block in it.
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

    /// `{"system", "messages": [{"role", "content"}], "breakpoints": [{"message", "block"}], "max_reply_tokens"}`. The
    /// blocks are those of Anthropic's Messages API, as [`message_to_json`] writes them.
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
    /// Tokens of the request, where the provider reports them.
    pub prompt_tokens: Option<u32>,
}

impl ChatReply {
    /// A reply to a request of an unknown number of tokens.
    #[must_use]
    pub fn new(message: Message) -> Self {
        Self { message, prompt_tokens: None }
    }

    crate::setters! { into prompt_tokens: Option<u32> }
}

/// A language model.
///
/// Contract: a request beyond the window fails with [`ChatError::ContextOverflow`] and nothing else, because that error
/// starts a reduction.
pub trait ChatModel: fmt::Debug + Send + Sync {
    /// The model's name at its provider.
    fn name(&self) -> &str;

    /// Tokens that request and reply may have together.
    fn context_window(&self) -> u32;

    /// Asks for one reply.
    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ChatError>>;
}

/// Why there is no reply.
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
        /// Why.
        #[source]
        source: BoxError,
    },
}
