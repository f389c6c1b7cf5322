//! Reads a model's configuration files.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use memory_core::port::BoxError;
use serde::{Deserialize, de::DeserializeOwned};

use super::{Backend, ModelError};
use crate::files::{self, if_there};

/// Tokens of an input if no file states a limit: BERT's.
pub(crate) const DEFAULT_MAX_TOKENS: usize = 512;

/// Pooling of token vectors into the vector of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pooling {
    /// The mean, including the special tokens around the text.
    #[default]
    Mean,
    /// The vector of the first token.
    Cls,
    /// The maximum of each component.
    Max,
}

/// Prompts that a model expects before texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Prompts {
    /// Before a query.
    pub query: String,
    /// Before a document.
    pub document: String,
}

/// A model directory in the layout of sentence-transformers (Reimers and Gurevych, 2019) and its configuration.
///
/// The configuration consists of `modules.json`, the `config.json` of the pooling module, `sentence_bert_config.json`,
/// `config_sentence_transformers.json`, `tokenizer_config.json` and `config.json`. Missing files and fields have the
/// defaults of sentence-transformers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelDirectory {
    /// The directory.
    pub path: PathBuf,
    /// Its engine.
    pub backend: Backend,
    /// Maximum tokens of an input, including special tokens. A static model has no limit.
    pub max_tokens: usize,
    /// Pooling of token vectors.
    pub pooling: Pooling,
    /// True if the model scales its vectors to unit length. Embedders always do.
    pub normalizes: bool,
    /// Prompts before texts.
    pub prompts: Prompts,
    /// True if texts are lower-cased before tokenization.
    pub lower_case: bool,
    /// Components of its vectors, if a file states them.
    pub dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct PoolingConfig {
    word_embedding_dimension: Option<usize>,
    #[serde(default)]
    pooling_mode: Option<String>,
    #[serde(default = "yes")]
    include_prompt: bool,
    #[serde(flatten)]
    modes: BTreeMap<String, serde_json::Value>,
}

const fn yes() -> bool {
    true
}

#[derive(Default, Deserialize)]
struct SentenceConfig {
    max_seq_length: Option<usize>,
    #[serde(default)]
    do_lower_case: bool,
}

#[derive(Default, Deserialize)]
struct PromptConfig {
    #[serde(default)]
    prompts: BTreeMap<String, String>,
    default_prompt_name: Option<String>,
}

#[derive(Default, Deserialize)]
struct TokenizerConfig {
    /// A float, because some files state a huge number for "no limit".
    model_max_length: Option<f64>,
}

/// The record of a fetch from a hub.
#[derive(Deserialize)]
struct Fetched {
    id: String,
}

impl Fetched {
    /// The prompts of E5 (Wang et al., 2022), which its description on the hub states, and its files do not.
    fn prompts(&self) -> Prompts {
        let name = self.id.strip_prefix("intfloat/").unwrap_or_default();
        let name = name.strip_prefix("multilingual-").unwrap_or(name);
        match name.strip_prefix("e5-").map(|size| size.trim_end_matches("-v2")) {
            Some("small" | "base" | "large") => {
                Prompts { query: "query: ".to_owned(), document: "passage: ".to_owned() }
            }
            _ => Prompts::default(),
        }
    }
}

#[derive(Default, Deserialize)]
struct ModelConfig {
    model_type: Option<String>,
    hidden_size: Option<usize>,
    hidden_dim: Option<usize>,
    max_position_embeddings: Option<usize>,
}

impl ModelDirectory {
    /// Reads the configuration files in `path`.
    ///
    /// # Errors
    /// [`ModelError::Missing`] without `config.json`; [`ModelError::Config`] for a file that is damaged or requires an
    /// unsupported feature.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let files = ConfigFiles { root: path };
        let config: ModelConfig = files
            .read("config.json")?
            .ok_or_else(|| ModelError::missing("the configuration of the model", &path.join("config.json")))?;
        let sentence: SentenceConfig = files.read("sentence_bert_config.json")?.unwrap_or_default();
        let prompts: PromptConfig = files.read("config_sentence_transformers.json")?.unwrap_or_default();
        let tokenizer: TokenizerConfig = files.read("tokenizer_config.json")?.unwrap_or_default();
        let modules: Vec<Module> = files.read("modules.json")?.unwrap_or_default();

        let mut backend =
            if config.model_type.as_deref() == Some("model2vec") { Backend::Static } else { Backend::Onnx };
        let (mut normalizes, mut pooling, mut dimensions) = (false, None, config.hidden_size.or(config.hidden_dim));
        for module in &modules {
            match module.kind.rsplit('.').next().unwrap_or_default() {
                "Transformer" => {}
                "Normalize" => normalizes = true,
                "StaticEmbedding" => backend = Backend::Static,
                "Pooling" => {
                    let name = format!("{}/config.json", module.path.trim_end_matches('/'));
                    let found: PoolingConfig = files.read(&name)?.ok_or_else(|| {
                        ModelError::missing("the configuration of the model's pooling", &files.path(&name))
                    })?;
                    dimensions = found.word_embedding_dimension.or(dimensions);
                    pooling = Some(found.pooling().map_err(|what| files.wrong(&name, what))?);
                }
                other => return Err(files.wrong("modules.json", format!("modules of type {other} are not supported"))),
            }
        }
        let lengths = [
            sentence.max_seq_length,
            tokenizer.model_max_length.and_then(limit),
            config.max_position_embeddings.map(|positions| positions_read(config.model_type.as_deref(), positions)),
        ];
        let named = |names: &[&str]| {
            let found = names.iter().find_map(|name| prompts.prompts.get(*name));
            found.or_else(|| prompts.prompts.get(prompts.default_prompt_name.as_ref()?)).cloned().unwrap_or_default()
        };
        let mut prompts = Prompts { query: named(&["query"]), document: named(&["document", "passage", "corpus"]) };
        // A fetch repairs a record that cannot be read.
        if let (true, Ok(Some(fetched))) = (prompts == Prompts::default(), files.read::<Fetched>("hub.json")) {
            prompts = fetched.prompts();
        }
        Ok(Self {
            path: path.to_path_buf(),
            backend,
            max_tokens: lengths.into_iter().flatten().min().unwrap_or(DEFAULT_MAX_TOKENS),
            pooling: pooling.unwrap_or_default(),
            normalizes,
            prompts,
            lower_case: sentence.do_lower_case,
            dimensions,
        })
    }
}

/// Tokens that fit a position table with `positions` rows; some families reserve the first two rows for padding.
pub(crate) fn positions_read(model_type: Option<&str>, positions: usize) -> usize {
    match model_type {
        Some("mpnet" | "roberta" | "xlm-roberta" | "camembert") => positions.saturating_sub(2),
        _ => positions,
    }
}

/// A limit of tokens; `None` for a number such as 10³⁰, which means no limit.
fn limit(length: f64) -> Option<usize> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the range that is checked")]
    (1.0..1e9).contains(&length).then_some(length as usize)
}

impl PoolingConfig {
    fn pooling(&self) -> Result<Pooling, String> {
        if !self.include_prompt {
            return Err("pooling without the prompt's tokens is not supported".to_owned());
        }
        let on = |(mode, value): (&String, &serde_json::Value)| {
            let mode = mode.strip_prefix("pooling_mode_")?;
            (value.as_bool() == Some(true)).then(|| mode.strip_suffix("_tokens").unwrap_or(mode).to_owned())
        };
        let mut modes: Vec<String> = self.modes.iter().filter_map(on).collect();
        modes.extend(self.pooling_mode.clone());
        match modes.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] | ["mean"] => Ok(Pooling::Mean),
            ["cls" | "cls_token"] => Ok(Pooling::Cls),
            ["max"] => Ok(Pooling::Max),
            ref others => Err(format!("pooling by {} is not supported", others.join(" and "))),
        }
    }
}

/// The configuration files of a directory.
struct ConfigFiles<'a> {
    root: &'a Path,
}

impl ConfigFiles<'_> {
    fn path(&self, name: &str) -> PathBuf {
        name.split('/')
            .filter(|part| !part.is_empty() && *part != "..")
            .fold(self.root.to_path_buf(), |path, part| path.join(part))
    }

    /// Reads a file; `None` if it is missing.
    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, ModelError> {
        let path = self.path(name);
        let json = if_there(files::read_text(&path)).map_err(|source| ModelError::Io { path, source })?;
        json.map(|json| serde_json::from_slice(&json).map_err(|error| self.wrong(name, error))).transpose()
    }

    fn wrong(&self, name: &str, why: impl Into<BoxError>) -> ModelError {
        ModelError::Config { path: self.path(name), source: why.into() }
    }
}

#[cfg(test)]
mod tests;
