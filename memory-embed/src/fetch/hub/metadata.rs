//! Requests the metadata of a file from a hub.

use super::request::{HubClient, Reply, RequestError, STALLED_AFTER, header, with_retries};

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
        let (mut commit, mut etag) = (None, None);
        let response = client.get("bytes=0-0", |response| {
            commit = header(response, "x-repo-commit").or_else(|| commit.take());
            etag = header(response, "x-linked-etag").or_else(|| header(response, "etag")).or_else(|| etag.take());
            header(response, "x-linked-size")?.parse().ok()
        })?;
        let size = match response {
            Reply::FromHub(size) => Some(size),
            Reply::Body(response) => {
                let range =
                    header(&response, "content-range").and_then(|range| range.split('/').next_back()?.parse().ok());
                // A server without support for ranges sends the whole file.
                let whole = || header(&response, "content-length")?.parse().ok();
                range.or_else(|| whole().filter(|_| response.status().as_u16() == 200))
            }
        };
        let etag = etag.ok_or(RequestError::Refused("its response has no checksum"))?;
        Ok(Metadata {
            commit: commit.ok_or(RequestError::Refused("its response names no commit"))?,
            etag: etag.trim_start_matches("W/").replace('"', ""),
            size: size.ok_or(RequestError::Refused("its response has no size"))?,
        })
    })
}
