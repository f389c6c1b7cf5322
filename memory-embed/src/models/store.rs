//! The directory that runtime, models and tokenizers are kept in.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use directories::ProjectDirs;

use super::{ModelError, PinnedFile, PinnedModel};
use crate::checksum::sha256_hex_of_file;

/// The environment variable that names the directory for models.
pub const MODELS_VARIABLE: &str = "MEMORY_MODELS";

/// A directory for runtime, models and tokenizers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelStore {
    root: PathBuf,
}

/// The files and facts that an embedder is loaded from.
///
/// [`ModelStore::locate`] gives them for a pinned model; any other model is named by filling them in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFiles {
    /// The model's name; its digest is added to make the [`ModelId`](memory_core::ModelId).
    pub name: String,
    /// The ONNX Runtime shared library.
    pub runtime: PathBuf,
    /// The graph: `input_ids` and `attention_mask` (and `token_type_ids`, if it has it) give
    /// `last_hidden_state`, `[batch, sequence, dimensions]`.
    pub model: PathBuf,
    /// The digest that the graph must have, in lower-case hexadecimal.
    pub model_sha256: Option<String>,
    /// The `tokenizer.json`.
    pub tokenizer: PathBuf,
    /// The digest that the tokenizer must have, in lower-case hexadecimal.
    pub tokenizer_sha256: Option<String>,
    /// Tokens that the model reads at once, the two that enclose a text included.
    pub max_tokens: usize,
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

    /// The files of `model`, if each is there in its full size.
    ///
    /// A library cut short would end the process as soon as it is touched, hence the look at sizes.
    ///
    /// # Errors
    /// [`ModelError::Missing`] for the first file that is not there or not whole.
    pub fn locate(&self, model: &PinnedModel) -> Result<ModelFiles, ModelError> {
        let find = |role: &str, file: &PinnedFile| {
            let path = self.path_of(file);
            match fs::metadata(&path) {
                Ok(found) if found.is_file() && found.len() == file.size => Ok(path),
                _ => Err(ModelError::missing(&format!("the {role} of {}", model.name), &path)),
            }
        };
        Ok(ModelFiles {
            name: model.name.to_owned(),
            runtime: find("runtime", model.runtime)?,
            model: find("graph", model.model)?,
            model_sha256: Some(model.model.sha256.to_owned()),
            tokenizer: find("tokenizer", model.tokenizer)?,
            tokenizer_sha256: Some(model.tokenizer.sha256.to_owned()),
            max_tokens: model.max_tokens,
        })
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
        assert!(text.contains("runtime of all-MiniLM-L6-v2/int8"), "{text}");
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
        let library = store.path_of(ALL_MINILM_L6_V2.runtime);
        fs::create_dir_all(library.parent().unwrap()).unwrap();
        fs::write(&library, b"\x7fELF").unwrap();
        let Err(ModelError::Missing { path, .. }) = store.locate(&ALL_MINILM_L6_V2) else { panic!("it was located") };
        assert_eq!(path, library);
    }

    #[test]
    fn a_given_directory_comes_first() {
        let store = ModelStore::discover(Some(Path::new("somewhere"))).unwrap();
        assert_eq!(store.root(), Path::new("somewhere"));
    }
}
