//! The embedder that calls an OpenAI-compatible endpoint.

use std::{fmt, sync::Arc, time::Duration};

use http::Uri;
use memory_core::{
    ModelId,
    port::{BoxFuture, EmbedError, Embedder},
};
use reqwest::{
    Client, Response, Url,
    header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER},
    redirect::Policy,
};
use rustls::{ClientConfig, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;

use super::{
    OpenAiModel,
    wire::{self, Request},
};
use crate::{
    excerpt::with_causes,
    redact::{keep_secret_of_address, redacted},
    remote::{ApiKey, Failure, Limits, Protocol, Purpose, Remote, RemoteError, RemoteOptions},
    route::{Route, is_loopback},
};

/// Environment variable with the key.
pub const OPENAI_KEY_VARIABLE: &str = "OPENAI_API_KEY";

const BASE: &str = "https://api.openai.com/v1";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

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
        keep_secret_of_address(base);
        let setup = |what: String| RemoteError::Setup { what };
        let refuse = |why: &str| setup(format!("{} is not a valid endpoint: {why}", redacted(base)));
        let mut address = Url::parse(base).map_err(|error| refuse(&error.to_string()))?;
        if !matches!(address.scheme(), "http" | "https") {
            return Err(refuse("it must begin with http:// or https://"));
        }
        if let Ok(mut path) = address.path_segments_mut() {
            path.pop_if_empty().push("embeddings");
        }
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            let mut value = HeaderValue::try_from(format!("Bearer {}", key.expose()))
                .map_err(|_| setup("the key contains invalid characters".to_owned()))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let uri: Uri = address.as_str().parse().map_err(|error| refuse(&format!("{error}")))?;
        let mut client = Client::builder();
        let has_key = key.is_some() || !address.username().is_empty() || address.password().is_some();
        let mut route = Route::of_environment(&uri, has_key);
        if is_loopback(&uri) {
            client = client.no_proxy();
            route.proxy = None;
        }
        route.check(plain_http).map_err(setup)?;
        let client = client
            .default_headers(headers)
            .redirect(Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .tls_backend_preconfigured(tls().map_err(|error| setup(with_causes(&error)))?)
            .user_agent(concat!("memory-embed/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| setup(with_causes(&error)))?;
        Ok(Self { model, address, client })
    }
}

/// TLS with ring, like the other clients, and with the system's trusted certificates.
fn tls() -> Result<ClientConfig, rustls::Error> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()
        .map(|config| config.with_no_client_auth())
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
