//! Requests to a hub, following redirects without sending the token to another host.
//!
//! The client `hf-hub` sends the token to every host that it is redirected to, and waits without limit for a stalled
//! server, so it is used only to list files.

use std::{thread, time::Duration};

use hf_hub::api::sync::ApiError;
use ureq::{
    Agent, Body,
    http::{Response, Uri},
};

use memory_remote::redacted;

use crate::fetch::FetchError;

/// Retries of a request after transient failures.
const RETRIES: u32 = 3;

/// Pause before the first retry; doubles with each.
const PAUSE: Duration = Duration::from_millis(300);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum redirects that are followed.
const MAX_REDIRECTS: usize = 8;

/// Time without data after which a connection counts as broken.
pub(super) const STALLED_AFTER: Duration = Duration::from_secs(60);

/// Why a request or download failed.
#[derive(Debug)]
pub(super) enum RequestError {
    /// The network or the client `hf-hub` failed, or the hub sent an error status.
    Request(Box<ApiError>),
    /// A file cannot be read or written.
    Disk(FetchError),
    /// The connection was closed before the end of the file.
    Truncated,
    /// The partial file is longer than the file, or the response has another range than requested.
    WrongRange,
    /// The hub's response is invalid.
    Refused(&'static str),
}

impl From<ureq::Error> for RequestError {
    fn from(error: ureq::Error) -> Self {
        ApiError::RequestError(Box::new(error)).into()
    }
}

impl From<ApiError> for RequestError {
    fn from(error: ApiError) -> Self {
        Self::Request(Box::new(error))
    }
}

/// Status that the hub sent in place of an answer.
pub(super) fn status_of(error: &ApiError) -> Option<u16> {
    match error {
        ApiError::RequestError(error) => match **error {
            ureq::Error::StatusCode(status) => Some(status),
            _ => None,
        },
        _ => None,
    }
}

impl RequestError {
    /// True if another attempt may succeed.
    fn is_transient(&self) -> bool {
        match self {
            Self::Request(error) => match status_of(error) {
                Some(status) => status == 408 || status == 429 || status >= 500,
                None => matches!(**error, ApiError::RequestError(_)),
            },
            Self::Truncated => true,
            Self::Disk(_) | Self::WrongRange | Self::Refused(_) => false,
        }
    }
}

/// Repeats `work` until it succeeds, fails permanently, or has used up its retries.
pub(super) fn with_retries<T>(mut work: impl FnMut() -> Result<T, RequestError>) -> Result<T, RequestError> {
    let mut pause = PAUSE;
    for _ in 0..RETRIES {
        match work() {
            Err(error) if error.is_transient() => {
                tracing::debug!(error = %redacted(&format!("{error:?}")), ?pause, "a request failed and is repeated");
                thread::sleep(pause);
                pause *= 2;
            }
            done => return done,
        }
    }
    work()
}

/// Sends requests to one address of a hub.
pub(super) struct HubClient<'t> {
    agent: Agent,
    /// The only host that gets the token.
    hub: Uri,
    token: Option<&'t str>,
}

impl<'t> HubClient<'t> {
    pub(super) fn new(url: &str, token: Option<&'t str>, stalled_after: Duration) -> Result<Self, RequestError> {
        let agent = Agent::config_builder()
            .max_redirects(0)
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_per_read(Some(stalled_after))
            .build()
            .into();
        let hub = url.parse().map_err(|_| RequestError::Refused("its address is invalid"))?;
        Ok(Self { agent, hub, token })
    }

    /// Requests a range of the file, following redirects. Calls `is_enough` with each response of the hub itself; if it
    /// returns true, the request ends without a response.
    pub(super) fn get(
        &self,
        range: &str,
        mut is_enough: impl FnMut(&Response<Body>) -> bool,
    ) -> Result<Option<Response<Body>>, RequestError> {
        let mut uri = self.hub.clone();
        for _ in 0..MAX_REDIRECTS {
            let is_hub = uri.scheme() == self.hub.scheme() && uri.authority() == self.hub.authority();
            // Sizes and ranges refer to the unencoded file.
            let request = self.agent.get(&uri).header("range", range).header("accept-encoding", "identity");
            let request = match self.token.filter(|_| is_hub) {
                Some(token) => request.header("authorization", format!("Bearer {token}")),
                None => request,
            };
            let response = request.call()?;
            let status = response.status();
            if status.is_client_error() && status.as_u16() != 416 || status.is_server_error() {
                return Err(ureq::Error::StatusCode(status.as_u16()).into());
            }
            if is_hub && is_enough(&response) {
                return Ok(None);
            }
            if !status.is_redirection() {
                return Ok(Some(response));
            }
            uri = redirected(uri, &response)?;
        }
        Err(RequestError::Refused("it redirects too often"))
    }
}

fn redirected(from: Uri, response: &Response<Body>) -> Result<Uri, RequestError> {
    const NOWHERE: RequestError = RequestError::Refused("its redirect has no valid location");
    let location = header(response, "location").ok_or(NOWHERE)?;
    let to: Uri = location.parse().map_err(|_| NOWHERE)?;
    if to.authority().is_some() {
        return Ok(to);
    }
    let mut parts = from.into_parts();
    parts.path_and_query = to.into_parts().path_and_query;
    Uri::from_parts(parts).map_err(|_| NOWHERE)
}

pub(super) fn header(response: &Response<Body>, name: &str) -> Option<String> {
    response.headers().get(name)?.to_str().ok().map(str::to_owned)
}

/// Metadata of a file, not validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Metadata {
    pub(super) commit: String,
    /// Checksum: SHA-256 of a large file, git's hash of a small one.
    pub(super) etag: String,
    pub(super) size: u64,
}

/// Requests the metadata of the file at `url`. The hub redirects a large file to its storage, possibly on another host.
/// The redirect contains the metadata; the storage is asked only if the redirect does not state the size.
pub(super) fn metadata(url: &str, token: Option<&str>) -> Result<Metadata, RequestError> {
    let client = HubClient::new(url, token, STALLED_AFTER)?;
    with_retries(|| {
        let (mut commit, mut etag, mut size) = (None, None, None);
        let response = client.get("bytes=0-0", |response| {
            commit = header(response, "x-repo-commit").or_else(|| commit.take());
            etag = header(response, "x-linked-etag").or_else(|| header(response, "etag")).or_else(|| etag.take());
            size = header(response, "x-linked-size").and_then(|size| size.parse().ok());
            size.is_some()
        })?;
        let of_body = |response: Response<Body>| {
            let range = header(&response, "content-range").and_then(|range| range.split('/').next_back()?.parse().ok());
            // A server without support for ranges sends the whole file.
            let whole = || header(&response, "content-length")?.parse().ok();
            range.or_else(|| whole().filter(|_| response.status().as_u16() == 200))
        };
        let size = size.or_else(|| of_body(response?));
        let etag = etag.ok_or(RequestError::Refused("its response has no checksum"))?;
        Ok(Metadata {
            commit: commit.ok_or(RequestError::Refused("its response names no commit"))?,
            etag: etag.trim_start_matches("W/").replace('"', ""),
            size: size.ok_or(RequestError::Refused("its response has no size"))?,
        })
    })
}
