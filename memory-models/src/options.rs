//! Names of chat models, and options of reaching them.

use std::{fmt, str::FromStr, time::Duration};

use memory_remote::{ApiKey, redacted};
use serde_json::{Map, Value};

/// Provider of a chat model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provider {
    /// OpenAI, and servers and gateways that speak its Chat Completions API.
    OpenAi,
    /// Anthropic, and gateways that speak its Messages API.
    Anthropic,
    /// Amazon Bedrock.
    Bedrock,
}

impl Provider {
    const ALL: [Self; 3] = [Self::OpenAi, Self::Anthropic, Self::Bedrock];

    /// The name before the colon.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Bedrock => "bedrock",
        }
    }

    /// Environment variable with the key.
    #[must_use]
    pub const fn key_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::Bedrock => "AWS_BEARER_TOKEN_BEDROCK",
        }
    }

    /// Environment variable with the address, for HTTP.
    #[must_use]
    pub const fn base_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_BASE_URL",
            Self::Anthropic => "ANTHROPIC_BASE_URL",
            Self::Bedrock => "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        }
    }
}

/// Smallest window that a name may state, in tokens.
const SMALLEST_WINDOW: u32 = 512;

/// Name of a chat model: `openai:NAME`, `anthropic:NAME` or `bedrock:NAME`, optionally with `?window=TOKENS`.
///
/// ```
/// use memory_models::{ChatModelName, Provider};
///
/// let name: ChatModelName = "openai:llama3.2:3b?window=8192".parse()?;
/// assert_eq!((name.provider, name.name.as_str(), name.window), (Provider::OpenAi, "llama3.2:3b", Some(8192)));
/// # Ok::<(), memory_models::InvalidChatModel>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChatModelName {
    /// The provider.
    pub provider: Provider,
    /// The provider's name of the model.
    pub name: String,
    /// The most tokens of request and reply together, if stated.
    pub window: Option<u32>,
}

/// Reason why a text does not name a chat model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidChatModel {
    /// No known provider is named.
    #[error("`{0}` does not name a chat model: write it as in `openai:NAME`, `anthropic:NAME` or `bedrock:NAME`")]
    Provider(String),
    /// The name is empty.
    #[error("the chat model has no name: write it as in `{0}:NAME`")]
    NoName(&'static str),
    /// The window is not a number of tokens.
    #[error("{0} is not the window of a chat model: write the number of tokens, at least {SMALLEST_WINDOW}")]
    Window(String),
    /// Another option than the window is set.
    #[error("{0} cannot be set in the name of a chat model: only the window can, as in `?window=8192`")]
    Option(String),
}

impl FromStr for ChatModelName {
    type Err = InvalidChatModel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || InvalidChatModel::Provider(redacted(text).into_owned());
        let (provider, rest) = text.split_once(':').ok_or_else(unknown)?;
        let provider = Provider::ALL.into_iter().find(|known| known.as_str() == provider).ok_or_else(unknown)?;
        let (name, options) = rest.split_once('?').unwrap_or((rest, ""));
        if name.trim().is_empty() {
            return Err(InvalidChatModel::NoName(provider.as_str()));
        }
        let mut window = None;
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let Some(tokens) = option.strip_prefix("window=") else {
                // The value may be a key.
                let name = option.split('=').next().unwrap_or_default();
                return Err(InvalidChatModel::Option(name.to_owned()));
            };
            let parsed = tokens.parse().ok().filter(|tokens| *tokens >= SMALLEST_WINDOW);
            window = Some(parsed.ok_or_else(|| InvalidChatModel::Window(tokens.to_owned()))?);
        }
        Ok(Self { provider, name: name.to_owned(), window })
    }
}

impl fmt::Display for ChatModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider.as_str(), self.name)?;
        self.window.map_or(Ok(()), |window| write!(f, "?window={window}"))
    }
}

/// Options of reaching a chat model.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct ChatOptions {
    /// Address of the service: before `/chat/completions` for OpenAI's protocol (`http://127.0.0.1:11434/v1`), before
    /// `/v1/messages` for Anthropic's, the endpoint for Bedrock. By default the provider's own.
    pub base: Option<String>,
    /// The key. By default the one in the provider's [variable](Provider::key_variable). A server on this machine may
    /// need none; Bedrock otherwise uses the AWS credentials chain.
    pub api_key: Option<ApiKey>,
    /// The AWS region, for Bedrock. By default the one of the environment, the profile or the machine.
    pub region: Option<String>,
    /// True to allow plain http to another machine, or to a proxy on one, which exposes the key.
    pub plain_http: bool,
    /// Maximum tokens of request and reply together. By default 128,000 for OpenAI, 200,000 for Anthropic and Bedrock,
    /// and 4,096 for another server, because some cut what is too long without an error.
    pub window: Option<u32>,
    /// Maximum tokens of a reply whose request states none. By default the service's own, and 4,096 for Anthropic,
    /// which requires one.
    pub max_reply_tokens: Option<u32>,
    /// Maximum attempts of a request that was throttled, failed or found no connection, at least 1. By default 4. A
    /// stream is not requested again after its first part.
    pub attempts: u32,
    /// Upper bound of the first pause after a failed attempt; doubles with each failure. The actual pause is a random
    /// part of the bound, or longer if the service asks for it. By default 0.5 s.
    pub first_pause: Duration,
    /// Maximum of that bound. By default 20 s.
    pub longest_pause: Duration,
    /// Maximum wait for the next bytes of a response. By default 2 minutes.
    pub timeout: Duration,
    /// Time limit of a request with all attempts and pauses. By default 5 minutes. A pause that would outlast it is not
    /// begun.
    pub deadline: Duration,
    /// Members added to the body of each request, such as `temperature`; `null` removes one. For Bedrock, the
    /// additional fields of the model.
    pub extra: Map<String, Value>,
    /// Values of the header `anthropic-beta`.
    pub betas: Vec<String>,
}

impl Default for ChatOptions {
    fn default() -> Self {
        Self {
            base: None,
            api_key: None,
            region: None,
            plain_http: false,
            window: None,
            max_reply_tokens: None,
            attempts: 4,
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(20),
            timeout: Duration::from_mins(2),
            deadline: Duration::from_mins(5),
            extra: Map::new(),
            betas: Vec::new(),
        }
    }
}

impl ChatOptions {
    memory_core::setters! {
        some into base: String,
        some api_key: ApiKey,
        some into region: String,
        const plain_http: bool,
        const some window: u32,
        const some max_reply_tokens: u32,
        const attempts: u32,
        const first_pause: Duration,
        const longest_pause: Duration,
        const timeout: Duration,
        const deadline: Duration,
        extra: Map<String, Value>,
        betas: Vec<String>,
    }
}

impl fmt::Debug for ChatOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may contain a password, and added members may contain anything.
        f.debug_struct("ChatOptions")
            .field("base", &self.base.as_deref().map(redacted))
            .field("api_key", &self.api_key)
            .field("region", &self.region)
            .field("plain_http", &self.plain_http)
            .field("window", &self.window)
            .field("max_reply_tokens", &self.max_reply_tokens)
            .field("attempts", &self.attempts)
            .field("timeout", &self.timeout)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_provider_a_name_and_perhaps_a_window() {
        for (text, provider, name, window) in [
            ("openai:gpt-5", Provider::OpenAi, "gpt-5", None),
            ("openai:org/model:free?window=32768", Provider::OpenAi, "org/model:free", Some(32_768)),
            ("anthropic:claude-haiku-4-5", Provider::Anthropic, "claude-haiku-4-5", None),
            ("bedrock:eu.amazon.nova-lite-v1:0", Provider::Bedrock, "eu.amazon.nova-lite-v1:0", None),
        ] {
            let read: ChatModelName = text.parse().unwrap();
            assert_eq!((read.provider, read.name.as_str(), read.window), (provider, name, window));
            assert_eq!(read.to_string(), text);
        }
    }

    #[test]
    fn a_text_that_names_no_model_is_refused_with_what_to_write() {
        let refusal = |text: &str| text.parse::<ChatModelName>().unwrap_err().to_string();
        assert!(refusal("gpt-5").contains("`openai:NAME`"));
        assert!(refusal("ollama:llama").contains("`openai:NAME`"));
        assert!(refusal("anthropic:").contains("`anthropic:NAME`"));
        assert!(refusal("openai:x?window=many").contains("many"));
        assert!(refusal("openai:x?window=10").contains("512"));
        assert!(refusal("openai:x?dimensions=10").contains("?window=8192"));
    }

    #[test]
    fn options_show_no_key() {
        let options = ChatOptions::default()
            .base("http://me:hunter2-secret@127.0.0.1/v1")
            .api_key(ApiKey::new("sk-options-secret").unwrap());
        let shown = format!("{options:?}");
        assert!(!shown.contains("hunter2") && !shown.contains("sk-options"), "{shown}");
    }
}
