//! Chat models over a network.
//!
//! Implements the port [`ChatModel`](memory_core::port::ChatModel).
//!
#![doc = include_str!("../README.md")]
//!
//! # Guide
//!
//! 1. A [`ChatModelName`] is what a configuration names: `openai:NAME`, `anthropic:NAME`, `bedrock:NAME`. [`chat_model()`]
//!    makes the model.
//! 2. [`OpenAiChat`], [`AnthropicChat`] and `BedrockChat` are these models; [`ChatOptions`] say how they are reached.
//! 3. Their errors are [`ChatError`](memory_core::port::ChatError)s. [`ModelError`] is the cause of
//!    [`Backend`](memory_core::port::ChatError::Backend).
//!
//! A request that is too long for the window is recognized by the status and the words of each service. Requests that
//! were throttled, failed or found no connection are repeated after pauses with jitter; `Retry-After` is honoured.
//!
//! # Features
//!
//! - `bedrock`: models of Amazon Bedrock.
//!
//! # Non-goals
//!
//! Limits of spending and the texts of requests: the engine has those.

mod anthropic;
#[cfg(feature = "bedrock")]
mod bedrock;
mod failure;
mod http;
mod openai;
mod options;
mod service;
mod sse;
#[cfg(test)]
mod stubs;

use std::sync::Arc;

use memory_core::port::ChatModel;

pub use self::{
    anthropic::AnthropicChat,
    failure::ModelError,
    openai::OpenAiChat,
    options::{ChatModelName, ChatOptions, InvalidChatModel, Provider},
};
#[cfg(feature = "bedrock")]
pub use bedrock::BedrockChat;
pub use memory_remote::ApiKey;

/// The model of a name. Sends nothing.
///
/// # Errors
/// [`ModelError::Setup`] for invalid options, and for a model of Bedrock without the feature `bedrock`.
pub fn chat_model(name: &ChatModelName, mut options: ChatOptions) -> Result<Arc<dyn ChatModel>, ModelError> {
    options.window = name.window.or(options.window);
    Ok(match name.provider {
        Provider::OpenAi => Arc::new(OpenAiChat::new(&name.name, options)?),
        Provider::Anthropic => Arc::new(AnthropicChat::new(&name.name, options)?),
        #[cfg(feature = "bedrock")]
        Provider::Bedrock => Arc::new(BedrockChat::new(&name.name, options)?),
        #[cfg(not(feature = "bedrock"))]
        Provider::Bedrock => {
            let what = "this build has no models of Bedrock: build it with the feature `bedrock`".to_owned();
            return Err(ModelError::Setup { what });
        }
    })
}
