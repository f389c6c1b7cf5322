//! The embedder that calls Bedrock.

use std::fmt;

use aws_sdk_bedrockruntime::primitives::Blob;
use memory_core::{
    ModelId,
    port::{BoxFuture, EmbedError, Embedder},
};
use memory_remote::{
    bedrock::{Access, Connection},
    redacted,
};

use super::{BedrockModel, error::remote_error, wire};
use crate::remote::{ApiKey, Failure, Protocol, Purpose, Remote, RemoteError, RemoteOptions};

const JSON: &str = "application/json";

/// Options of reaching Bedrock.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BedrockOptions {
    /// The region, such as `eu-central-1`. By default the one of the environment, the profile or the machine.
    pub region: Option<String>,
    /// A Bedrock API key. By default the variable `AWS_BEARER_TOKEN_BEDROCK`, otherwise the default credentials chain:
    /// environment, profile (with `credential_process` and roles, without single sign-on), web identity, container,
    /// machine.
    pub api_key: Option<ApiKey>,
    /// Another endpoint, such as `http://127.0.0.1:8080`: a private one or a stub. By default the one of
    /// `AWS_ENDPOINT_URL_BEDROCK_RUNTIME` or the profile, otherwise the region's.
    pub endpoint: Option<String>,
    /// True to allow plain http to another machine, or to a proxy on one, which exposes the key or the session token.
    pub plain_http: bool,
    /// Retries, timeouts, concurrency and chunks.
    pub calls: RemoteOptions,
}

impl BedrockOptions {
    memory_core::setters! {
        some into region: String,
        some api_key: ApiKey,
        some into endpoint: String,
        const plain_http: bool,
        calls: RemoteOptions,
    }
}

impl fmt::Debug for BedrockOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { region, api_key, endpoint, plain_http, calls } = self;
        // The address may contain a password.
        f.debug_struct("BedrockOptions")
            .field("region", region)
            .field("api_key", api_key)
            .field("endpoint", &endpoint.as_deref().map(redacted))
            .field("plain_http", plain_http)
            .field("calls", calls)
            .finish()
    }
}

/// Embeds texts with a model of Amazon Bedrock.
///
/// Vectors are scaled to unit length. A text of more than [`RemoteOptions::chunk_tokens`] is cut into overlapping
/// chunks at sentence boundaries and has one vector for each chunk. The service is asked to refuse a chunk that is too
/// long, which is then cut again. Cohere and Nova encode documents and queries differently. Cohere takes 96 texts per
/// call, the others one.
///
/// Works under any async runtime or none. Sends nothing before the first text. The SDK's own retries are off, because
/// [`RemoteOptions`] sets the retries and the deadline of a whole request. The SDK runs without a `tracing` subscriber,
/// because it logs the values of environment variables, including keys.
#[derive(Debug)]
pub struct BedrockEmbedder {
    remote: Remote<Bedrock>,
}

impl BedrockEmbedder {
    /// Creates the embedder. Sends nothing.
    ///
    /// # Errors
    /// [`RemoteError::Setup`] for invalid options, or if no thread can be started.
    pub fn new(model: BedrockModel, options: BedrockOptions) -> Result<Self, RemoteError> {
        let BedrockOptions { region, api_key, endpoint, plain_http, calls } = options;
        let connection = Connection::new(Access::new(region, api_key, endpoint, plain_http));
        let protocol = Bedrock { model, connection };
        let remote = Remote::start(protocol, model.model_id(), model.dimensions(), model.limits(), calls)?;
        Ok(Self { remote })
    }
}

impl Embedder for BedrockEmbedder {
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

struct Bedrock {
    model: BedrockModel,
    connection: Connection,
}

impl Protocol for Bedrock {
    async fn call(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>, Failure> {
        let body = Blob::new(wire::request(&self.model, texts, purpose));
        let invoked = self.connection.call(|client| {
            client.invoke_model().model_id(self.model.id()).content_type(JSON).accept(JSON).body(body).send()
        });
        match invoked.await.map_err(|error| RemoteError::Setup { what: error.to_string() })? {
            Ok(response) => Ok(wire::vectors(self.model.family(), response.body().as_ref())?),
            Err(error) => {
                let status = error.raw_response().map(|response| response.status().as_u16());
                Err(remote_error(&error, status).into())
            }
        }
    }
}

#[cfg(test)]
mod tests;
