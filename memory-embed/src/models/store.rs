//! The directory that runtime, models and tokenizers are kept in.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use directories::ProjectDirs;

use super::{
    ConvertedGraph, ConvertedGraphs, ModelDirectory, ModelError, ONNX_RUNTIME_LIBRARY, PinnedFile, PinnedModel,
    Pooling, Prompts,
};
use crate::{Precision, checksum::sha256_hex_of_file};

/// The environment variable that names the directory for models.
pub const MODELS_VARIABLE: &str = "MEMORY_MODELS";

/// A directory for runtime, models and tokenizers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelStore {
    root: PathBuf,
}

/// The files and facts that an embedder is loaded from.
///
/// [`ModelStore::locate`] gives them for a model of a store, [`ModelFiles::in_directory`] for one that lies elsewhere;
/// any other is named by filling them in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFiles {
    /// The model's name; a digest of everything that the vectors of documents depend on is added to make the
    /// [`ModelId`](memory_core::ModelId).
    pub name: String,
    /// The ONNX Runtime shared library.
    pub runtime: PathBuf,
    /// The graph: `input_ids` and `attention_mask` (and `token_type_ids`, if it has it) give
    /// `last_hidden_state`, `[batch, sequence, dimensions]`.
    pub model: PathBuf,
    /// The digest that the graph must have, in lower-case hexadecimal.
    pub model_sha256: Option<String>,
    /// What tells the graph from others in the id of the model, if not its own digest: graphs whose vectors may lie side
    /// by side share it. Not believed without [`model_sha256`](Self::model_sha256).
    pub identity: Option<String>,
    /// The `tokenizer.json`.
    pub tokenizer: PathBuf,
    /// The digest that the tokenizer must have, in lower-case hexadecimal.
    pub tokenizer_sha256: Option<String>,
    /// Tokens that the model reads at once, the two that enclose a text included.
    pub max_tokens: usize,
    /// How the vectors of tokens become that of a text.
    pub pooling: Pooling,
    /// What is put before texts.
    pub prompts: Prompts,
    /// Whether texts are lower-cased before the tokenizer sees them.
    pub lower_case: bool,
}

impl ModelFiles {
    /// The files of the encoder in `directory`, which is called `name`, run by the library at `runtime`.
    ///
    /// The graph is one that [`prepare`](crate::prepare) wrote, or, in 32 bits, one that came with the model.
    ///
    /// # Errors
    /// [`ModelError::Missing`] for a file that is not there or not whole, [`ModelError::NotChecked`] for a quantized
    /// graph that did not pass the gate on a processor like this one, [`ModelError::Config`] for a configuration that
    /// cannot be run.
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
            Some(graph) => whole(&format!("the graph of {name}"), graphs.join(&graph.file), graph.size)?,
            None => {
                let shipped = [graphs.join("model.onnx"), directory.join("model.onnx")];
                let found = shipped.iter().find(|path| precision == Precision::Full && path.is_file());
                let not_converted = || ModelError::not_converted(name, &ConvertedGraphs::path(directory));
                found.cloned().ok_or_else(not_converted)?
            }
        };
        Ok(Self {
            model,
            model_sha256: graph.map(|graph| graph.sha256.clone()),
            identity: record.as_ref().and_then(|record| record.identity(precision)),
            tokenizer_sha256: record.as_ref().map(|record| record.tokenizer_sha256.clone()),
            ..Self::unconverted(directory, name, runtime, precision)?
        })
    }

    /// What is known before there is a graph.
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
        Ok(Self {
            name: format!("{name}/{}", precision.name()),
            runtime: runtime.to_path_buf(),
            model: ConvertedGraphs::directory(directory).join("model.onnx"),
            model_sha256: None,
            identity: None,
            tokenizer,
            tokenizer_sha256: None,
            max_tokens: described.max_tokens,
            pooling: described.pooling,
            prompts: described.prompts,
            lower_case: described.lower_case,
        })
    }
}

/// The quantized graph of a record, if it passed the gate with the instructions of this processor.
fn checked<'a>(name: &str, record: &'a ConvertedGraphs) -> Result<&'a ConvertedGraph, ModelError> {
    let not_checked = |why: &str| ModelError::NotChecked { model: name.to_owned(), why: why.to_owned() };
    let graph = record.int8.as_ref().ok_or_else(|| not_checked("did not pass its check"))?;
    match &graph.gate {
        Some(gate) if gate.is_of_this_processor() => Ok(graph),
        Some(_) => Err(not_checked("was checked on another kind of processor")),
        None => Err(not_checked("was never checked")),
    }
}

/// `path`, if there is a file of that size. A library cut short would end the process as soon as it is touched.
fn whole(what: &str, path: PathBuf, size: u64) -> Result<PathBuf, ModelError> {
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

    /// The store in the directory given, else in the one that [`MODELS_VARIABLE`] names, else in this user's
    /// cache directory.
    ///
    /// # Errors
    /// [`ModelError::NoCacheDirectory`] if there is none of these.
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

    /// Where `file` belongs.
    #[must_use]
    pub fn path_of(&self, file: &PinnedFile) -> PathBuf {
        file.path.split('/').fold(self.root.clone(), |path, part| path.join(part))
    }

    /// The ONNX Runtime of this store.
    ///
    /// # Errors
    /// [`ModelError::Missing`] if it is not there in its full size.
    pub fn runtime(&self) -> Result<PathBuf, ModelError> {
        whole("ONNX Runtime", self.path_of(&ONNX_RUNTIME_LIBRARY), ONNX_RUNTIME_LIBRARY.size)
    }

    /// The directory of the model called `name`.
    #[must_use]
    pub fn directory_of(&self, name: &str) -> PathBuf {
        name.split('/')
            .filter(|part| !matches!(*part, "" | "." | ".."))
            .fold(self.root.clone(), |path, part| path.join(part))
    }

    /// The names of the models that are here, sorted: the directories with a `config.json`, and those in them.
    ///
    /// # Errors
    /// When a directory cannot be read.
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

    /// The files of `model`, run in 8 bits.
    ///
    /// # Errors
    /// As [`ModelFiles::in_directory`].
    pub fn locate(&self, model: &PinnedModel) -> Result<ModelFiles, ModelError> {
        self.locate_with(model.name, Precision::Int8)
    }

    /// The files of the encoder called `name`.
    ///
    /// # Errors
    /// As [`ModelFiles::in_directory`].
    pub fn locate_with(&self, name: &str, precision: Precision) -> Result<ModelFiles, ModelError> {
        ModelFiles::in_directory(&self.directory_of(name), name, &self.runtime()?, precision)
    }

    /// Whether `file` is there with the pinned content; reads all of it.
    ///
    /// # Errors
    /// When it is there but cannot be read.
    pub(crate) fn holds(&self, file: &PinnedFile) -> io::Result<bool> {
        let path = self.path_of(file);
        match fs::metadata(&path) {
            Ok(found) if found.is_file() && found.len() == file.size => Ok(sha256_hex_of_file(&path)? == file.sha256),
            Ok(_) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The names of the directories in one, but for hidden ones; none if it is not there.
fn directories_in(path: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
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

    use memory_core::EmbedError;

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
