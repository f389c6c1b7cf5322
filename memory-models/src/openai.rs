//! Chat models by OpenAI's Chat Completions API.

mod reply;
mod request;

use std::sync::Arc;

use memory_core::port::{ChatReply, ChatRequest};
use memory_remote::ApiKey;

use self::{
    reply::{Chunk, Completion, Partial},
    request::body,
};
use crate::{
    ChatOptions, ModelError, Provider,
    failure::{Failure, Target},
    http::{Http, add_extra},
    service::{Parts, Protocol, Service, chat_model},
};

const BASE: &str = "https://api.openai.com/v1";

/// Window of OpenAI's smaller models.
const WINDOW: u32 = 128_000;
/// Window of a model of another server: Ollama cuts what is longer, without an error.
const SERVERS_WINDOW: u32 = 4096;

/// A chat model that speaks OpenAI's Chat Completions API (`POST BASE/chat/completions`): OpenAI's own, or one of
/// Ollama, llama.cpp, vLLM or a gateway.
///
/// Breakpoints are not sent, since these servers find shared prefixes by themselves. Works under any async runtime or
/// none. Sends nothing before the first request.
#[derive(Debug)]
pub struct OpenAiChat {
    service: Service<OpenAi>,
}

impl OpenAiChat {
    /// The model that the server calls `name`.
    ///
    /// # Errors
    /// [`ModelError::Setup`] for an invalid address or one that may not get the key, or for invalid options.
    pub fn new(name: &str, options: ChatOptions) -> Result<Self, ModelError> {
        let base = options.base.as_deref().unwrap_or(BASE);
        let is_openai = base.trim_end_matches('/') == BASE;
        let window = options.window.unwrap_or(if is_openai { WINDOW } else { SERVERS_WINDOW });
        let target = Arc::new(Target::new(name.to_owned(), window));
        let key = options.api_key.clone().or_else(|| ApiKey::from_env(Provider::OpenAi.key_variable()));
        let key = key.as_ref().map(|key| ("authorization", "Bearer ", key));
        let http = Http::new(Arc::clone(&target), base, &["chat", "completions"], key, &[], &options)?;
        let protocol = OpenAi { http, is_openai, options: options.clone() };
        Ok(Self { service: Service::start(protocol, target, options)? })
    }
}

chat_model!(OpenAiChat);

struct OpenAi {
    http: Http,
    /// True for OpenAI itself, whose newer models refuse the older name of a member.
    is_openai: bool,
    options: ChatOptions,
}

impl Protocol for OpenAi {
    async fn attempt(&self, request: &ChatRequest, parts: Option<&Parts>) -> Result<ChatReply, Failure> {
        let Self { http, is_openai, options } = self;
        let most = request.max_reply_tokens.or(options.max_reply_tokens);
        let mut body = body(request, &http.target.name, most, *is_openai, parts.is_some());
        add_extra(&mut body, options);
        let response = http.post(&body).await?;
        let mut partial = Partial::default();
        match parts {
            None => {
                let completion: Completion = http.json(response).await?;
                partial.whole(completion);
            }
            Some(parts) => {
                let streamed = http
                    .events(response, |data| {
                        if data == b"[DONE]" {
                            return Ok(true);
                        }
                        let chunk: Chunk = http.event(data)?;
                        if chunk.error.is_some() {
                            return Err(http.target.classify_body(0, None, data));
                        }
                        partial.add(chunk, parts);
                        Ok(false)
                    })
                    .await;
                // Some servers close the stream after the last part without saying so.
                if !partial.is_finished() {
                    streamed?;
                }
            }
        }
        partial.reply(http)
    }
}

#[cfg(test)]
mod tests;
