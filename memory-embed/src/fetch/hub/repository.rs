//! A repository of a hub: lists files with the client `hf-hub`, and downloads and verifies them.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use hf_hub::{
    Cache, Repo, RepoType,
    api::sync::{ApiBuilder, ApiError, ApiRepo},
};
use http::Uri;
use memory_core::port::BoxError;
use memory_files::Links;
use memory_remote::{Route, keep_secret, keep_secret_of_address, with_causes};
use sha1::{Digest, Sha1};

use super::{
    download::download,
    record::{RecordedFile, remove},
    request::{Metadata, RequestError, STALLED_AFTER, metadata, status_of, with_retries},
};
use crate::{
    checksum::{copy_and_hash, hex},
    fetch::FetchError,
};

/// One revision of a model on a hub.
pub(super) struct Repository {
    id: String,
    /// The requested branch, tag or commit.
    revision: String,
    endpoint: Option<String>,
    token: Option<String>,
    /// Time limit of the list of files.
    pub(super) list_timeout: Duration,
    cache: Cache,
    /// Commit of all files, set by [`list`](Self::list).
    commit: Option<String>,
}

/// The files of a repository at a commit.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) commit: String,
    pub(super) names: Vec<String>,
}

impl Listing {
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|there| there == name)
    }
}

/// A downloaded and verified file, and where it was downloaded to.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) file: RecordedFile,
    pub(super) path: PathBuf,
}

impl Repository {
    pub(super) fn connect(
        downloads: &Path,
        id: &str,
        revision: &str,
        endpoint: Option<String>,
        token: Option<String>,
    ) -> Self {
        if let Some(token) = &token {
            keep_secret(token);
        }
        if let Some(endpoint) = &endpoint {
            keep_secret_of_address(endpoint);
        }
        Self {
            id: id.to_owned(),
            revision: revision.to_owned(),
            endpoint,
            token,
            list_timeout: STALLED_AFTER,
            cache: Cache::new(downloads.to_path_buf()),
            commit: None,
        }
    }

    fn api(&self) -> Result<ApiRepo, ApiError> {
        let revision = self.commit.as_ref().unwrap_or(&self.revision).clone();
        let builder = ApiBuilder::from_cache(self.cache.clone()).with_progress(false).with_token(self.token.clone());
        let builder = match &self.endpoint {
            Some(endpoint) => builder.with_endpoint(endpoint.trim_end_matches('/').to_owned()),
            None => builder,
        };
        Ok(builder.build()?.repo(Repo::with_revision(self.id.clone(), RepoType::Model, revision)))
    }

    /// Refuses to send the token where others can read it, unless `plain_http` is allowed. Sends nothing.
    pub(super) fn check_route(&self, plain_http: bool) -> Result<(), FetchError> {
        const WHAT: &str = "the list of its files";
        let api = self.api().map_err(|error| self.failed(WHAT, error))?;
        let hub = api.url("config.json").parse::<Uri>().map_err(|error| self.refused(WHAT, error.into()))?;
        let has_key = self.token.is_some() || hub.authority().is_some_and(|authority| authority.as_str().contains('@'));
        Route::of_ureq(&hub, has_key).check(plain_http).map_err(|what| self.refused(WHAT, what.into()))
    }

    /// Lists the files of the revision and resolves its commit.
    pub(super) fn list(&mut self) -> Result<Listing, FetchError> {
        const WHAT: &str = "the list of its files";
        let asked = with_retries(|| {
            let api = self.api()?;
            self.call(move || api.info())
        });
        let info = asked.map_err(|error| self.request_error(WHAT, error))?;
        if !is_hex(&info.sha, 40) {
            return Err(self.refused(WHAT, "its response names no commit".into()));
        }
        self.commit = Some(info.sha.clone());
        Ok(Listing { commit: info.sha, names: info.siblings.into_iter().map(|file| file.rfilename).collect() })
    }

    /// Downloads a file and verifies it. A file that fails is downloaded once more.
    pub(super) fn get(&self, name: &str, starting: &mut dyn FnMut(u64)) -> Result<Fetched, FetchError> {
        let api = self.api().map_err(|error| self.failed("its client", error))?;
        let metadata = self.metadata(&api, name)?;
        let blob = self.cache.model(self.id.clone()).blob_path(&metadata.etag);
        // Left by an earlier fetch that failed later.
        if let Ok(fetched) = self.check(name, &blob, &metadata) {
            return Ok(fetched);
        }
        remove(&blob)?;
        starting(metadata.size);
        let resumed = self.download(&api, name, &blob, metadata.size).and_then(|()| self.check(name, &blob, &metadata));
        match resumed {
            Err(FetchError::Checksum { .. } | FetchError::Size { .. } | FetchError::PartialFile { .. }) => {
                tracing::warn!(id = self.id, name, "the download does not match the hub's metadata and is repeated");
                remove(&blob)?;
                remove(&blob.with_extension("part"))?;
                self.download(&api, name, &blob, metadata.size)?;
                self.check(name, &blob, &metadata).inspect_err(|_| drop(fs::remove_file(&blob)))
            }
            resumed => resumed,
        }
    }

    /// Validated metadata of a file. Its checksum becomes part of a path in the client's cache.
    fn metadata(&self, api: &ApiRepo, name: &str) -> Result<Metadata, FetchError> {
        let metadata =
            metadata(&api.url(name), self.token.as_deref()).map_err(|error| self.request_error(name, error))?;
        if !is_hex(&metadata.etag, 64) && !is_hex(&metadata.etag, 40) {
            return Err(self.refused(name, "its response has no checksum".into()));
        }
        if !is_hex(&metadata.commit, 40) {
            return Err(self.refused(name, "its response names no commit".into()));
        }
        Ok(metadata)
    }

    /// Downloads a file to `blob` through a partial file next to it, which a later call resumes.
    fn download(&self, api: &ApiRepo, name: &str, blob: &Path, size: u64) -> Result<(), FetchError> {
        let part = blob.with_extension("part");
        let directory = part.parent().unwrap_or(&part);
        fs::create_dir_all(directory).map_err(FetchError::io(directory))?;
        download(&api.url(name), self.token.as_deref(), &part, size, STALLED_AFTER)
            .map_err(|error| self.request_error(name, error))?;
        fs::rename(&part, blob).map_err(FetchError::io(blob))
    }

    /// Verifies size and checksum of the file at `path`.
    fn check(&self, name: &str, path: &Path, metadata: &Metadata) -> Result<Fetched, FetchError> {
        let what = || format!("{name} of {}", self.id);
        let options = fs::File::options().read(true).write(true).clone();
        let mut file = memory_files::open_with(&options, path, Links::Follow).map_err(FetchError::io(path))?;
        let size = file.metadata().map_err(FetchError::io(path))?.len();
        let expected = metadata.size;
        if size != expected {
            return Err(FetchError::Size { what: what(), expected, actual: size });
        }
        // A git blob: a header and the bytes.
        let mut git = Sha1::new();
        git.update(format!("blob {size}\0"));
        let sha256 = copy_and_hash(&mut file, &mut Sha1Writer(&mut git)).map_err(FetchError::io(path))?;
        let etag = &metadata.etag;
        let actual = if etag.len() == 64 { sha256.clone() } else { hex(git.finalize().as_slice()) };
        if !actual.eq_ignore_ascii_case(etag) {
            return Err(FetchError::Checksum { what: what(), expected: etag.clone(), actual });
        }
        file.sync_all().map_err(FetchError::io(path))?;
        Ok(Fetched { file: RecordedFile { path: name.to_owned(), size, sha256 }, path: path.to_path_buf() })
    }

    /// Removes the downloads of this repository.
    pub(super) fn clean_up(&self) {
        let kept = self.cache.path().join(Repo::model(self.id.clone()).folder_name());
        if let Err(error) = fs::remove_dir_all(&kept) {
            tracing::debug!(path = %kept.display(), %error, "a download cannot be removed");
        }
    }

    /// Calls the client on a separate thread with a time limit, because the client has none, and panics on some invalid
    /// responses. The call writes nothing, so its thread can be abandoned.
    fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, RequestError> {
        let (answer, answered) = mpsc::channel();
        let worker = move || drop(answer.send(call()));
        thread::Builder::new().name("memory-hub".into()).spawn(worker).map_err(ApiError::from)?;
        match answered.recv_timeout(self.list_timeout) {
            Ok(result) => Ok(result?),
            Err(RecvTimeoutError::Disconnected) => Err(RequestError::Refused("its response is invalid")),
            Err(RecvTimeoutError::Timeout) => Err(RequestError::Refused("no answer came in time: try again later")),
        }
    }

    fn request_error(&self, what: &str, error: RequestError) -> FetchError {
        match error {
            RequestError::Request(error) => self.failed(what, *error),
            RequestError::Disk(error) => error,
            RequestError::Truncated => self.refused(what, "the download was interrupted at every attempt".into()),
            RequestError::WrongRange => FetchError::PartialFile { what: format!("{what} of {}", self.id) },
            RequestError::Refused(why) => self.refused(what, why.into()),
        }
    }

    fn failed(&self, what: &str, error: ApiError) -> FetchError {
        let (id, revision) = (self.id.clone(), self.revision.clone());
        match status_of(&error) {
            Some(404) => FetchError::NotOnHub { what: what.to_owned(), id, revision },
            Some(401 | 403) => FetchError::NotAllowed { what: what.to_owned(), id },
            _ => self.refused(what, error.into()),
        }
    }

    fn refused(&self, what: &str, source: BoxError) -> FetchError {
        // The error's text may contain the address with a password.
        let source = with_causes(&*source).into();
        FetchError::Hub { what: what.to_owned(), id: self.id.clone(), source }
    }
}

/// Computes SHA-1 while SHA-256 is computed.
struct Sha1Writer<'a>(&'a mut Sha1);

impl io::Write for Sha1Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
