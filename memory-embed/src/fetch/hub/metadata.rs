//! What a hub says of a file, asked for without giving the token to anybody else.

use std::time::Duration;

use hf_hub::api::sync::ApiError;
use ureq::{
    Agent, Body,
    http::{Response, Uri},
};

/// A longer chain of redirects leads nowhere.
const MOST_REDIRECTS: usize = 8;

/// No answer of this kind is longer than its headers.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What a hub says of a file. None of it is believed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Metadata {
    pub(super) commit: String,
    /// The digest: SHA-256 of a large file, git's of a small one.
    pub(super) etag: String,
    pub(super) size: u64,
}

/// Why it did not say it.
#[derive(Debug)]
pub(super) enum NoMetadata {
    Failed(ApiError),
    /// It answers as no hub does.
    Refused(&'static str),
}

impl From<ureq::Error> for NoMetadata {
    fn from(error: ureq::Error) -> Self {
        Self::Failed(ApiError::RequestError(Box::new(error)))
    }
}

/// Asks for the metadata of the file at `url`. A large file is redirected to where it lies, which may be another host:
/// what the hub says of it stands in its redirect, and only where its size does not, that host is asked, without `token`.
pub(super) fn metadata(url: &str, token: Option<&str>) -> Result<Metadata, NoMetadata> {
    let agent: Agent = Agent::config_builder().max_redirects(0).timeout_global(Some(TIMEOUT)).build().into();
    let refused = |why| move |_| NoMetadata::Refused(why);
    let mut uri: Uri = url.parse().map_err(refused("its address is none"))?;
    let hub = (uri.scheme().cloned(), uri.authority().cloned());
    let (mut commit, mut etag) = (None, None);
    for _ in 0..MOST_REDIRECTS {
        let is_hub = (uri.scheme().cloned(), uri.authority().cloned()) == hub;
        let mut request = agent.get(&uri).header("range", "bytes=0-0");
        if let Some(token) = token.filter(|_| is_hub) {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let answer = request.call()?;
        let mut size = None;
        if is_hub {
            commit = header(&answer, "x-repo-commit").or(commit);
            etag = header(&answer, "x-linked-etag").or_else(|| header(&answer, "etag")).or(etag);
            size = header(&answer, "x-linked-size").and_then(|size| size.parse().ok());
        }
        if size.is_none() && !answer.status().is_redirection() {
            let range = header(&answer, "content-range").and_then(|range| range.split('/').next_back()?.parse().ok());
            size = Some(range.ok_or(NoMetadata::Refused("it does not give its size"))?);
        }
        if let Some(size) = size {
            let commit = commit.ok_or(NoMetadata::Refused("it names no commit of it"))?;
            let etag = etag.ok_or(NoMetadata::Refused("it gives no digest of it"))?.replace('"', "");
            return Ok(Metadata { commit, etag, size });
        }
        let location = header(&answer, "location").ok_or(NoMetadata::Refused("it redirects nowhere"))?;
        let next: Uri = location.parse().map_err(refused("it redirects nowhere"))?;
        if next.authority().is_some() {
            uri = next;
        } else {
            let mut parts = uri.into_parts();
            parts.path_and_query = next.into_parts().path_and_query;
            uri = Uri::from_parts(parts).map_err(|_| NoMetadata::Refused("it redirects nowhere"))?;
        }
    }
    Err(NoMetadata::Refused("it redirects in a circle"))
}

fn header(answer: &Response<Body>, name: &str) -> Option<String> {
    answer.headers().get(name)?.to_str().ok().map(str::to_owned)
}
