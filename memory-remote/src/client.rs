//! A client of one service over HTTP.

use std::{sync::Arc, time::Duration};

use http::Uri;
use reqwest::{
    Client, Url,
    header::{HeaderMap, HeaderValue},
    redirect::Policy,
};
use rustls::{ClientConfig, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::{
    ApiKey,
    excerpt::with_causes,
    redact::{keep_secret_of_address, redacted},
    route::{Route, is_loopback},
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum `Retry-After` that is honoured.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(1);

/// A service, and how it is reached.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint<'a> {
    /// Address before the path, such as `http://127.0.0.1:11434/v1`.
    pub base: &'a str,
    /// Segments of the path after the address.
    pub path: &'a [&'a str],
    /// Header with the key, the text before the key there, and the key.
    pub key: Option<(&'static str, &'static str, &'a ApiKey)>,
    /// True to allow plain http to another machine, or to a proxy on one, which exposes the key.
    pub plain_http: bool,
    /// Name and version of the caller.
    pub user_agent: &'static str,
}

/// A client that sends the key with each request, and the address of the requests. Sends nothing.
///
/// Redirects are not followed, because they would carry the key. A service on this machine is reached without a proxy.
///
/// # Errors
/// The reason: an invalid address or one that may not get the key, or an invalid key.
pub fn client(endpoint: Endpoint<'_>) -> Result<(Client, Url), String> {
    let Endpoint { base, path, key, plain_http, user_agent } = endpoint;
    keep_secret_of_address(base);
    let refuse = |why: &str| format!("{} is not a valid endpoint: {why}", redacted(base));
    let mut address = Url::parse(base).map_err(|error| refuse(&error.to_string()))?;
    if !matches!(address.scheme(), "http" | "https") {
        return Err(refuse("it must begin with http:// or https://"));
    }
    if let Ok(mut segments) = address.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    let mut headers = HeaderMap::new();
    if let Some((header, before, key)) = key {
        let mut value = HeaderValue::try_from(format!("{before}{}", key.expose()))
            .map_err(|_| "the key contains invalid characters".to_owned())?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    let uri: Uri = address.as_str().parse().map_err(|error| refuse(&format!("{error}")))?;
    let mut client = Client::builder();
    let has_key = key.is_some() || !address.username().is_empty() || address.password().is_some();
    let mut route = Route::of_environment(&uri, has_key);
    if is_loopback(&uri) {
        client = client.no_proxy();
        route.proxy = None;
    }
    route.check(plain_http)?;
    let client = client
        .default_headers(headers)
        .redirect(Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .tls_backend_preconfigured(tls().map_err(|error| with_causes(&error))?)
        .user_agent(user_agent)
        .build()
        .map_err(|error| with_causes(&error))?;
    Ok((client, address))
}

/// TLS with ring, like the other clients, and with the system's trusted certificates.
fn tls() -> Result<ClientConfig, rustls::Error> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()
        .map(|config| config.with_no_client_auth())
}

/// A `Retry-After` in seconds, at most an hour. A date is ignored, so that the caller's own pause applies.
#[must_use]
pub fn retry_after(value: &str) -> Option<Duration> {
    let seconds: f64 = value.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok().map(|wait| wait.min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_read_in_seconds() {
        assert_eq!(retry_after("7"), Some(Duration::from_secs(7)));
        assert_eq!(retry_after(" 0.5 "), Some(Duration::from_millis(500)));
        assert_eq!(retry_after("1e300"), None);
        assert_eq!(retry_after("-1"), None);
        assert_eq!(retry_after("999999"), Some(MAX_RETRY_AFTER));
        assert_eq!(retry_after("Wed, 21 Oct 2026 07:28:00 GMT"), None);
    }
}
