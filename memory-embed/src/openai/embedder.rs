//! The embedder that calls an OpenAI-compatible endpoint.

use std::fmt;

use memory_core::{
    ModelId,
    port::{BoxFuture, EmbedError, Embedder},
};
use memory_remote::{redacted, with_causes};
use reqwest::{Client, Response, Url, header::RETRY_AFTER};

use super::{
    OpenAiModel,
    wire::{self, Request},
};
use crate::remote::{ApiKey, Failure, Limits, Protocol, Purpose, Remote, RemoteError, RemoteOptions};

/// Environment variable with the key.
pub const OPENAI_KEY_VARIABLE: &str = "OPENAI_API_KEY";

const BASE: &str = "https://api.openai.com/v1";

/// Maximum bytes of a response; 96 vectors of 3072 components take 4 MB.
const MAX_RESPONSE_BYTES: usize = 64 << 20;

/// Maximum texts of a call. OpenAI takes 2,048, servers of other models fewer.
const MAX_TEXTS: usize = 96;

/// Maximum tokens of all texts of a call. OpenAI takes 300,000.
const MAX_CALL_TOKENS: usize = 100_000;

/// Options of reaching an OpenAI-compatible endpoint.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenAiOptions {
    /// Address before `/embeddings`, such as `http://127.0.0.1:11434/v1`. By default OpenAI's.
    pub base: Option<String>,
    /// The key. By default the one in [`OPENAI_KEY_VARIABLE`]. A local server may need none.
    pub api_key: Option<ApiKey>,
    /// True to allow plain http to another machine, or to a proxy on one, which exposes the key.
    pub plain_http: bool,
    /// Retries, timeouts, concurrency and chunks.
    pub calls: RemoteOptions,
}

impl OpenAiOptions {
    memory_core::setters! {
        some into base: String,
        some api_key: ApiKey,
        const plain_http: bool,
        calls: RemoteOptions,
    }
}

impl fmt::Debug for OpenAiOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { base, api_key, plain_http, calls } = self;
        // The address may contain a password.
        f.debug_struct("OpenAiOptions")
            .field("base", &base.as_deref().map(redacted))
            .field("api_key", api_key)
            .field("plain_http", plain_http)
            .field("calls", calls)
            .finish()
    }
}

/// Embeds texts with a model behind an endpoint that speaks the OpenAI embeddings protocol (`POST BASE/embeddings`).
///
/// Vectors are scaled to unit length. A text of more than [`RemoteOptions::chunk_tokens`], or of more than [the model's
/// limit](OpenAiModel::tokens), is cut into overlapping chunks at sentence boundaries and has one vector for each
/// chunk. Documents and queries are encoded alike. Redirects are not followed, because they would carry the key. The
/// key is not sent over plain http to another machine, unless [allowed](OpenAiOptions::plain_http). An endpoint on this
/// machine is called without a proxy.
///
/// Works under any async runtime or none. Sends nothing before the first text.
#[derive(Debug)]
pub struct OpenAiEmbedder {
    remote: Remote<Endpoint>,
}

impl OpenAiEmbedder {
    /// Creates the embedder. Sends nothing.
    ///
    /// # Errors
    /// [`RemoteError::Setup`] for an invalid address or one that may not get the key, for invalid options, or if no
    /// thread can be started.
    pub fn new(model: OpenAiModel, options: OpenAiOptions) -> Result<Self, RemoteError> {
        let key = options.api_key.or_else(|| ApiKey::from_env(OPENAI_KEY_VARIABLE));
        let endpoint = Endpoint::new(model, options.base.as_deref().unwrap_or(BASE), key.as_ref(), options.plain_http)?;
        let (id, dimensions) = (endpoint.model.model_id(), endpoint.model.dimensions());
        let limits = Limits { tokens: endpoint.model.chunk_tokens(), texts: MAX_TEXTS, call_tokens: MAX_CALL_TOKENS };
        Ok(Self { remote: Remote::start(endpoint, id, dimensions, limits, options.calls)? })
    }
}

impl Embedder for OpenAiEmbedder {
    fn model(&self) -> &ModelId {
        self.remote.model()
    }

    fn dimensions(&self) -> usize {
        self.remote.dimensions()
    }

    fn embed_documents<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vec<Vec<f32>>>, EmbedError>> {
        Box::pin(self.remote.documents(texts))
    }

    fn embed_query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
        Box::pin(self.remote.query(text))
    }
}

struct Endpoint {
    model: OpenAiModel,
    address: Url,
    client: Client,
}

impl Endpoint {
    fn new(model: OpenAiModel, base: &str, key: Option<&ApiKey>, plain_http: bool) -> Result<Self, RemoteError> {
        let key = key.map(|key| ("authorization", "Bearer ", key));
        let user_agent = concat!("memory-embed/", env!("CARGO_PKG_VERSION"));
        let endpoint = memory_remote::Endpoint { base, path: &["embeddings"], key, plain_http, user_agent };
        let (client, address) = memory_remote::client(endpoint).map_err(|what| RemoteError::Setup { what })?;
        Ok(Self { model, address, client })
    }
}

impl Protocol for Endpoint {
    async fn call(&self, texts: &[String], _purpose: Purpose) -> Result<Vec<Vec<f32>>, Failure> {
        let request = Request::new(&self.model, texts);
        let response = self.client.post(self.address.clone()).json(&request).send().await.map_err(no_response)?;
        let status = response.status();
        let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = body(response).await?;
        if status.is_success() {
            return Ok(wire::vectors(&body, texts.len())?);
        }
        Err(wire::failure(status.as_u16(), retry_after.as_deref(), &body))
    }
}

fn no_response(error: reqwest::Error) -> RemoteError {
    // The address may contain a password.
    RemoteError::NoAnswer { attempts: 1, detail: with_causes(&error.without_url()) }
}

async fn body(mut response: Response) -> Result<Vec<u8>, RemoteError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(no_response)? {
        if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
            return Err(RemoteError::Malformed { what: format!("more than {MAX_RESPONSE_BYTES} bytes") });
        }
        body.extend_from_slice(&chunk);
    }
    memory_core::text::mend_surrogates(&mut body);
    Ok(body)
}

#[cfg(test)]
mod tests;
