//! Requests over HTTP with JSON, answered by JSON or by server-sent events.

use std::{future::Future, sync::Arc, time::Duration};

use memory_core::text::mend_surrogates;
use memory_remote::{ApiKey, Endpoint, client, decode_error, retry_after, with_causes};
use reqwest::{
    Client, Response, Url,
    header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    ChatOptions, ModelError,
    failure::{Failure, Target},
    sse::SseReader,
};

/// Maximum bytes of a response, and of one event.
const MAX_BYTES: usize = 64 << 20;

/// A service over HTTP.
pub(crate) struct Http {
    pub(crate) target: Arc<Target>,
    client: Client,
    address: Url,
    headers: HeaderMap,
    timeout: Duration,
}

impl Http {
    /// # Errors
    /// [`ModelError::Setup`] for an invalid address, or one that may not get the key.
    pub(crate) fn new(
        target: Arc<Target>,
        base: &str,
        path: &[&str],
        key: Option<(&'static str, &'static str, &ApiKey)>,
        headers: &[(&'static str, &str)],
        options: &ChatOptions,
    ) -> Result<Self, ModelError> {
        let setup = |what: String| ModelError::Setup { what };
        let user_agent = concat!("memory-models/", env!("CARGO_PKG_VERSION"));
        let endpoint = Endpoint { base, path, key, plain_http: options.plain_http, user_agent };
        let (client, address) = client(endpoint).map_err(setup)?;
        let mut sent = HeaderMap::new();
        for (name, value) in headers {
            let value = HeaderValue::from_str(value).map_err(|_| setup(format!("{value:?} cannot be a header")))?;
            sent.insert(HeaderName::from_static(name), value);
        }
        Ok(Self { target, client, address, headers: sent, timeout: options.timeout })
    }

    /// Sends a request. An answer that is an error is classified.
    pub(crate) async fn post(&self, body: &Value) -> Result<Response, Failure> {
        let sent = self.client.post(self.address.clone()).headers(self.headers.clone()).json(body).send();
        let response = self.timed(sent).await?.map_err(|error| self.no_answer(error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let wait = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).and_then(retry_after);
        let body = self.whole(response).await?;
        Err(self.target.classify_body(status.as_u16(), wait, &body))
    }

    /// The whole body.
    async fn whole(&self, mut response: Response) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        while let Some(chunk) = self.timed(response.chunk()).await?.map_err(|error| self.cut(error))? {
            if body.len() + chunk.len() > MAX_BYTES {
                return Err(self.malformed(format!("more than {MAX_BYTES} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        mend_surrogates(&mut body);
        Ok(body)
    }

    /// The whole body as JSON.
    pub(crate) async fn json<T: DeserializeOwned>(&self, response: Response) -> Result<T, Failure> {
        let body = self.whole(response).await?;
        serde_json::from_slice(&body).map_err(|error| {
            // Gateways wrap an error into an answer with status 200.
            if serde_json::from_slice::<Value>(&body).is_ok_and(|value| value.get("error").is_some()) {
                return self.target.classify_body(200, None, &body);
            }
            self.malformed(decode_error(&error, &body))
        })
    }

    /// Passes the events of a body to `take` until it returns `true`. A body that ends earlier was cut.
    pub(crate) async fn events(
        &self,
        mut response: Response,
        mut take: impl FnMut(&[u8]) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let mut reader = SseReader::default();
        let mut pass = |mut data: Vec<u8>| {
            mend_surrogates(&mut data);
            take(&data)
        };
        loop {
            let chunk = self.timed(response.chunk()).await?.map_err(|error| self.cut(error))?;
            let Some(chunk) = chunk else { break };
            for data in reader.read(&chunk) {
                if pass(data)? {
                    return Ok(());
                }
            }
            if reader.held() > MAX_BYTES {
                return Err(self.malformed(format!("an event of more than {MAX_BYTES} bytes")));
            }
        }
        if let Some(data) = reader.end()
            && pass(data)?
        {
            return Ok(());
        }
        Err(self.target.failed(ModelError::Cut { detail: "the stream ended before the reply".to_owned() }))
    }

    /// JSON of an event.
    pub(crate) fn event<T: DeserializeOwned>(&self, data: &[u8]) -> Result<T, Failure> {
        serde_json::from_slice(data).map_err(|error| self.malformed(decode_error(&error, data)))
    }

    pub(crate) fn malformed(&self, what: String) -> Failure {
        self.target.failed(ModelError::Malformed { what })
    }

    async fn timed<T>(&self, work: impl Future<Output = T>) -> Result<T, Failure> {
        let late = |_| self.target.failed(ModelError::TimedOut { after: self.timeout });
        tokio::time::timeout(self.timeout, work).await.map_err(late)
    }

    fn no_answer(&self, error: reqwest::Error) -> Failure {
        // The address may contain a password.
        self.target.failed(ModelError::NoAnswer { detail: with_causes(&error.without_url()) })
    }

    fn cut(&self, error: reqwest::Error) -> Failure {
        self.target.failed(ModelError::Cut { detail: with_causes(&error.without_url()) })
    }
}

/// Adds the members of `extra` to a body; `null` removes one.
pub(crate) fn add_extra(body: &mut Value, options: &ChatOptions) {
    let Some(members) = body.as_object_mut() else { return };
    for (name, value) in &options.extra {
        match value {
            Value::Null => drop(members.shift_remove(name)),
            _ => drop(members.insert(name.clone(), value.clone())),
        }
    }
}
