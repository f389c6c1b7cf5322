//! The directory of runtimes, models and tokenizers.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use directories::ProjectDirs;

use super::{
    ConvertedFile, ConvertedGraph, ConvertedGraphs, DEFAULT_MAX_TOKENS, ModelDirectory, ModelError,
    ONNX_RUNTIME_LIBRARY, PinnedFile, PinnedModel, Pooling, Prompts,
};
use crate::{Precision, checksum::sha256_hex_of_file, convert::WORDS, files::if_there};

/// The environment variable that names the directory for models.
pub const MODELS_VARIABLE: &str = "MEMORY_MODELS";

/// A directory of runtimes, models and tokenizers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelStore {
    root: PathBuf,
}

/// Files and settings from which an embedder is loaded.
///
/// [`ModelStore::locate`] finds those of a model in a store, [`ModelFiles::in_directory`] those of a model elsewhere;
/// [`ModelFiles::new`] takes the files one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelFiles {
    /// Name of the model. The [`ModelId`](memory_core::ModelId) adds a checksum of everything that the vectors of
    /// documents depend on.
    pub name: String,
    /// The ONNX Runtime shared library.
    pub runtime: PathBuf,
    /// The graph, from `input_ids`, `attention_mask` and optionally `token_type_ids` to `last_hidden_state`,
    /// `[batch, sequence, dimensions]`.
    pub model: PathBuf,
    /// The SHA-256 that the graph must have, in lower-case hexadecimal.
    pub model_sha256: Option<String>,
    /// The SHA-256 that the graph's table of words must have, if it is a file of its own, in lower-case hexadecimal.
    pub words_sha256: Option<String>,
    /// Identity of the graph in the model's id, if not its own SHA-256; graphs with comparable vectors share an
    /// identity. Ignored without [`model_sha256`](Self::model_sha256).
    pub identity: Option<String>,
    /// The `tokenizer.json`, or what [`prepare`](crate::prepare) compiled from it.
    pub tokenizer: PathBuf,
    /// The SHA-256 that the tokenizer must have, in lower-case hexadecimal.
    pub tokenizer_sha256: Option<String>,
    /// Maximum tokens of an input, including the two special tokens around a text.
    pub max_tokens: usize,
    /// Pooling of token vectors.
    pub pooling: Pooling,
    /// Prompts before texts.
    pub prompts: Prompts,
    /// True if texts are lower-cased before tokenization.
    pub lower_case: bool,
}

impl ModelFiles {
    /// The files of a model `name`: mean pooling, inputs of 512 tokens, no prompts and no checksums.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        runtime: impl Into<PathBuf>,
        model: impl Into<PathBuf>,
        tokenizer: impl Into<PathBuf>,
    ) -> Self {
        Self {
            name: name.into(),
            runtime: runtime.into(),
            model: model.into(),
            model_sha256: None,
            words_sha256: None,
            identity: None,
            tokenizer: tokenizer.into(),
            tokenizer_sha256: None,
            max_tokens: DEFAULT_MAX_TOKENS,
            pooling: Pooling::default(),
            prompts: Prompts::default(),
            lower_case: false,
        }
    }

    memory_core::setters! {
        some into model_sha256: String,
        some into words_sha256: String,
        some into identity: String,
        some into tokenizer_sha256: String,
        const max_tokens: usize,
        const pooling: Pooling,
        prompts: Prompts,
        const lower_case: bool,
    }

    /// Locates the files of the encoder `name` in `directory`, to be run with the library at `runtime`.
    ///
    /// The graph is the one of [`prepare`](crate::prepare), or, in 32 bits, one that came with the model.
    ///
    /// # Errors
    /// [`ModelError::Missing`] for a missing or incomplete file, [`ModelError::NotChecked`] for a quantized graph that
    /// did not pass the quality gate on a processor like this one, [`ModelError::Config`] for an unsupported
    /// configuration.
    pub fn in_directory(
        directory: &Path,
        name: &str,
        runtime: &Path,
        precision: Precision,
    ) -> Result<Self, ModelError> {
        let record = ConvertedGraphs::read(directory)?;
        let graphs = ConvertedGraphs::directory(directory);
        let graph = match (&record, precision) {
            (Some(record), Precision::Full) => Some(&record.full),
            (Some(record), Precision::Int8) => Some(checked(name, record)?),
            (None, _) => None,
        };
        let model = match graph {
            Some(ConvertedGraph { graph, words, .. }) => {
                if let Some(words) = words {
                    there(&format!("the table of words of {name}"), &graphs, words)?;
                }
                there(&format!("the graph of {name}"), &graphs, graph)?
            }
            None => {
                let shipped = [graphs.join("model.onnx"), directory.join("model.onnx")];
                let found = shipped.iter().find(|path| precision == Precision::Full && path.is_file());
                let not_converted = || ModelError::not_converted(name, &ConvertedGraphs::path(directory));
                found.cloned().ok_or_else(not_converted)?
            }
        };
        let mut files = Self::unconverted(directory, name, runtime, precision)?;
        if let Some(record) = &record {
            files.identity = record.identity(precision);
            files.tokenizer_sha256 = Some(record.tokenizer_sha256.clone());
            if let Some(compiled) = &record.tokenizer {
                files.tokenizer = there(&format!("the compiled tokenizer of {name}"), &graphs, compiled)?;
                files.tokenizer_sha256 = Some(compiled.sha256.clone());
            }
        }
        Ok(Self {
            model,
            model_sha256: graph.map(|graph| graph.graph.sha256.clone()),
            words_sha256: graph.and_then(|graph| graph.words.as_ref()).map(|words| words.sha256.clone()),
            ..files
        })
    }

    /// The path of the table of words, if that is a file of its own.
    pub(crate) fn words(&self) -> PathBuf {
        self.model.with_file_name(WORDS)
    }

    /// The files of a model whose graphs may not exist yet.
    pub(crate) fn unconverted(
        directory: &Path,
        name: &str,
        runtime: &Path,
        precision: Precision,
    ) -> Result<Self, ModelError> {
        let described = ModelDirectory::read(directory)?;
        let tokenizer = directory.join("tokenizer.json");
        if !tokenizer.is_file() {
            return Err(ModelError::missing(&format!("the tokenizer of {name}"), &tokenizer));
        }
        let model = ConvertedGraphs::directory(directory).join("model.onnx");
        Ok(Self::new(format!("{name}/{}", precision.name()), runtime, model, tokenizer)
            .max_tokens(described.max_tokens)
            .pooling(described.pooling)
            .prompts(described.prompts)
            .lower_case(described.lower_case))
    }
}

/// The quantized graph of a record, if it passed the quality gate with this processor's instruction set.
fn checked<'a>(name: &str, record: &'a ConvertedGraphs) -> Result<&'a ConvertedGraph, ModelError> {
    let not_checked = |why: &str| ModelError::NotChecked { model: name.to_owned(), why: why.to_owned() };
    let graph = record.int8.as_ref().ok_or_else(|| not_checked("did not pass its check"))?;
    match &graph.gate {
        Some(gate) if gate.matches_this_processor() => Ok(graph),
        Some(_) => Err(not_checked("was checked on another kind of processor")),
        None => Err(not_checked("was never checked")),
    }
}

/// The path of a converted file in `directory`, if it has its size.
fn there(what: &str, directory: &Path, file: &ConvertedFile) -> Result<PathBuf, ModelError> {
    file_of_size(what, directory.join(&file.file), file.size)
}

/// `path`, if it is a file of this size, because loading a truncated library would crash the process.
fn file_of_size(what: &str, path: PathBuf, size: u64) -> Result<PathBuf, ModelError> {
    match fs::metadata(&path) {
        Ok(found) if found.is_file() && found.len() == size => Ok(path),
        _ => Err(ModelError::missing(what, &path)),
    }
}

impl ModelStore {
    /// The store in directory `root`, which need not exist.
    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The store in the given directory, otherwise in that of [`MODELS_VARIABLE`], otherwise in this user's cache
    /// directory.
    ///
    /// # Errors
    /// [`ModelError::NoCacheDirectory`], if there is none of these.
    pub fn discover(given: Option<&Path>) -> Result<Self, ModelError> {
        let named = || env::var_os(MODELS_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cached = || ProjectDirs::from("", "", "memory").map(|dirs| dirs.cache_dir().join("models"));
        given
            .map(Path::to_path_buf)
            .or_else(named)
            .or_else(cached)
            .map(Self::at)
            .ok_or(ModelError::NoCacheDirectory { variable: MODELS_VARIABLE })
    }

    /// Its directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path of `file`.
    #[must_use]
    pub fn path_of(&self, file: &PinnedFile) -> PathBuf {
        file.path.split('/').fold(self.root.clone(), |path, part| path.join(part))
    }

    /// The path of this store's ONNX Runtime.
    ///
    /// # Errors
    /// [`ModelError::Missing`], if it is missing or incomplete.
    pub fn runtime(&self) -> Result<PathBuf, ModelError> {
        file_of_size("ONNX Runtime", self.path_of(&ONNX_RUNTIME_LIBRARY), ONNX_RUNTIME_LIBRARY.size)
    }

    /// The directory of the model `name`.
    #[must_use]
    pub fn directory_of(&self, name: &str) -> PathBuf {
        name.split('/')
            .filter(|part| !matches!(*part, "" | "." | ".."))
            .fold(self.root.clone(), |path, part| path.join(part))
    }

    /// Sorted names of the models in the store: directories with a `config.json`, at most two levels deep.
    ///
    /// # Errors
    /// If a directory cannot be read.
    pub fn models(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for name in directories_in(&self.root)? {
            let path = self.root.join(&name);
            if path.join("config.json").is_file() {
                names.push(name);
                continue;
            }
            let of_organization = directories_in(&path)?.into_iter();
            let models = of_organization.filter(|model| path.join(model).join("config.json").is_file());
            names.extend(models.map(|model| format!("{name}/{model}")));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Locates the files of `model` in 8 bits.
    ///
    /// # Errors
    /// As [`ModelFiles::in_directory`].
    pub fn locate(&self, model: &PinnedModel) -> Result<ModelFiles, ModelError> {
        self.locate_with(model.name, Precision::Int8)
    }

    /// Locates the files of the encoder `name`.
    ///
    /// # Errors
    /// As [`ModelFiles::in_directory`].
    pub fn locate_with(&self, name: &str, precision: Precision) -> Result<ModelFiles, ModelError> {
        ModelFiles::in_directory(&self.directory_of(name), name, &self.runtime()?, precision)
    }

    /// True if `file` exists with the pinned content. Reads the whole file.
    ///
    /// # Errors
    /// If it exists but cannot be read.
    pub(crate) fn holds(&self, file: &PinnedFile) -> io::Result<bool> {
        let path = self.path_of(file);
        match if_there(fs::metadata(&path))? {
            Some(found) if found.is_file() && found.len() == file.size => Ok(sha256_hex_of_file(&path)? == file.sha256),
            _ => Ok(false),
        }
    }
}

/// Names of the directories in `path`, except hidden ones; none if `path` is missing.
fn directories_in(path: &Path) -> io::Result<Vec<String>> {
    let Some(entries) = if_there(fs::read_dir(path))? else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if let Ok(name) = entry.file_name().into_string()
            && entry.path().is_dir()
            && !name.starts_with('.')
        {
            names.push(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use memory_core::port::EmbedError;

    use super::*;
    use crate::ALL_MINILM_L6_V2;

    #[test]
    fn a_missing_file_is_named_with_the_command_that_gets_it() {
        let directory = tempfile::tempdir().unwrap();
        let error = ModelStore::at(directory.path()).locate(&ALL_MINILM_L6_V2).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("ONNX Runtime is missing"), "{text}");
        assert!(text.contains("memory model fetch"), "{text}");
        assert!(error.source().is_none());
        let EmbedError::Unavailable { what, how } = EmbedError::from(error) else { panic!("another error") };
        assert!(what.contains("libonnxruntime"), "{what}");
        assert_eq!(how, "run `memory model fetch`");
    }

    #[test]
    fn a_file_cut_short_is_missing() {
        let directory = tempfile::tempdir().unwrap();
        let store = ModelStore::at(directory.path());
        let library = store.path_of(&ONNX_RUNTIME_LIBRARY);
        fs::create_dir_all(library.parent().unwrap()).unwrap();
        fs::write(&library, b"\x7fELF").unwrap();
        let Err(ModelError::Missing { path, .. }) = store.locate(&ALL_MINILM_L6_V2) else { panic!("it was located") };
        assert_eq!(path, library);
    }

    #[test]
    fn the_models_that_are_here_are_listed_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let store = ModelStore::at(directory.path().join("models"));
        assert!(store.models().unwrap().is_empty());
        for name in ["plain", "hub-user/fetched", ".hub/half"] {
            fs::create_dir_all(store.root().join(name)).unwrap();
            fs::write(store.root().join(name).join("config.json"), "{}").unwrap();
        }
        fs::create_dir_all(store.root().join("onnxruntime/lib")).unwrap();
        assert_eq!(store.models().unwrap(), ["hub-user/fetched", "plain"]);
    }

    #[test]
    fn a_given_directory_comes_first() {
        let store = ModelStore::discover(Some(Path::new("somewhere"))).unwrap();
        assert_eq!(store.root(), Path::new("somewhere"));
    }
}
