//! The files of a cross-encoder.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::{
    ModelError,
    files::{self, if_there},
    models::{DEFAULT_MAX_TOKENS, positions_read},
};

/// The id on the hub of the recommended cross-encoder: 6 layers, 512 tokens, English, Apache-2.0.
///
/// Its repository contains `onnx/model.onnx` and `tokenizer.json`, as [`RerankerFiles::in_directory`] expects. No
/// pinned package has the model; `fetch_from_hub` of the feature `hub` fetches it.
pub const MS_MARCO_MINILM_L6_V2: &str = "cross-encoder/ms-marco-MiniLM-L-6-v2";

const HOW_TO_GET_IT: &str = "run `memory model fetch ms-marco-MiniLM`, or name the directory of a cross-encoder";

/// Possible paths of the graph in a model's directory.
const GRAPHS: [&str; 2] = ["onnx/model.onnx", "model.onnx"];

/// Files and settings from which a cross-encoder is loaded.
///
/// [`RerankerFiles::in_directory`] finds those of a directory; [`RerankerFiles::new`] takes the files one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RerankerFiles {
    /// The model's name. The [`ModelId`](memory_core::ModelId) adds the checksum of the graph.
    pub name: String,
    /// The ONNX Runtime shared library.
    pub runtime: PathBuf,
    /// The graph, from `input_ids`, `attention_mask` and optionally `token_type_ids` to `logits`, `[batch, 1]` or
    /// `[batch, 2]`.
    pub model: PathBuf,
    /// The SHA-256 that the graph must have, in lower-case hexadecimal.
    pub model_sha256: Option<String>,
    /// The `tokenizer.json`.
    pub tokenizer: PathBuf,
    /// The SHA-256 that the tokenizer must have, in lower-case hexadecimal.
    pub tokenizer_sha256: Option<String>,
    /// Maximum tokens of question and text together, including special tokens.
    pub max_tokens: usize,
}

#[derive(Deserialize)]
struct RerankerConfig {
    model_type: Option<String>,
    max_position_embeddings: Option<usize>,
}

impl RerankerFiles {
    /// The files of a cross-encoder `name`: inputs of 512 tokens and no checksums.
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
            tokenizer: tokenizer.into(),
            tokenizer_sha256: None,
            max_tokens: DEFAULT_MAX_TOKENS,
        }
    }

    memory_core::setters! {
        some into model_sha256: String,
        some into tokenizer_sha256: String,
        const max_tokens: usize,
    }

    /// Locates the files of the model `name` in `directory`, in the layout of the hub: `onnx/model.onnx` or
    /// `model.onnx`, `tokenizer.json`, and optionally `config.json`, which states the limit of tokens.
    ///
    /// # Errors
    /// [`ModelError`] for the first file that is missing or cannot be read.
    pub fn in_directory(name: &str, directory: &Path, runtime: &Path) -> Result<Self, ModelError> {
        let graph = GRAPHS.iter().map(|graph| directory.join(graph)).find(|path| path.is_file());
        let missing =
            |what: &str, path: PathBuf| ModelError::Missing { what: what.to_owned(), path, how: HOW_TO_GET_IT };
        let model = graph.ok_or_else(|| missing("the reranker's graph", directory.join("onnx/model.onnx")))?;
        let tokenizer = directory.join("tokenizer.json");
        if !tokenizer.is_file() {
            return Err(missing("the reranker's tokenizer", tokenizer));
        }
        let config = directory.join("config.json");
        let unread = |source| ModelError::Io { path: config.clone(), source };
        let positions = match if_there(files::read_text(&config)).map_err(unread)? {
            Some(json) => {
                let config: RerankerConfig = serde_json::from_slice(&json).map_err(|error| unread(error.into()))?;
                let read = |positions| positions_read(config.model_type.as_deref(), positions);
                config.max_position_embeddings.map(read)
            }
            None => None,
        };
        let max_tokens = positions.unwrap_or(DEFAULT_MAX_TOKENS);
        Ok(Self::new(name, runtime, model, tokenizer).max_tokens(max_tokens))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_files_of_a_repository_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let files = |name: &str| RerankerFiles::in_directory(name, directory.path(), Path::new("libonnxruntime.so"));
        assert!(matches!(files("x"), Err(ModelError::Missing { path, .. }) if path.ends_with("onnx/model.onnx")));
        fs::write(directory.path().join("model.onnx"), "graph").unwrap();
        assert!(matches!(files("x"), Err(ModelError::Missing { path, .. }) if path.ends_with("tokenizer.json")));
        fs::write(directory.path().join("tokenizer.json"), "{}").unwrap();
        assert_eq!(files("x").unwrap().max_tokens, 512);
        fs::write(directory.path().join("config.json"), r#"{"max_position_embeddings": 128}"#).unwrap();
        let found = files(MS_MARCO_MINILM_L6_V2).unwrap();
        assert_eq!((found.max_tokens, found.name.as_str()), (128, MS_MARCO_MINILM_L6_V2));
        assert!(found.model.ends_with("model.onnx"));
        let roberta = r#"{"model_type": "xlm-roberta", "max_position_embeddings": 514}"#;
        fs::write(directory.path().join("config.json"), roberta).unwrap();
        assert_eq!(files("x").unwrap().max_tokens, 512, "two rows of its table are the padding's");
        fs::write(directory.path().join("config.json"), "no JSON").unwrap();
        assert!(matches!(files("x"), Err(ModelError::Io { .. })));
    }
}
