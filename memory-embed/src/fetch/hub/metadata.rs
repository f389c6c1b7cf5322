//! What a hub says of a file.

use super::request::{Answer, Asker, Broken, STALLED_AFTER, header, retried};

/// What a hub says of a file. None of it is believed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Metadata {
    pub(super) commit: String,
    /// The digest: SHA-256 of a large file, git's of a small one.
    pub(super) etag: String,
    pub(super) size: u64,
}

/// Asks for the metadata of the file at `url`. A large file is redirected to where it lies, which may be another host:
/// what the hub says of it stands in its redirect, and only where its size does not, that host is asked.
pub(super) fn metadata(url: &str, token: Option<&str>) -> Result<Metadata, Broken> {
    let asker = Asker::new(url, token, STALLED_AFTER)?;
    retried(|| {
        let (mut commit, mut etag) = (None, None);
        let answer = asker.ask("bytes=0-0", |answer| {
            commit = header(answer, "x-repo-commit").or_else(|| commit.take());
            etag = header(answer, "x-linked-etag").or_else(|| header(answer, "etag")).or_else(|| etag.take());
            header(answer, "x-linked-size")?.parse().ok()
        })?;
        let size = match answer {
            Answer::Told(size) => Some(size),
            Answer::Body(answer) => {
                let range =
                    header(&answer, "content-range").and_then(|range| range.split('/').next_back()?.parse().ok());
                // A server that knows no ranges sends all of it.
                let whole = || header(&answer, "content-length")?.parse().ok();
                range.or_else(|| whole().filter(|_| answer.status().as_u16() == 200))
            }
        };
        let etag = etag.ok_or(Broken::Refused("it gives no digest of it"))?;
        Ok(Metadata {
            commit: commit.ok_or(Broken::Refused("it names no commit of it"))?,
            etag: etag.trim_start_matches("W/").replace('"', ""),
            size: size.ok_or(Broken::Refused("it does not give its size"))?,
        })
    })
}
