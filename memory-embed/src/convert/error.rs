//! Why a model cannot be converted.

use std::{io, path::PathBuf};

use memory_core::BoxError;

/// Why a model cannot be converted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// A file cannot be read or written.
    #[error("cannot read or write {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The configuration is damaged.
    #[error("{path} is no configuration of a model")]
    Config {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: BoxError,
    },
    /// The model is of a kind that is not converted.
    #[error("{path}: {what}; convert it with its own tools and name the ONNX file")]
    Unsupported {
        /// The configuration.
        path: PathBuf,
        /// What is not supported.
        what: String,
    },
    /// The weights are damaged.
    #[error("{path} holds no weights that can be read")]
    Weights {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: BoxError,
    },
    /// A tensor is missing or is not what the configuration says.
    #[error("tensor {name} of {path} {what}")]
    Tensor {
        /// The file.
        path: PathBuf,
        /// The tensor's name.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// The ranges of a layer's inputs are not known, without which it cannot be quantized.
    #[error("the inputs of {site} were not measured: were the model's files changed meanwhile? Convert it again")]
    NotMeasured {
        /// What goes into the layer.
        site: String,
    },
    /// An ONNX file has at most 2 GiB.
    #[error("{what} is too large for an ONNX file, which has at most 2 GiB")]
    TooLarge {
        /// What is too large.
        what: &'static str,
    },
}
