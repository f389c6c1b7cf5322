//! Why a model cannot be used.

use std::{
    io,
    path::{Path, PathBuf},
};

use memory_core::{BoxError, EmbedError};

const HOW_TO_GET_IT: &str = "run `memory model fetch`";

/// Why a model cannot be located or loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A file is not there, or only a part of it.
    #[error("{what} is missing at {path}: {how}")]
    Missing {
        /// What it is, as in `the tokenizer of all-MiniLM-L6-v2/int8`.
        what: String,
        /// Where it was looked for.
        path: PathBuf,
        /// How to get it.
        how: &'static str,
    },
    /// No place for models was given, and this user has no cache directory.
    #[error("there is no cache directory to keep models in: set {variable} to a directory")]
    NoCacheDirectory {
        /// The variable that names one.
        variable: &'static str,
    },
    /// A file is not the one that was pinned.
    #[error("{path} has SHA-256 {actual}, expected {expected}: run `memory model fetch --force`")]
    Checksum {
        /// The file.
        path: PathBuf,
        /// The pinned digest.
        expected: String,
        /// The file's digest.
        actual: String,
    },
    /// A file of the model's configuration is damaged or asks for what is not done here.
    #[error("{path} describes no model that can be run")]
    Config {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: BoxError,
    },
    /// The model's quantized graph was not checked on this kind of processor, or failed.
    #[error("the int8 graph of {model} {why}: run `memory model convert {model}`, or use its fp32 graph")]
    NotChecked {
        /// The model.
        model: String,
        /// What is missing.
        why: String,
    },
    /// The vectors of a quantized graph are too far from those of its original.
    #[error(
        "the int8 graph of {model} is refused: cosine to fp32 {mean:.4} in the mean and {least:.4} at worst, \
         at least {wanted_mean} and {wanted_least} are wanted; use the fp32 graph"
    )]
    Gate {
        /// The model.
        model: String,
        /// The mean cosine over the sample.
        mean: f64,
        /// The worst cosine.
        least: f64,
        /// The least mean that passes.
        wanted_mean: f64,
        /// The least cosine of a text that passes.
        wanted_least: f64,
    },
    /// No model has that name.
    #[error("there is no model {name}: {known}")]
    Unknown {
        /// The name.
        name: String,
        /// What would have been one.
        known: String,
    },
    /// A file cannot be read.
    #[error("cannot read {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The library is no ONNX Runtime that this program can use.
    #[error("{path} cannot be loaded as ONNX Runtime")]
    Runtime {
        /// The library.
        path: PathBuf,
        /// Why.
        #[source]
        source: BoxError,
    },
    /// A process can hold one ONNX Runtime.
    #[error(
        "ONNX Runtime is already loaded from {loaded}, so {asked} cannot be: use the same library, or another process"
    )]
    OtherRuntime {
        /// The library in use.
        loaded: PathBuf,
        /// The library asked for.
        asked: PathBuf,
    },
    /// The tokenizer file is damaged or of a kind that cannot be used.
    #[error("{path} is no tokenizer that can be used")]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: BoxError,
    },
    /// The graph is damaged or of a kind that cannot be used.
    #[error("{path} is no model of this kind that can be used")]
    Graph {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: BoxError,
    },
    /// An option has no usable value.
    #[error("{option} is {value}: it must be {must}")]
    Option {
        /// The option's name.
        option: &'static str,
        /// Its value.
        value: usize,
        /// What it must be.
        must: String,
    },
    /// The operating system gave no thread for the model to run on.
    #[error("no thread could be started for the model")]
    Thread(#[source] io::Error),
}

impl ModelError {
    /// `what` is not at `path`.
    pub(crate) fn missing(what: &str, path: &Path) -> Self {
        Self::Missing { what: what.to_owned(), path: path.to_path_buf(), how: HOW_TO_GET_IT }
    }

    /// The graph of the model `name` was not made, as `path` is not there.
    pub(crate) fn not_converted(name: &str, path: &Path) -> Self {
        let what = format!("the graph of {name}");
        Self::Missing { what, path: path.to_path_buf(), how: "run `memory model fetch`, or `memory model convert`" }
    }

    /// `what` cannot be read from `path`.
    pub(crate) fn reading(what: &str, path: &Path, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::NotFound {
            Self::missing(what, path)
        } else {
            Self::Io { path: path.to_path_buf(), source }
        }
    }
}

impl From<ModelError> for EmbedError {
    fn from(error: ModelError) -> Self {
        let how = match &error {
            ModelError::Missing { how, .. } => (*how).to_owned(),
            other => describe(other),
        };
        let what = match error {
            ModelError::Missing { what, path, .. } => format!("{what} ({})", path.display()),
            _ => "the embedding model".to_owned(),
        };
        Self::Unavailable { what, how }
    }
}

/// The error and its causes on one line.
fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
