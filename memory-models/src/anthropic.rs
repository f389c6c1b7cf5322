//! Chat models by Anthropic's Messages API.

mod reply;
mod request;

use std::sync::Arc;

use memory_core::port::{ChatReply, ChatRequest};
use memory_remote::ApiKey;

use self::{
    reply::{Answer, Partial, StreamEvent},
    request::body,
};
use crate::{
    ChatOptions, ModelError, Provider,
    failure::{Failure, Target},
    http::{Http, add_extra},
    service::{Parts, Protocol, Service, chat_model},
};

const BASE: &str = "https://api.anthropic.com";
const VERSION: &str = "2023-06-01";
const WINDOW: u32 = 200_000;
/// Maximum tokens of a reply, which the service requires; that of its oldest models.
const MAX_REPLY_TOKENS: u32 = 4096;

/// A chat model that speaks Anthropic's Messages API (`POST BASE/v1/messages`).
///
/// The breakpoints of a request become `cache_control`. Works under any async runtime or none. Sends nothing before the
/// first request.
#[derive(Debug)]
pub struct AnthropicChat {
    service: Service<Anthropic>,
}

impl AnthropicChat {
    /// The model that the service calls `name`.
    ///
    /// # Errors
    /// [`ModelError::Setup`] for an invalid address or one that may not get the key, or for invalid options.
    pub fn new(name: &str, options: ChatOptions) -> Result<Self, ModelError> {
        let base = options.base.as_deref().unwrap_or(BASE).trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base);
        let target = Arc::new(Target::new(name.to_owned(), options.window.unwrap_or(WINDOW)));
        let key = options.api_key.clone().or_else(|| ApiKey::from_env(Provider::Anthropic.key_variable()));
        let key = key.as_ref().map(|key| ("x-api-key", "", key));
        let betas = options.betas.join(",");
        let mut headers = vec![("anthropic-version", VERSION)];
        if !betas.is_empty() {
            headers.push(("anthropic-beta", &betas));
        }
        let http = Http::new(Arc::clone(&target), base, &["v1", "messages"], key, &headers, &options)?;
        let protocol = Anthropic { http, options: options.clone() };
        Ok(Self { service: Service::start(protocol, target, options)? })
    }
}

chat_model!(AnthropicChat);

struct Anthropic {
    http: Http,
    options: ChatOptions,
}

impl Protocol for Anthropic {
    async fn attempt(&self, request: &ChatRequest, parts: Option<&Parts>) -> Result<ChatReply, Failure> {
        let Self { http, options } = self;
        let most = request.max_reply_tokens.or(options.max_reply_tokens).unwrap_or(MAX_REPLY_TOKENS);
        let mut body = body(request, &http.target.name, most, parts.is_some());
        add_extra(&mut body, options);
        let response = http.post(&body).await?;
        let Some(parts) = parts else {
            let answer: Answer = http.json(response).await?;
            return answer.reply(http);
        };
        let mut partial = Partial::default();
        http.events(response, |data| {
            let event: StreamEvent = http.event(data)?;
            if let StreamEvent::Error { .. } = event {
                return Err(http.target.classify_body(0, None, data));
            }
            partial.add(event, parts);
            Ok(partial.is_finished())
        })
        .await?;
        partial.reply(http)
    }
}

#[cfg(test)]
mod tests;
