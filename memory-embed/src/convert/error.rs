//! The error of converting a model.

use std::{io, path::PathBuf};

use memory_core::port::BoxError;

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
    #[error("{path} is not a valid model configuration")]
    Config {
        /// The file.
        path: PathBuf,
        /// Why.
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
        /// Why.
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
}
