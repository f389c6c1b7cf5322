//! Fetches a model from a hub into a model store, by its id.

mod download;
mod record;
mod repository;
mod request;

use std::{
    env, fmt, fs,
    path::{Path, PathBuf},
};

use memory_remote::{excerpt, redacted};
use serde::Deserialize;

use self::{
    record::HubRecord,
    repository::{Fetched, Listing, Repository},
};
use super::{FetchError, FetchEvent, lock, remove_partial, wheel::move_into_place};
use crate::{checksum::sha256_hex_of_file, convert::task_head, files, models::ModelStore};

/// Environment variable with the address of another hub or a mirror, as in other programs.
pub const HUB_ENDPOINT_VARIABLE: &str = "HF_ENDPOINT";

/// Environment variable with a token for restricted models.
const TOKEN_VARIABLE: &str = "HF_TOKEN";

/// Directory of unfinished downloads, which the next fetch resumes. Readers ignore it.
const DOWNLOADS: &str = ".hub";

/// Optional files that are fetched next to the weights.
#[rustfmt::skip]
const CONFIGURATION: [&str; 6] = [
    "config.json", "tokenizer.json", "tokenizer_config.json", "modules.json", "sentence_bert_config.json",
    "config_sentence_transformers.json",
];
const WEIGHTS: &str = "model.safetensors";
const GRAPHS: [&str; 2] = ["onnx/model.onnx", "model.onnx"];

/// Options of a fetch from a hub.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HubOptions {
    /// Address of the hub. By default the one of [`HUB_ENDPOINT_VARIABLE`], otherwise the client's.
    pub endpoint: Option<String>,
    /// A branch, a tag or a commit. By default `main`.
    pub revision: Option<String>,
    /// True to fetch again what exists already.
    pub force: bool,
    /// True to allow plain http to another machine, or to a proxy on one, which exposes the token.
    pub plain_http: bool,
}

impl fmt::Debug for HubOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { endpoint, revision, force, plain_http } = self;
        // The address may contain a password.
        f.debug_struct("HubOptions")
            .field("endpoint", &endpoint.as_deref().map(redacted))
            .field("revision", revision)
            .field("force", force)
            .field("plain_http", plain_http)
            .finish()
    }
}

impl HubOptions {
    memory_core::setters! {
        some into endpoint: String,
        some into revision: String,
        const force: bool,
        const plain_http: bool,
    }
}

/// The result of a fetch from a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HubReport {
    /// The model's directory.
    pub directory: PathBuf,
    /// The commit of its files.
    pub commit: String,
    /// Total size of its files in bytes.
    pub bytes: u64,
    /// True if anything was downloaded; false if all files existed already.
    pub downloaded: bool,
    /// True if the files include weights, which [`prepare`](crate::prepare) converts; false if they include a graph.
    pub has_weights: bool,
}

#[derive(Deserialize)]
struct HubConfig {
    // A field may be `null`, which counts as missing.
    model_type: Option<String>,
    architectures: Option<Vec<String>>,
}

/// Fetches the model `id` (`ORGANIZATION/NAME`) from a hub into `store`: its configuration, tokenizer and weights.
/// Fetches its ONNX graph instead of the weights if it is a cross-encoder, of a family that
/// [`convert`](crate::convert()) does not support, or without weights in safetensors.
///
/// All files are of one commit. Each is compared with the hub's checksum before any is moved into place: the SHA-256 of
/// a large file, git's hash of a small one. An interrupted download is resumed, up to three times in this call, and by
/// later calls. A download with wrong bytes is repeated once. If all files exist unchanged, no request is sent.
/// Concurrent fetches into one store wait for each other.
///
/// # Errors
/// [`FetchError`]; existing files are kept.
pub fn fetch_from_hub(
    store: &ModelStore,
    id: &str,
    options: &HubOptions,
    progress: &mut dyn FnMut(FetchEvent<'_>),
) -> Result<HubReport, FetchError> {
    if !is_id(id) {
        return Err(FetchError::Id { id: id.to_owned() });
    }
    let directory = store.directory_of(id);
    let revision = options.revision.as_deref().unwrap_or("main");
    if !options.force
        && let Some(record) = present(&directory, revision)?
    {
        return Ok(report(directory, &record, false));
    }

    fs::create_dir_all(store.root()).map_err(FetchError::io(store.root()))?;
    let _lock = lock(store.root(), progress)?;
    remove_partial(store.root())?;
    let downloads = store.root().join(DOWNLOADS);
    let set = |variable: &str| env::var(variable).ok().filter(|value| !value.is_empty());
    let endpoint = options.endpoint.clone().or_else(|| set(HUB_ENDPOINT_VARIABLE));
    let mut repository = Repository::connect(&downloads, id, revision, endpoint, set(TOKEN_VARIABLE));
    repository.check_route(options.plain_http)?;

    let listing = repository.list()?;
    if !listing.has("config.json") {
        return Err(incomplete(id, "config.json"));
    }
    let mut fetched = vec![get(&repository, "config.json", progress)?];
    let config = fetched.first().map(|config| config.path.clone()).unwrap_or_default();
    for name in files_to_fetch(id, &listing, &config)?.iter().filter(|name| *name != "config.json") {
        fetched.push(get(&repository, name, progress)?);
    }

    let record = HubRecord {
        id: id.to_owned(),
        revision: revision.to_owned(),
        commit: listing.commit,
        files: fetched.iter().map(|fetched| fetched.file.clone()).collect(),
    };
    // An old record must not vouch for a mixture of old and new files.
    HubRecord::remove(&directory)?;
    for (at, Fetched { file, path }) in fetched.iter().enumerate() {
        // Files with equal bytes share one download.
        let is_shared = fetched.iter().skip(at + 1).any(|other| other.path == *path);
        let from = if is_shared { path.with_extension("copy") } else { path.clone() };
        if is_shared {
            fs::copy(path, &from).map_err(FetchError::io(&from))?;
        }
        move_into_place(&from, &file.path.split('/').fold(directory.clone(), |path, part| path.join(part)))?;
    }
    record.write(&directory)?;
    repository.clean_up();
    Ok(report(directory, &record, true))
}

fn get(repository: &Repository, name: &str, progress: &mut dyn FnMut(FetchEvent<'_>)) -> Result<Fetched, FetchError> {
    repository.get(name, &mut |bytes| progress(FetchEvent::DownloadingFile { name, bytes }))
}

fn report(directory: PathBuf, record: &HubRecord, downloaded: bool) -> HubReport {
    HubReport {
        directory,
        commit: record.commit.clone(),
        bytes: record.files.iter().map(|file| file.size).sum(),
        downloaded,
        has_weights: record.files.iter().any(|file| file.path == WEIGHTS),
    }
}

/// Record of the files in `directory`, if they are unchanged and of `revision`.
fn present(directory: &Path, revision: &str) -> Result<Option<HubRecord>, FetchError> {
    let Some(record) = HubRecord::read(directory)? else { return Ok(None) };
    if ![&record.revision, &record.commit].iter().any(|known| *known == revision) {
        return Ok(None);
    }
    for file in &record.files {
        let path = directory.join(&file.path);
        if !fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() == file.size)
            || sha256_hex_of_file(&path).map_err(FetchError::io(&path))? != file.sha256
        {
            return Ok(None);
        }
    }
    Ok(Some(record))
}

fn files_to_fetch(id: &str, listing: &Listing, config: &Path) -> Result<Vec<String>, FetchError> {
    let json = files::read_text(config).map_err(FetchError::io(config))?;
    let config: HubConfig =
        serde_json::from_slice(&json).map_err(|_| incomplete(id, "a config.json that can be read"))?;
    let is_cross_encoder =
        config.architectures.iter().flatten().any(|name| name.ends_with("ForSequenceClassification"));
    // Some encoders also name the task that they were trained for.
    let says_encoder = |name: &String| name == "modules.json" || name == "config_sentence_transformers.json";
    let is_encoder = listing.names.iter().any(|name| says_encoder(name) || is_module(name));
    let architecture = task_head(config.architectures.as_deref().unwrap_or_default());
    if let Some(architecture) = architecture.filter(|_| !is_cross_encoder && !is_encoder) {
        let architecture = excerpt(architecture);
        return Err(FetchError::OtherPurpose { id: id.to_owned(), architecture });
    }
    let graph = GRAPHS.into_iter().find(|name| listing.has(name));
    // Models of other families run with their authors' graph.
    let is_made = matches!(config.model_type.as_deref(), Some("bert" | "mpnet" | "xlm-roberta" | "model2vec"))
        && !is_cross_encoder;
    let weights = Some(WEIGHTS).filter(|name| listing.has(name) && (is_made || graph.is_none()));
    let weights = weights.filter(|_| !is_cross_encoder).or(graph).ok_or_else(|| {
        incomplete(id, if is_cross_encoder { "onnx/model.onnx" } else { "model.safetensors nor onnx/model.onnx" })
    })?;
    if !listing.has("tokenizer.json") {
        return Err(incomplete(id, "tokenizer.json"));
    }
    let configuration = listing.names.iter().filter(|name| CONFIGURATION.contains(&name.as_str()) || is_module(name));
    Ok(configuration.cloned().chain([weights.to_owned()]).collect())
}

/// True if `name` is the configuration of a sentence-transformers module, as in `1_Pooling/config.json`.
fn is_module(name: &str) -> bool {
    let Some((number, kind)) = name.strip_suffix("/config.json").and_then(|module| module.split_once('_')) else {
        return false;
    };
    let all = |text: &str, is: fn(&u8) -> bool| !text.is_empty() && text.bytes().all(|byte| is(&byte));
    all(number, u8::is_ascii_digit) && all(kind, u8::is_ascii_alphabetic)
}

/// True if `id` is `ORGANIZATION/NAME` in the characters that hubs allow, which as a path cannot leave a directory.
fn is_id(id: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part.len() <= 96
            && !part.starts_with(['.', '-'])
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    id.split_once('/').is_some_and(|(organization, name)| is_part(organization) && is_part(name))
}

fn incomplete(id: &str, missing: &str) -> FetchError {
    FetchError::Incomplete { id: id.to_owned(), missing: missing.to_owned() }
}

#[cfg(test)]
mod tests;
