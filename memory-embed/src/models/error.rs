//! The error of locating, loading, converting or preparing a model.

use std::{
    io,
    path::{Path, PathBuf},
};

use memory_core::port::{BoxError, EmbedError};

const HOW_TO_GET_IT: &str = "run `memory model fetch`";

/// Why a model cannot be located, loaded, converted or prepared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A file is missing or incomplete.
    #[error("{what} is missing at {path}: {how}")]
    Missing {
        /// The kind of file, as in `the tokenizer of all-MiniLM-L6-v2/int8`.
        what: String,
        /// Its expected path.
        path: PathBuf,
        /// Remedy.
        how: &'static str,
    },
    /// No model directory was given, and this user has no cache directory.
    #[error("there is no cache directory to keep models in: set {variable} to a directory")]
    NoCacheDirectory {
        /// Variable that can name a directory.
        variable: &'static str,
    },
    /// A file does not have the pinned SHA-256.
    #[error("{path} has SHA-256 {actual}, expected {expected}: run `memory model fetch --force`")]
    Checksum {
        /// The file.
        path: PathBuf,
        /// The pinned SHA-256.
        expected: String,
        /// The file's SHA-256.
        actual: String,
    },
    /// A configuration file is damaged or requires an unsupported feature.
    #[error("the model that {path} describes cannot be run")]
    Config {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: BoxError,
    },
    /// The model's quantized graph was not checked on this kind of processor, or failed the check.
    #[error("the int8 graph of {model} {why}: run `memory model convert {model}`, or use its fp32 graph")]
    NotChecked {
        /// The model.
        model: String,
        /// State of the check.
        why: String,
    },
    /// The vectors of a quantized graph differ too much from those of the fp32 graph.
    #[error(
        "the int8 graph of {model} is refused: cosine to fp32 {mean:.4} in the mean and {least:.4} at worst, \
         at least {required_mean} and {required_least} are required; use the fp32 graph"
    )]
    Gate {
        /// The model.
        model: String,
        /// The mean cosine over the sample.
        mean: f64,
        /// Minimum cosine.
        least: f64,
        /// The required mean.
        required_mean: f64,
        /// Required minimum cosine.
        required_least: f64,
    },
    /// No model has this name.
    #[error("there is no model {name}: {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The known names.
        known: String,
    },
    /// A file cannot be read.
    #[error("cannot read {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The library is not a usable ONNX Runtime.
    #[error("{path} cannot be loaded as ONNX Runtime")]
    Runtime {
        /// The library.
        path: PathBuf,
        /// The cause.
        #[source]
        source: BoxError,
    },
    /// Another ONNX Runtime is loaded already; a process can load only one.
    #[error(
        "ONNX Runtime is already loaded from {loaded}, so {asked} cannot be: use the same library, or another process"
    )]
    OtherRuntime {
        /// The library in use.
        loaded: PathBuf,
        /// The requested library.
        asked: PathBuf,
    },
    /// The tokenizer file is damaged or not supported.
    #[error("{path} is not a usable tokenizer")]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: BoxError,
    },
    /// The graph or weights file is damaged or not supported.
    #[error("{path} is not a usable model of this kind")]
    Graph {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: BoxError,
    },
    /// The value of an option is invalid.
    #[error("{option} is {value}: it must be {must}")]
    Option {
        /// The option's name.
        option: &'static str,
        /// The value of the option.
        value: usize,
        /// The valid values.
        must: String,
    },
    /// A file cannot be read or written while a model is converted.
    #[error("cannot read or write {path}")]
    Disk {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The configuration of a model to convert is damaged.
    #[error("{path} is not a valid model configuration")]
    InvalidConfig {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: BoxError,
    },
    /// The kind of model is not supported.
    #[error("{path}: {what}; convert it with its own tools and name the ONNX file")]
    Unsupported {
        /// The configuration.
        path: PathBuf,
        /// Name of what is not supported.
        what: String,
    },
    /// The weights are damaged.
    #[error("the weights in {path} cannot be read")]
    Weights {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: BoxError,
    },
    /// A tensor is missing or does not match the configuration.
    #[error("tensor {name} of {path} {what}")]
    Tensor {
        /// The file.
        path: PathBuf,
        /// The tensor's name.
        name: String,
        /// The fault.
        what: String,
    },
    /// A layer cannot be quantized because the ranges of its inputs were not measured.
    #[error("the inputs of {site} were not measured: the model's files may have changed meanwhile; convert it again")]
    NotMeasured {
        /// The name of the layer's inputs.
        site: String,
    },
    /// The graph is larger than an ONNX file can be.
    #[error("{what} is too large for an ONNX file, which has at most 2 GiB")]
    TooLarge {
        /// Name of what is too large.
        what: &'static str,
    },
    /// No thread could be started for the model.
    #[error("no thread could be started for the model")]
    Thread(#[source] io::Error),
}

impl ModelError {
    /// The error of a missing file `what` at `path`.
    pub(crate) fn missing(what: &str, path: &Path) -> Self {
        Self::Missing { what: what.to_owned(), path: path.to_path_buf(), how: HOW_TO_GET_IT }
    }

    /// The error for a model without converted graphs; `path` is missing.
    pub(crate) fn not_converted(name: &str, path: &Path) -> Self {
        let what = format!("the graph of {name}");
        Self::Missing { what, path: path.to_path_buf(), how: "run `memory model fetch`, or `memory model convert`" }
    }

    /// The error of reading `what` from `path`.
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
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
