//! Failures of services, and their classification.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use memory_core::port::ChatError;
use memory_remote::excerpt;
use serde_json::Value;

/// Reason why a service gave no reply; source of [`ChatError::Backend`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The settings are invalid.
    #[error("{what}")]
    Setup {
        /// The invalid setting.
        what: String,
    },
    /// The service answered with an error.
    #[error("{} ({detail})", answered(*status))]
    Status {
        /// Status of HTTP; 0 for an error in the middle of a stream.
        status: u16,
        /// The service's message.
        detail: String,
    },
    /// No response arrived.
    #[error("no answer from the service: check the network and the address ({detail})")]
    NoAnswer {
        /// The cause.
        detail: String,
    },
    /// The service was silent for too long.
    #[error("no answer within {after:?}: allow more time, or try later")]
    TimedOut {
        /// The allowed time.
        after: Duration,
    },
    /// The response ended before the reply did.
    #[error("the reply was cut off ({detail})")]
    Cut {
        /// The cause.
        detail: String,
    },
    /// The response violates the protocol.
    #[error("the response is not a reply: {what}")]
    Malformed {
        /// The fault.
        what: String,
    },
}

/// How a service answered with an error of this status.
fn answered(status: u16) -> String {
    match status {
        0 => "the service broke its answer off with an error".to_owned(),
        status => format!("the service answered with status {status}"),
    }
}

/// A failed attempt.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: ChatError,
    /// True if another attempt may succeed.
    pub(crate) is_transient: bool,
    /// Minimum pause before it, if the service states one.
    pub(crate) retry_after: Option<Duration>,
}

/// The model of a service.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) name: String,
    /// Tokens of request and reply together. Lowered once a service states less of a [whole reply](Self::learn).
    window: AtomicU32,
}

/// An answer that is an error.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Refusal<'a> {
    /// Status of HTTP; 0 for an error in the middle of a stream.
    pub(crate) status: u16,
    /// Kind and code of the error, as the service names them.
    pub(crate) codes: [&'a str; 2],
    pub(crate) message: &'a str,
    pub(crate) retry_after: Option<Duration>,
    /// Tokens of the request and of the window, if the service states them as numbers.
    pub(crate) prompt_tokens: Option<u32>,
    pub(crate) window: Option<u32>,
}

/// Codes of a request that is too long, of OpenAI and llama.cpp, and of Anthropic.
const OVERFLOW_CODES: [&str; 4] =
    ["context_length_exceeded", "exceed_context_size_error", "request_too_large", "model_context_window_exceeded"];

/// Messages about a request that is too long, in lower case: of OpenAI, Anthropic, Bedrock, Ollama, vLLM and gateways.
const OVERFLOW_PHRASES: [&str; 24] = [
    "maximum context length",
    "context_length_exceeded",
    "too many tokens",
    "context length",
    "input is too long",
    "prompt is too long",
    "input length and `max_tokens` exceed context limit",
    "input length exceeds context window",
    "input and output tokens exceed your context limit",
    "too many total text bytes",
    "exceeds the max_model_len",
    "exceed model maximum",
    "exceeds model maximum",
    "exceeded model maximum",
    "exceed customer model maximum",
    "exceeds customer model maximum",
    "exceeded customer model maximum",
    "prompt is longer than the context",
    "exceeds the available context",
    "exceed the available context",
    "exceeded max context length",
    "context size has been exceeded",
    "exceeds the context window",
    "exceeds the maximum number of tokens allowed",
];

/// Codes of an account without credit.
const EXHAUSTED_CODES: [&str; 3] = ["insufficient_quota", "billing_hard_limit_reached", "billing_error"];

/// Messages about an account without credit.
const EXHAUSTED_PHRASES: [&str; 3] =
    ["credit balance is too low", "exceeded your current quota", "insufficient credits"];

/// Messages about a model without tools, in lower case: of Ollama, vLLM, llama.cpp, OpenRouter and Bedrock.
const NO_TOOLS_PHRASES: [&str; 6] = [
    "does not support tools",
    "doesn't support tool use",
    "endpoints found that support tool use",
    "tools is not supported",
    "tools param requires --jinja",
    "requires --enable-auto-tool-choice",
];

const ACCESS_CODES: [&str; 3] = ["authentication_error", "permission_error", "invalid_api_key"];
const FILTER_CODES: [&str; 3] = ["content_filter", "content_policy_violation", "guardrail_intervened"];
/// Codes of passing faults, which stand without a status in the middle of a stream.
const FAULT_CODES: [&str; 5] = ["overloaded_error", "api_error", "server_error", "internal_error", "timeout_error"];

impl Target {
    pub(crate) fn new(name: String, window: u32) -> Self {
        Self { name, window: AtomicU32::new(window) }
    }

    pub(crate) fn window(&self) -> u32 {
        self.window.load(Ordering::Relaxed)
    }

    /// A request that is too long.
    pub(crate) fn overflow(&self, window: Option<u32>, prompt_tokens: Option<u32>) -> Failure {
        let window = window.filter(|window| *window > 0).map_or(self.window(), |stated| stated.min(self.window()));
        lasting(ChatError::ContextOverflow { window, prompt_tokens })
    }

    /// Keeps the window that a service has stated.
    pub(crate) fn learn(&self, error: &ChatError) {
        if let ChatError::ContextOverflow { window, .. } = error {
            self.window.fetch_min(*window, Ordering::Relaxed);
        }
    }

    pub(crate) fn refused(&self, detail: &str) -> Failure {
        lasting(ChatError::Refused { model: self.name.clone(), detail: excerpt(detail) })
    }

    /// A failure after which another attempt may succeed.
    pub(crate) fn failed(&self, error: ModelError) -> Failure {
        let is_transient = !matches!(error, ModelError::Setup { .. });
        let error = ChatError::Backend { model: self.name.clone(), source: error.into() };
        Failure { error, is_transient, retry_after: None }
    }

    /// Classifies an error that the service answered.
    pub(crate) fn classify(&self, refusal: Refusal<'_>) -> Failure {
        let Refusal { status, codes, message, retry_after, prompt_tokens, window } = refusal;
        let lower = message.to_lowercase();
        let mentions = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
        let is_code = |known: &[&str]| known.iter().any(|code| codes.contains(code));
        let model = self.name.clone();
        let code = codes.iter().rev().find(|code| !code.is_empty()).copied().unwrap_or_default();
        let status_text = if status == 0 { String::new() } else { format!("{status} ") };
        let detail = excerpt(&format!("{status_text}{code} {message}"));
        let may_overflow = matches!(status, 0 | 200 | 400 | 413 | 422 | 500);
        if status == 413 || is_code(&OVERFLOW_CODES) || may_overflow && mentions(&OVERFLOW_PHRASES) {
            return self
                .overflow(window.or_else(|| stated_window(&lower)), prompt_tokens.or_else(|| stated_tokens(&lower)));
        }
        if status == 402 || is_code(&EXHAUSTED_CODES) || mentions(&EXHAUSTED_PHRASES) {
            return lasting(ChatError::Exhausted { model, detail });
        }
        if matches!(status, 401 | 403) || is_code(&ACCESS_CODES) {
            return lasting(ChatError::Unauthorized { model, detail });
        }
        if matches!(status, 0 | 200 | 400 | 404 | 422 | 500) && mentions(&NO_TOOLS_PHRASES) {
            return lasting(ChatError::NoTools { model, detail });
        }
        if is_code(&FILTER_CODES) {
            return lasting(ChatError::Refused { model, detail });
        }
        if status == 429 || codes.contains(&"rate_limit_error") || codes.contains(&"rate_limit_exceeded") {
            let error = ChatError::RateLimited { model, detail, retry_after };
            return Failure { error, is_transient: true, retry_after };
        }
        let is_transient = matches!(status, 408 | 409 | 500..) || is_code(&FAULT_CODES);
        let source = ModelError::Status { status, detail: excerpt(&format!("{code} {message}")) }.into();
        Failure { error: ChatError::Backend { model, source }, is_transient, retry_after }
    }

    /// Classifies the body of an error response, or an error in the middle of a stream: `{"error": {"type", "code",
    /// "message", …}}`, `{"error": "…"}`, or any text.
    pub(crate) fn classify_body(&self, status: u16, retry_after: Option<Duration>, body: &[u8]) -> Failure {
        let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = String::from_utf8_lossy(body);
        let error = parsed.get("error").unwrap_or(&parsed);
        let member = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
        let number = |name: &str| error.get(name).and_then(Value::as_u64).and_then(|value| u32::try_from(value).ok());
        // Gateways answer with status 200, and state the actual one as a number in the place of the code.
        let stated = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        let message = match (error.as_str(), member("message")) {
            (Some(message), _) => message,
            (None, "") => &text,
            (None, message) => message,
        };
        self.classify(Refusal {
            status: if status >= 400 { status } else { stated.unwrap_or(status) },
            codes: [member("type"), member("code")],
            message,
            retry_after,
            prompt_tokens: number("n_prompt_tokens"),
            window: number("n_ctx"),
        })
    }
}

fn lasting(error: ChatError) -> Failure {
    Failure { error, is_transient: false, retry_after: None }
}

/// The window that a message states: `maximum context length is 8192 tokens`, `210000 tokens > 200000 maximum`.
fn stated_window(message: &str) -> Option<u32> {
    number_after(message, "maximum context length is ").or_else(|| number_after(message, " tokens > "))
}

/// Tokens of the request that a message states: `resulted in 9000 tokens`, `too long: 210000 tokens > 200000 maximum`.
fn stated_tokens(message: &str) -> Option<u32> {
    number_after(message, "resulted in ")
        .or_else(|| number_after(message, "you requested "))
        .or_else(|| number_after(message, "prompt is too long: "))
}

fn number_after(message: &str, words: &str) -> Option<u32> {
    let (_, rest) = message.split_once(words)?;
    let digits = rest.split(|c: char| !c.is_ascii_digit() && c != ',').next()?;
    digits.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn failure(status: u16, body: &Value) -> Failure {
        let body = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
        Target::new("m".to_owned(), 100_000).classify_body(status, None, body.as_bytes())
    }

    #[track_caller]
    fn check_overflow(status: u16, body: &Value, expected: (u32, Option<u32>)) {
        match failure(status, body) {
            Failure { error: ChatError::ContextOverflow { window, prompt_tokens }, is_transient: false, .. } => {
                assert_eq!((window, prompt_tokens), expected, "{body}");
            }
            other => panic!("{other:?} for {status} {body}"),
        }
    }

    #[test]
    fn an_overflow_is_known_by_status_and_words_of_every_service() {
        let openai = json!({"error": {"type": "invalid_request_error", "code": "context_length_exceeded", "message":
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."}});
        check_overflow(400, &openai, (8192, Some(9001)));
        let llama = json!({"error": {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 2031,
            "n_ctx": 512, "message": "the request exceeds the available context size"}});
        check_overflow(400, &llama, (512, Some(2031)));
        let anthropic = json!({"type": "error", "error": {"type": "invalid_request_error",
            "message": "prompt is too long: 210000 tokens > 90000 maximum"}});
        check_overflow(400, &anthropic, (90_000, Some(210_000)));
        let too_large =
            json!({"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds it"}});
        check_overflow(413, &too_large, (100_000, None));
        for message in [
            "Input is too long for requested model.",
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            "The input length exceeds the context length",
            "the prompt is longer than the context length",
            "exceeded max context length by 12 tokens",
            "Prompt exceeds customer model maximum",
            "This request exceeds the max_model_len of the engine",
            "Too many total text bytes",
        ] {
            check_overflow(400, &json!({"error": {"message": message}}), (100_000, None));
            check_overflow(400, &json!({"error": message}), (100_000, None));
            check_overflow(400, &message.into(), (100_000, None));
        }
        check_overflow(500, &json!({"error": "the input length exceeds the context length"}), (100_000, None));
    }

    #[test]
    fn another_error_is_no_overflow() {
        for (status, code, message) in [
            (
                400,
                "invalid_request_error",
                "max_tokens is too large: 100000. It supports at most 16384 completion tokens",
            ),
            (400, "unsupported_parameter", "Unsupported parameter: 'max_tokens'"),
            (400, "invalid_request_error", "messages: at least one message is required"),
            (404, "model_not_found", "The model `x` does not exist"),
            (429, "ThrottlingException", "Too many tokens, please wait before trying again."),
            (503, "", "the maximum context length is being loaded"),
        ] {
            let failure = failure(status, &json!({"error": {"type": code, "message": message}}));
            assert!(!matches!(failure.error, ChatError::ContextOverflow { .. }), "{failure:?}");
        }
    }

    #[test]
    fn failures_have_types() {
        let of = |status: u16, code: &str, message: &str| {
            failure(status, &json!({"error": {"code": code, "message": message}}))
        };
        let quota = of(429, "insufficient_quota", "You exceeded your current quota");
        assert!(matches!(quota, Failure { error: ChatError::Exhausted { .. }, is_transient: false, .. }));
        let credit = of(400, "", "Your credit balance is too low to access the Anthropic API");
        assert!(matches!(credit.error, ChatError::Exhausted { .. }));
        assert!(matches!(of(401, "invalid_api_key", "Incorrect").error, ChatError::Unauthorized { .. }));
        let slow = of(429, "rate_limit_exceeded", "Slow down");
        assert!(matches!(slow, Failure { error: ChatError::RateLimited { .. }, is_transient: true, .. }));
        assert!(matches!(of(400, "content_filter", "Filtered").error, ChatError::Refused { .. }));
        let tools = of(400, "", "registry.ollama.ai/library/gemma:2b does not support tools");
        assert!(matches!(tools, Failure { error: ChatError::NoTools { .. }, is_transient: false, .. }), "{tools:?}");
        assert!(of(529, "overloaded_error", "Overloaded").is_transient && of(503, "", "").is_transient);
        assert!(!of(404, "model_not_found", "no").is_transient);
        // An error in a stream, which has no status, and one that a gateway wraps into an answer.
        let ChatError::Backend { source, .. } = of(0, "overloaded_error", "Overloaded").error else { panic!() };
        assert_eq!(source.to_string(), "the service broke its answer off with an error (overloaded_error Overloaded)");
        assert!(of(0, "", "x").error.to_string().contains("failed") && !of(0, "", "x").is_transient);
        let wrapped = failure(200, &json!({"error": {"code": 429, "message": "Rate limited"}}));
        assert!(matches!(wrapped.error, ChatError::RateLimited { .. }), "{wrapped:?}");
    }

    #[test]
    fn a_smaller_window_is_remembered() {
        let target = Target::new("m".to_owned(), 4096);
        for (stated, window) in [(512, 512), (8192, 4096)] {
            let error = target.overflow(Some(stated), None).error;
            assert!(matches!(error, ChatError::ContextOverflow { window: said, .. } if said == window), "{error:?}");
        }
        assert_eq!(target.window(), 4096, "a message may be the fault");
        target.learn(&ChatError::overflow(512));
        assert_eq!(target.window(), 512);
    }
}
