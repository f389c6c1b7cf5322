//! The bodies of requests and answers, and what an error answer means.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::OpenAiModel;
use crate::{
    remote::{Failure, RemoteError},
    said::{excerpt, misread},
};

const HOW_CREDENTIALS: &str = "set OPENAI_API_KEY to a key of this endpoint";

/// What servers say of texts that are too long: OpenAI and vLLM, LiteLLM, Ollama, text-embeddings-inference.
const TOO_LONG: [&str; 6] = [
    "maximum context length",
    "maximum input length",
    "exceeds the context length",
    "must have less than",
    "too long",
    "too large",
];

/// What they say as if the fault were theirs, as llama.cpp and Ollama do; calls that fail otherwise are made again.
const TOO_LONG_IN_A_FAILURE: [&str; 3] =
    ["too large to process", "larger than the max context", "exceeds the context length"];

/// A longer wait than this is not waited for in one go.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

/// A request of `POST /embeddings`.
#[derive(Serialize)]
pub(super) struct Request<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

impl<'a> Request<'a> {
    pub(super) fn new(model: &'a OpenAiModel, texts: &'a [String]) -> Self {
        Self { model: model.name(), input: texts, encoding_format: "float", dimensions: model.asked_dimensions() }
    }
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Embedding>,
}

#[derive(Deserialize)]
struct Embedding {
    index: usize,
    embedding: Vec<f32>,
}

#[derive(Default, Deserialize)]
struct ErrorAnswer {
    error: Option<ErrorBody>,
}

#[derive(Default, Deserialize)]
struct ErrorBody {
    #[serde(default)]
    message: String,
    code: Option<serde_json::Value>,
}

/// The vectors for `texts` texts, in the order of their indices, which need not be the order they come in.
pub(super) fn vectors(body: &[u8], texts: usize) -> Result<Vec<Vec<f32>>, RemoteError> {
    let malformed = |what: String| RemoteError::Malformed { what };
    let Answer { mut data } = serde_json::from_slice(body).map_err(|error| malformed(misread(&error, body)))?;
    data.sort_by_key(|embedding| embedding.index);
    let indices = data.iter().map(|embedding| embedding.index);
    if data.len() != texts || !indices.eq(0..texts) {
        return Err(malformed(format!("{} vectors for {texts} texts, or indices that are not theirs", data.len())));
    }
    Ok(data.into_iter().map(|embedding| embedding.embedding).collect())
}

/// What an answer with a status of failure means.
pub(super) fn failure(status: u16, retry_after: Option<&str>, body: &[u8]) -> Failure {
    let parsed = serde_json::from_slice::<ErrorAnswer>(body).ok().and_then(|answer| answer.error);
    let ErrorBody { message, code } =
        parsed.unwrap_or_else(|| ErrorBody { message: String::from_utf8_lossy(body).into_owned(), code: None });
    let code = code.as_ref().and_then(|code| code.as_str()).unwrap_or_default();
    let detail = excerpt(&format!("status {status} {code} {message}"));
    let message = message.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
    let error = match (status, code) {
        (_, "insufficient_quota" | "billing_hard_limit_reached") => RemoteError::Quota { detail },
        (_, "model_not_found") | (404, _) => RemoteError::UnknownModel { detail },
        (400 | 422, _) if code == "context_length_exceeded" || says(&TOO_LONG) => RemoteError::TooLong { detail },
        (413, _) => RemoteError::TooLong { detail },
        (500, _) if says(&TOO_LONG_IN_A_FAILURE) => RemoteError::TooLong { detail },
        (401, _) => RemoteError::Credentials { how: HOW_CREDENTIALS, detail },
        (403, _) => RemoteError::NoAccess { detail },
        (429, _) => RemoteError::Throttled { attempts: 1, detail },
        (408 | 409 | 500.., _) => RemoteError::Failed { attempts: 1, detail },
        _ => RemoteError::Refused { detail },
    };
    Failure { error, retry_after: retry_after.and_then(seconds) }
}

/// The seconds of a `Retry-After`. The form with a date is not read: the pause is this crate's own then.
fn seconds(value: &str) -> Option<Duration> {
    let seconds: f64 = value.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok().map(|wait| wait.min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_read_in_seconds() {
        assert_eq!(seconds("7"), Some(Duration::from_secs(7)));
        assert_eq!(seconds(" 0.5 "), Some(Duration::from_millis(500)));
        assert_eq!(seconds("1e300"), None);
        assert_eq!(seconds("-1"), None);
        assert_eq!(seconds("999999"), Some(LONGEST_WAIT));
        assert_eq!(seconds("Wed, 21 Oct 2026 07:28:00 GMT"), None);
    }
}
