//! Bodies of requests and responses, and the classification of error responses.

use memory_remote::{decode_error, excerpt};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::OpenAiModel;
use crate::remote::{Failure, RemoteError};

const HOW_CREDENTIALS: &str = "set OPENAI_API_KEY to a key of this endpoint";

/// Messages about texts that are too long, of OpenAI and vLLM, LiteLLM, Ollama, and text-embeddings-inference.
const TOO_LONG: [&str; 6] = [
    "maximum context length",
    "maximum input length",
    "exceeds the context length",
    "must have less than",
    "too long",
    "too large",
];

/// Messages about texts that are too long with status 500, from llama.cpp and Ollama. Other failures with that status
/// are retried.
const TOO_LONG_IN_A_FAILURE: [&str; 3] =
    ["too large to process", "larger than the max context", "exceeds the context length"];

/// The body of `POST /embeddings`.
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
struct EmbeddingResponse {
    data: Vec<Embedding>,
}

#[derive(Deserialize)]
struct Embedding {
    index: usize,
    embedding: Vec<f32>,
}

/// Vectors for `texts` texts, sorted by index, because a response may have another order.
pub(super) fn vectors(body: &[u8], texts: usize) -> Result<Vec<Vec<f32>>, RemoteError> {
    let malformed = |what: String| RemoteError::Malformed { what };
    let EmbeddingResponse { mut data } =
        serde_json::from_slice(body).map_err(|error| malformed(decode_error(&error, body)))?;
    data.sort_by_key(|embedding| embedding.index);
    let indices = data.iter().map(|embedding| embedding.index);
    if data.len() != texts || !indices.eq(0..texts) {
        return Err(malformed(format!("{} vectors for {texts} texts, or wrong indices", data.len())));
    }
    Ok(data.into_iter().map(|embedding| embedding.embedding).collect())
}

/// Classifies an error response.
pub(super) fn failure(status: u16, retry_after: Option<&str>, body: &[u8]) -> Failure {
    let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
    let (message, code) = match parsed.get("error").filter(|error| error.is_object()) {
        Some(error) => (error["message"].as_str().unwrap_or_default().to_owned(), error["code"].as_str()),
        None => (String::from_utf8_lossy(body).into_owned(), None),
    };
    let code = code.unwrap_or_default();
    let detail = excerpt(&format!("status {status} {code} {message}"));
    let message = message.to_lowercase();
    let mentions = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
    let error = match (status, code) {
        (_, "insufficient_quota" | "billing_hard_limit_reached") => RemoteError::Quota { detail },
        (_, "model_not_found") | (404, _) => RemoteError::UnknownModel { detail },
        (400 | 422, _) if code == "context_length_exceeded" || mentions(&TOO_LONG) => RemoteError::TooLong { detail },
        (413, _) => RemoteError::TooLong { detail },
        (500, _) if mentions(&TOO_LONG_IN_A_FAILURE) => RemoteError::TooLong { detail },
        (401, _) => RemoteError::Credentials { how: HOW_CREDENTIALS, detail },
        (403, _) => RemoteError::NoAccess { detail },
        (429, _) => RemoteError::Throttled { attempts: 1, detail },
        (408 | 409 | 500.., _) => RemoteError::Failed { attempts: 1, detail },
        _ => RemoteError::Refused { detail },
    };
    Failure { error, retry_after: retry_after.and_then(memory_remote::retry_after) }
}
