//! Chat models of the configuration: made when they are first asked, counted, and stopped at the limits of a day.

#[cfg(feature = "chat")]
mod counted;

use std::{sync::Arc, time::Duration};

use memory_core::port::{ChatModel, Summarizer};
use memory_hooks::{MemoryBuilder, ModelSummarizer, SpendLimits};

use crate::{Config, DaySpending, spending::Spending};

/// Time limit of a judgement, which a prompt waits for.
const JUDGE_TIMEOUT: Duration = Duration::from_secs(15);

/// Most messages whose summaries one request asks for.
const TOGETHER: usize = 20;

/// Reasons why a chat model cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChatModelError {
    /// This program was built without chat models.
    #[error("this build has no chat models such as {name}: build it with the feature `chat`")]
    NotBuilt {
        /// Requested name.
        name: String,
    },
    /// The name names no chat model.
    #[cfg(feature = "chat")]
    #[error(transparent)]
    Name(#[from] memory_models::InvalidChatModel),
}

/// The chat model of a configuration with this name, counted in the store's spending. The network is first used at a
/// request, and so are the key and the address.
///
/// # Errors
/// [`ChatModelError`], if there is no such model, or this build has none.
pub fn chat_model(name: &str, config: &Config) -> Result<Arc<dyn ChatModel>, ChatModelError> {
    within(name, config, None)
}

/// The chat model with this name, whose replies take at most so long.
#[cfg(feature = "chat")]
fn within(name: &str, config: &Config, deadline: Option<Duration>) -> Result<Arc<dyn ChatModel>, ChatModelError> {
    let name: memory_models::ChatModelName = name.parse()?;
    // An address belongs to one provider.
    let provider = config.chat.named().and_then(|named| named.parse::<memory_models::ChatModelName>().ok());
    let is_same = provider.is_none_or(|model| model.provider == name.provider);
    let mut settings = config.chat.clone();
    if !is_same {
        (settings.base_url, settings.key_variable) = (None, None);
    }
    Ok(Arc::new(counted::Counted::new(name, settings, config, deadline)))
}

#[cfg(not(feature = "chat"))]
fn within(name: &str, _config: &Config, _deadline: Option<Duration>) -> Result<Arc<dyn ChatModel>, ChatModelError> {
    Err(ChatModelError::NotBuilt { name: name.to_owned() })
}

/// The environment variable in which the key of the configured chat model is missing; `None` if it has one, or a server
/// may do without: one on this machine or without TLS, and Bedrock, which has other credentials.
#[cfg(feature = "chat")]
#[must_use]
pub fn missing_key(config: &Config) -> Option<String> {
    let provider = config.chat.named()?.parse::<memory_models::ChatModelName>().ok()?.provider;
    let is_unset = |name: &str| std::env::var(name).map_or(true, |value| value.trim().is_empty());
    if let Some(variable) = &config.chat.key_variable {
        return is_unset(variable).then(|| variable.clone());
    }
    let base = config.chat.base_url.clone().or_else(|| std::env::var(provider.base_variable()).ok());
    let is_elsewhere = base.filter(|base| !base.is_empty()).is_none_or(|base| base.starts_with("https://"));
    let variable = provider.key_variable();
    let needs_one = is_elsewhere && provider != memory_models::Provider::Bedrock;
    (needs_one && is_unset(variable)).then(|| variable.to_owned())
}

/// True if a name is that of a chat model or an embedding model behind the same prefix.
#[must_use]
pub fn names_chat_model(name: &str) -> bool {
    matches!(name.split_once(':'), Some(("openai" | "anthropic" | "bedrock", _)))
}

/// Requests to chat models with this store by day, oldest first.
#[must_use]
pub fn spending(config: &Config) -> Vec<DaySpending> {
    Spending::of(&config.store).days()
}

/// The builder with the model that a configuration has judge summaries, if it has one do so.
pub(crate) fn with_judge(builder: MemoryBuilder, config: &Config) -> Result<MemoryBuilder, ChatModelError> {
    Ok(match config.chat.named().filter(|_| config.chat.smart_context) {
        Some(name) => builder.judge(within(name, config, Some(JUDGE_TIMEOUT))?, limits(config)),
        None => builder,
    })
}

fn limits(config: &Config) -> SpendLimits {
    let mut limits = SpendLimits::default();
    (limits.requests, limits.tokens) = (config.chat.requests_per_run, config.chat.tokens_per_run);
    limits
}

/// The summarizer that a configuration asks a chat model for; `None` if it names none.
pub(crate) fn summarizer(config: &Config) -> Result<Option<Arc<dyn Summarizer>>, ChatModelError> {
    let Some(name) = config.summary_model() else { return Ok(None) };
    let summarizer = ModelSummarizer::new(chat_model(name, config)?).limits(limits(config)).together(TOGETHER);
    Ok(Some(Arc::new(match &config.chat.summary_prompt {
        Some(prompt) => summarizer.system_prompt(prompt.as_str()),
        None => summarizer,
    })))
}

#[cfg(all(test, feature = "chat"))]
mod tests {
    use memory_core::{
        Message,
        port::{ChatError, ChatRequest},
    };
    use memory_models::InvalidChatModel;

    use super::*;
    use crate::{Access, ChatSettings};

    fn config(store: &std::path::Path, chat: ChatSettings) -> Config {
        Config { chat, ..Config::new(store, Access::Write) }
    }

    #[test]
    fn nothing_is_asked_unless_a_model_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let written = |chat: ChatSettings| summarizer(&config(directory.path(), chat)).unwrap();
        assert!(written(ChatSettings::default()).is_none());
        assert!(written(ChatSettings::default().summary_model("none").model("openai:m")).is_none());
        let written_by = |chat: ChatSettings| written(chat).unwrap().identity().strategy;
        assert_eq!(written_by(ChatSettings::default().model("openai:m?window=2048")), "model:m");
        assert_eq!(
            written_by(ChatSettings::default().model("openai:m").summary_model("anthropic:small")),
            "model:small"
        );
        let chosen = config(directory.path(), ChatSettings::default().model("openai:m")).summarizer("first-words");
        assert!(summarizer(&chosen).unwrap().is_none());
        let wrong = config(directory.path(), ChatSettings::default().model("gpt"));
        assert!(matches!(summarizer(&wrong), Err(ChatModelError::Name(InvalidChatModel::Provider(_)))));
    }

    #[test]
    fn a_day_has_limits_for_all_processes() {
        let directory = tempfile::tempdir().unwrap();
        // Nothing listens there.
        let chat = ChatSettings::default().base_url("http://127.0.0.1:9/v1").key_variable("PATH");
        let request = ChatRequest::new(vec![Message::user("Hello.")]).max_reply_tokens(10);
        let ask = |chat: ChatSettings| {
            let config = config(directory.path(), chat);
            Spending::of(directory.path()).begin(&Spending::today(), "another").unwrap();
            pollster::block_on(chat_model("openai:m", &config).unwrap().reply(&request)).unwrap_err()
        };
        let error = ask(chat.clone().requests_per_day(1));
        assert!(matches!(&error, ChatError::Exhausted { detail, .. } if detail.contains("1 of 1 requests")), "{error}");
        let error = ask(chat.clone().tokens_per_day(5));
        assert!(matches!(&error, ChatError::Exhausted { detail, .. } if detail.contains("of 5 tokens")), "{error}");
    }

    #[test]
    fn only_a_provider_elsewhere_needs_a_key() {
        let directory = tempfile::tempdir().unwrap();
        let missing = |chat: ChatSettings| missing_key(&config(directory.path(), chat));
        let openai = ChatSettings::default().model("openai:m");
        let none = Some("MEMORY_TEST_NO_SUCH_KEY".to_owned());
        assert_eq!(missing(openai.clone().key_variable("MEMORY_TEST_NO_SUCH_KEY")), none);
        assert_eq!(missing(openai.clone().key_variable("PATH")), None);
        assert_eq!(missing(openai.base_url("http://127.0.0.1:11434/v1")), None);
        assert_eq!(missing(ChatSettings::default().model("bedrock:m")), None);
        assert_eq!(missing(ChatSettings::default()), None);
    }

    #[test]
    fn a_missing_key_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let chat = ChatSettings::default().key_variable("MEMORY_TEST_NO_SUCH_KEY");
        let model = chat_model("openai:m", &config(directory.path(), chat)).unwrap();
        let error = pollster::block_on(model.reply(&ChatRequest::new(vec![Message::user("Hello.")]))).unwrap_err();
        assert!(error.to_string().contains("set MEMORY_TEST_NO_SUCH_KEY"), "{error}");
        assert!(Spending::of(directory.path()).days().is_empty(), "not counted");
    }
}
