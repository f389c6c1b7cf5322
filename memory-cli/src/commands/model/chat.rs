//! `memory model test` for a chat model: one small request.

use std::time::Instant;

use memory::models;
use memory_core::{Message, port::ChatRequest};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Config, output::Output, output::grouped};

/// Most tokens of the reply; models that think need some for that.
const REPLY: u32 = 256;

/// A chat model that was tested.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// Name of the model.
    model: String,
    /// Most tokens of request and reply together.
    window: u32,
    /// Milliseconds to the reply.
    reply_ms: f64,
    /// Tokens of the request.
    prompt_tokens: Option<u32>,
    /// Tokens of the request that were read from the provider's cache.
    cached_tokens: Option<u32>,
    /// Tokens of the reply.
    reply_tokens: Option<u32>,
    /// The reply.
    reply: String,
}

/// Asks the chat model called `name` for one word.
pub(super) async fn run(name: &str, config: &Config, output: Output) -> anyhow::Result<()> {
    let model = models::chat_model(name, config)?;
    let request = ChatRequest::new(vec![Message::user("Reply with the word \"yes\" and nothing else.")])
        .system("You are asked whether you are there.".to_owned())
        .max_reply_tokens(REPLY);
    let started = Instant::now();
    let replied = model.reply(&request).await?;
    let took = started.elapsed().as_secs_f64() * 1e3;
    let text = replied.message.text();
    let usage = replied.usage;
    if output.json {
        return Ok(output.value(&Answer {
            model: model.name().to_owned(),
            window: model.context_window(),
            reply_ms: took,
            prompt_tokens: usage.prompt_tokens,
            cached_tokens: usage.cached_tokens,
            reply_tokens: usage.reply_tokens,
            reply: text,
        })?);
    }
    let count = |tokens: Option<u32>| tokens.map_or_else(|| "?".to_owned(), |tokens| grouped(tokens.into()));
    let [asked, cached, said] = [usage.prompt_tokens, usage.cached_tokens, usage.reply_tokens].map(count);
    output.line(&format!("model   {}", model.name()))?;
    output.line(&format!("window  {} tokens", grouped(model.context_window().into())))?;
    output.line(&format!("reply   {took:.0} ms, {:?}", text.trim()))?;
    output.line(&format!("tokens  {asked} asked, {cached} of them cached, {said} replied"))?;
    Ok(())
}
