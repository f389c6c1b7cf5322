//! Port: a chat model.

use std::{fmt, time::Duration};

use serde_json::{Value, json};

use super::{BoxError, BoxFuture};
use crate::{ContentBlock, Json, Message, json::message_to_json};

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
    /// Tools that the model may call.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub tools: Vec<ToolSpec>,
}

/// A tool that a model may call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name, unique in its request.
    pub name: String,
    /// Description of the tool: its effect, and when to call it.
    pub description: String,
    /// JSON schema of the input: an object.
    pub input_schema: Json,
}

impl ToolSpec {
    /// The tool called `name`.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>, input_schema: Json) -> Self {
        Self { name: name.into(), description: description.into(), input_schema }
    }
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
        Self { system: None, messages, breakpoints: Vec::new(), max_reply_tokens: None, tools: Vec::new() }
    }

    crate::setters! {
        into system: Option<String>,
        breakpoints: Vec<Breakpoint>,
        into max_reply_tokens: Option<u32>,
        tools: Vec<ToolSpec>,
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
    /// Tokens of request and reply.
    #[cfg_attr(feature = "serde", serde(default))]
    pub usage: ChatUsage,
    /// Reason why the reply ends, if the provider states one.
    #[cfg_attr(feature = "serde", serde(default))]
    pub stop: Option<StopReason>,
}

impl ChatReply {
    /// A reply to a request whose tokens are unknown.
    #[must_use]
    pub fn new(message: Message) -> Self {
        Self { message, usage: ChatUsage::default(), stop: None }
    }

    crate::setters! { usage: ChatUsage, into stop: Option<StopReason> }
}

/// Tokens of a request and its reply, as far as the provider reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct ChatUsage {
    /// Tokens of the request, cached ones included.
    pub prompt_tokens: Option<u32>,
    /// Tokens of the request that were read from the provider's cache.
    pub cached_tokens: Option<u32>,
    /// Tokens of the request that were written to the provider's cache.
    pub cache_written_tokens: Option<u32>,
    /// Tokens of the reply, reasoning included.
    pub reply_tokens: Option<u32>,
}

impl ChatUsage {
    crate::setters! {
        const prompt_tokens: Option<u32>,
        const cached_tokens: Option<u32>,
        const cache_written_tokens: Option<u32>,
        const reply_tokens: Option<u32>,
    }
}

/// Reason why a reply ends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum StopReason {
    /// The model has finished.
    EndOfTurn,
    /// The model calls tools.
    ToolUse,
    /// The reply has its maximum of tokens.
    MaxTokens,
    /// Another reason, by the provider's name.
    Other(String),
}

/// A part of a reply that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChatEvent {
    /// Next part of the text.
    Text(String),
    /// Next part of the model's reasoning.
    Reasoning(String),
    /// Beginning of a tool call.
    ToolCall {
        /// Id of the call.
        id: String,
        /// Name of the tool.
        name: String,
    },
    /// Next part of the arguments, as JSON text, of the call that began last or of another one.
    ToolArguments {
        /// Id of the call.
        id: String,
        /// Text that continues the arguments.
        part: String,
    },
    /// Tokens so far.
    Usage(ChatUsage),
    /// Reason why the reply ends.
    Stop(StopReason),
    /// The provider took no request, and is sent it again after a pause.
    Retry {
        /// The pause.
        after: Duration,
        /// Reason why it took none.
        detail: String,
    },
}

/// Receiver of a reply's parts. Called where the reply is polled, in order.
pub trait ChatEvents: Send + Sync {
    /// Receives a part.
    fn event(&self, event: ChatEvent);
}

impl<F: Fn(ChatEvent) + Send + Sync> ChatEvents for F {
    fn event(&self, event: ChatEvent) {
        self(event);
    }
}

/// A chat model.
///
/// Contract: a request that exceeds the window fails with [`ChatError::ContextOverflow`], and only such a request does,
/// because this error triggers a reduction. Dropping a future cancels its request. The message of a reply names the
/// model ([`Message::model`]), so that signed reasoning is sent to the same model only ([`Message::content_for`]).
pub trait ChatModel: fmt::Debug + Send + Sync {
    /// Name of the model at its provider.
    fn name(&self) -> &str;

    /// Maximum tokens of request and reply together.
    fn context_window(&self) -> u32;

    /// Requests a reply.
    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ChatError>>;

    /// Requests a reply, and passes its parts on while they arrive. After an error, the parts so far are void.
    ///
    /// By default the reply is requested as a whole, and then passed on.
    fn stream<'a>(
        &'a self,
        request: &'a ChatRequest,
        events: &'a dyn ChatEvents,
    ) -> BoxFuture<'a, Result<ChatReply, ChatError>> {
        Box::pin(async move {
            let reply = self.reply(request).await?;
            reply.replay(events);
            Ok(reply)
        })
    }
}

impl ChatReply {
    /// Passes on the whole reply as if its parts had arrived one after the other.
    pub fn replay(&self, events: &dyn ChatEvents) {
        for block in &self.message.content {
            match block {
                ContentBlock::Text(text) => events.event(ChatEvent::Text(text.clone())),
                ContentBlock::Reasoning { text, .. } => events.event(ChatEvent::Reasoning(text.clone())),
                ContentBlock::ToolUse { id, name, input } => {
                    events.event(ChatEvent::ToolCall { id: id.clone(), name: name.clone() });
                    events.event(ChatEvent::ToolArguments { id: id.clone(), part: input.to_string() });
                }
                _ => {}
            }
        }
        events.event(ChatEvent::Usage(self.usage));
        if let Some(stop) = &self.stop {
            events.event(ChatEvent::Stop(stop.clone()));
        }
    }
}

/// Reason for a missing reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The request is longer than the model's window.
    #[error("the request{} does not fit the window of {window} tokens", of_tokens(*prompt_tokens))]
    ContextOverflow {
        /// The window, as the provider states it, or else as it is configured.
        window: u32,
        /// Tokens of the request, if the provider counted them.
        prompt_tokens: Option<u32>,
    },
    /// The provider takes no requests with this key, or no key is set.
    #[error("no access to {model}: {detail}")]
    Unauthorized {
        /// The model.
        model: String,
        /// The provider's message, and the remedy.
        detail: String,
    },
    /// The provider takes no more requests for a while.
    #[error("too many requests to {model}: {detail}")]
    RateLimited {
        /// The model.
        model: String,
        /// The provider's message.
        detail: String,
        /// The time after which the provider takes requests again, if it states one.
        retry_after: Option<Duration>,
    },
    /// An amount is used up: of the provider's account, or of a limit that was set here.
    #[error("no more requests to {model}: {detail}")]
    Exhausted {
        /// The model.
        model: String,
        /// The amount.
        detail: String,
    },
    /// The model, or a filter of its provider, refuses to reply.
    #[error("{model} refused: {detail}")]
    Refused {
        /// The model.
        model: String,
        /// The reason that was given.
        detail: String,
    },
    /// The model takes no tools: the same request without them may be answered.
    #[error("{model} takes no tools: {detail}")]
    NoTools {
        /// The model.
        model: String,
        /// The provider's message.
        detail: String,
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

impl ChatError {
    /// A request that is longer than `window` tokens.
    #[must_use]
    pub const fn overflow(window: u32) -> Self {
        Self::ContextOverflow { window, prompt_tokens: None }
    }
}

fn of_tokens(tokens: Option<u32>) -> String {
    tokens.map(|tokens| format!(" of {tokens} tokens")).unwrap_or_default()
}
