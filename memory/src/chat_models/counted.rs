//! A chat model that counts its requests.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use memory_core::port::{BoxFuture, ChatError, ChatEvents, ChatModel, ChatReply, ChatRequest, TokenCounter as _};
use memory_embed::TiktokenCounter;
use memory_models::{ApiKey, ChatModelName, ChatOptions};

use crate::{Config, config::ChatSettings, spending::Spending};

/// The parts of a model that is not made yet.
struct Make {
    name: ChatModelName,
    settings: ChatSettings,
    region: Option<String>,
    plain_http: bool,
    /// Time limit of a reply, if it is not the default one.
    deadline: Option<Duration>,
}

impl Make {
    fn make(&self) -> Result<Arc<dyn ChatModel>, String> {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut options = ChatOptions::default().plain_http(self.plain_http);
        options.base = self.settings.base_url.clone().or_else(|| set(self.name.provider.base_variable()));
        options.region.clone_from(&self.region);
        options.deadline = self.deadline.unwrap_or(options.deadline);
        if let Some(variable) = &self.settings.key_variable {
            let key = ApiKey::from_env(variable);
            options.api_key = Some(key.ok_or_else(|| format!("the key is missing: set {variable}"))?);
        }
        memory_models::chat_model(&self.name, options).map_err(|error| error.to_string())
    }
}

/// A chat model that is made when it is first asked, counts its requests, and refuses those beyond the limits of a day.
pub(super) struct Counted {
    make: Make,
    made: OnceLock<Result<Arc<dyn ChatModel>, String>>,
    spending: Spending,
    counter: TiktokenCounter,
}

impl Counted {
    pub(super) fn new(
        name: ChatModelName,
        settings: ChatSettings,
        config: &Config,
        deadline: Option<Duration>,
    ) -> Self {
        let (region, plain_http) = (config.region.clone(), config.plain_http);
        Self {
            make: Make { name, settings, region, plain_http, deadline },
            made: OnceLock::new(),
            spending: Spending::of(&config.store),
            counter: TiktokenCounter::cl100k(),
        }
    }

    fn model(&self) -> Result<&Arc<dyn ChatModel>, ChatError> {
        let made = self.made.get_or_init(|| self.make.make()).as_ref();
        made.map_err(|detail| ChatError::Unauthorized { model: self.make.name.name.clone(), detail: detail.clone() })
    }

    /// Tokens of a request, counted by `cl100k_base`.
    fn tokens(&self, request: &ChatRequest) -> u64 {
        let texts = request.messages.iter().map(|message| self.counter.count(&message.text()));
        let system = request.system.as_ref().map_or(0, |system| self.counter.count(system));
        texts.map(u64::from).sum::<u64>() + u64::from(system)
    }

    /// Counts a request that begins, unless a limit of the day is reached.
    fn begin(&self, request: &ChatRequest) -> Result<String, ChatError> {
        let day = Spending::today();
        let exhausted = |detail: String| ChatError::Exhausted { model: self.make.name.name.clone(), detail };
        let ChatSettings { requests_per_day, tokens_per_day, .. } = self.make.settings;
        let is_limited = requests_per_day.is_some() || tokens_per_day.is_some();
        if is_limited {
            let uncounted = |error| exhausted(format!("the requests of {day} cannot be counted: {error}"));
            let spent = self.spending.day(&day).map_err(uncounted)?;
            let needed = self.tokens(request) + u64::from(request.max_reply_tokens.unwrap_or_default());
            for (unit, limit, spent, needed) in
                [("requests", requests_per_day, spent.requests, 1), ("tokens", tokens_per_day, spent.tokens(), needed)]
            {
                if let Some(limit) = limit.filter(|limit| spent.saturating_add(needed) > *limit) {
                    return Err(exhausted(format!(
                        "{spent} of {limit} {unit} of {day} (UTC) are spent, and the next request needs {needed}: more \
                         tomorrow, or with a higher --chat-{unit}-per-day"
                    )));
                }
            }
        }
        match self.spending.begin(&day, &self.make.name.name) {
            Err(error) if is_limited => Err(exhausted(format!("the requests of {day} cannot be counted: {error}"))),
            Err(error) => {
                tracing::warn!(%error, "a request to a chat model is not counted");
                Ok(day)
            }
            Ok(()) => Ok(day),
        }
    }

    async fn counted(
        &self,
        request: &ChatRequest,
        asked: BoxFuture<'_, Result<ChatReply, ChatError>>,
        day: String,
    ) -> Result<ChatReply, ChatError> {
        let reply = asked.await?;
        let mut usage = reply.usage;
        // A server that counts nothing is counted here.
        usage.prompt_tokens = usage.prompt_tokens.or_else(|| u32::try_from(self.tokens(request)).ok());
        usage.reply_tokens = usage.reply_tokens.or_else(|| Some(self.counter.count(&reply.message.text())));
        if let Err(error) = self.spending.end(&day, &self.make.name.name, usage) {
            tracing::warn!(%error, "the tokens of a chat model's reply are not counted");
        }
        Ok(reply)
    }
}

impl ChatModel for Counted {
    fn name(&self) -> &str {
        &self.make.name.name
    }

    /// Without a model each request says why there is none.
    fn context_window(&self) -> u32 {
        self.model().map_or(u32::MAX, |model| model.context_window())
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ChatError>> {
        Box::pin(async move {
            let (model, day) = (self.model()?, self.begin(request)?);
            self.counted(request, model.reply(request), day).await
        })
    }

    fn stream<'a>(
        &'a self,
        request: &'a ChatRequest,
        events: &'a dyn ChatEvents,
    ) -> BoxFuture<'a, Result<ChatReply, ChatError>> {
        Box::pin(async move {
            let (model, day) = (self.model()?, self.begin(request)?);
            self.counted(request, model.stream(request, events), day).await
        })
    }
}

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counted").field("model", &self.make.name).finish_non_exhaustive()
    }
}
