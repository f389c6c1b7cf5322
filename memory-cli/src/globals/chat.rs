//! Flags of chat models.

use clap::{Args, builder::FalseyValueParser};
use memory::ChatSettings;

/// Chat models, and the limits of what is spent on them.
#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// The chat model that writes summaries: openai:NAME, anthropic:NAME or bedrock:NAME, with ?window=TOKENS where it
    /// is a small one; it is sent the messages. None means that nothing is asked
    #[arg(long, value_name = "NAME|none", env = "MEMORY_CHAT_MODEL", default_value = "none")]
    chat_model: String,
    /// The address of the chat model's service, as in http://127.0.0.1:11434/v1 [default: OPENAI_BASE_URL,
    /// ANTHROPIC_BASE_URL, or the provider's own]
    #[arg(long, value_name = "URL", env = "MEMORY_CHAT_BASE_URL")]
    chat_base_url: Option<String>,
    /// The environment variable with the chat model's key [default: OPENAI_API_KEY, ANTHROPIC_API_KEY, or the AWS
    /// credentials]
    #[arg(long, value_name = "NAME", env = "MEMORY_CHAT_KEY_VARIABLE")]
    chat_key_variable: Option<String>,
    /// Another chat model for summaries, or none to have the summarizer write them [default: the chat model]
    #[arg(long, value_name = "NAME|none", env = "MEMORY_SUMMARY_MODEL")]
    summary_model: Option<String>,
    /// Instructions for summaries by a chat model, instead of the program's own
    #[arg(long, value_name = "TEXT", env = "MEMORY_SUMMARY_PROMPT")]
    summary_prompt: Option<String>,
    /// Have the chat model judge, while `memory context` waits, which summaries matter for the question; the turns under
    /// them are then shown word for word
    #[arg(long, env = "MEMORY_SMART_CONTEXT", value_parser = FalseyValueParser::new())]
    smart_context: bool,
    /// The most requests to chat models on one day (UTC), of all processes with the store [default: no limit]
    #[arg(long, value_name = "N", env = "MEMORY_CHAT_REQUESTS_PER_DAY")]
    chat_requests_per_day: Option<u64>,
    /// The most tokens of chat models on one day (UTC), of requests and replies together [default: no limit]
    #[arg(long, value_name = "TOKENS", env = "MEMORY_CHAT_TOKENS_PER_DAY")]
    chat_tokens_per_day: Option<u64>,
    /// The most requests for summaries in one run of this program [default: no limit]
    #[arg(long, value_name = "N", env = "MEMORY_CHAT_REQUESTS_PER_RUN")]
    chat_requests_per_run: Option<u64>,
    /// The most tokens for summaries in one run of this program [default: no limit]
    #[arg(long, value_name = "TOKENS", env = "MEMORY_CHAT_TOKENS_PER_RUN")]
    chat_tokens_per_run: Option<u64>,
}

impl ChatArgs {
    pub(super) fn settings(&self) -> ChatSettings {
        let mut settings = ChatSettings::default();
        settings.model = Some(self.chat_model.clone()).filter(|name| name != "none" && !name.is_empty());
        settings.summary_model.clone_from(&self.summary_model);
        settings.summary_prompt.clone_from(&self.summary_prompt);
        settings.smart_context = self.smart_context;
        settings.base_url.clone_from(&self.chat_base_url);
        settings.key_variable.clone_from(&self.chat_key_variable);
        settings.requests_per_day = self.chat_requests_per_day;
        settings.tokens_per_day = self.chat_tokens_per_day;
        settings.requests_per_run = self.chat_requests_per_run;
        settings.tokens_per_run = self.chat_tokens_per_run;
        settings
    }
}
