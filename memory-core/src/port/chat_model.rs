//! Port: the model that replies.

use std::fmt;

use super::{BoxError, BoxFuture};
use crate::Message;

/// A request to a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChatRequest {
    /// Instructions that precede the messages.
    pub system: Option<String>,
    /// The messages. The first may begin a prompt, and every tool call has its result.
    pub messages: Vec<Message>,
    /// The most tokens that the reply may have.
    pub max_reply_tokens: u32,
}

impl ChatRequest {
    /// A request without instructions.
    #[must_use]
    pub fn new(messages: Vec<Message>, max_reply_tokens: u32) -> Self {
        Self { system: None, messages, max_reply_tokens }
    }

    crate::setters! { some into system: String }
}

/// A model's reply.
#[derive(Clone, Debug, PartialEq)]
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
