//! From the weights of an encoder to ONNX graphs, without Python.

mod architecture;
mod encoder;
mod error;
pub(crate) mod graph;
mod linear;
mod proto;
mod ranges;
pub(crate) mod weights;

use std::path::Path;

pub use error::ConvertError;

#[cfg(feature = "hub")]
pub(crate) use self::architecture::with_head;
pub(crate) use self::ranges::Ranges;
use self::{architecture::Architecture, encoder::Encoder, linear::Numbers, weights::Weights};
use crate::{checksum::sha256_hex, files};

/// The most that an ONNX file holds: what a protocol buffer does.
const MAX_BYTES: usize = i32::MAX as usize;

/// Raised whenever the same weights give another graph, so that what was converted before is converted again.
pub(crate) const CONVERTER: u32 = 2;

/// In what numbers a graph computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// 32-bit floats.
    Full,
    /// Linear layers in 8-bit integers, with a scale for each column of weights and one for all inputs of a layer, which
    /// was measured beforehand, but for the outputs of activations, which have one for each row; the table of words in 8 bits; the rest in 32-bit floats. A quarter of the size.
    Int8,
}

impl Precision {
    /// `fp32` or `int8`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "fp32",
            Self::Int8 => "int8",
        }
    }
}

/// The ONNX graph, in 32-bit floats, of the encoder in `directory`, from its `config.json` and `model.safetensors`.
///
/// BERT and MPNet with absolute positions and the exact GELU. The graph takes `input_ids`, `attention_mask` and, for
/// BERT, `token_type_ids`, all `[batch, sequence]`, with the tokens of a text first in its row, and gives
/// `last_hidden_state`, `[batch, sequence, hidden]`. It is made of operators of opset 24. The same files give the same
/// bytes. Takes about four times the memory of the weights.
///
/// The graph in 8-bit integers needs the model to have been run: [`prepare`](crate::prepare) makes it.
///
/// # Errors
/// [`ConvertError`], when a file cannot be read, is damaged, or is of another kind.
pub fn convert(directory: &Path) -> Result<Vec<u8>, ConvertError> {
    graph_of(directory, Numbers::Floats)
}

/// The graph of [`convert`](convert()) that also gives between which values the inputs of its linear layers lie, in outputs that
/// [`Ranges`] takes in.
pub(crate) fn convert_watched(directory: &Path) -> Result<Vec<u8>, ConvertError> {
    graph_of(directory, Numbers::Watched)
}

/// The graph in 8-bit integers for inputs of linear layers within `ranges`; those without are cut off. It needs ONNX
/// Runtime.
pub(crate) fn convert_quantized(directory: &Path, ranges: &Ranges) -> Result<Vec<u8>, ConvertError> {
    graph_of(directory, Numbers::Codes(ranges))
}

fn graph_of(directory: &Path, numbers: Numbers<'_>) -> Result<Vec<u8>, ConvertError> {
    let read = |name: &str| {
        let path = directory.join(name);
        files::read_weights(&path)
            .map_err(|source| ConvertError::Io { path: path.clone(), source })
            .map(|bytes| (path, bytes))
    };
    let (config_path, config) = read("config.json")?;
    let architecture = Architecture::read(&config_path, &config)?;
    let (weights_path, bytes) = read("model.safetensors")?;
    if bytes.len() >= MAX_BYTES {
        return Err(ConvertError::TooLarge { what: "the model" });
    }
    let weights = Weights::read(&weights_path, &bytes)?;
    let mut encoder = Encoder::new(&architecture, &weights, numbers);
    encoder.write()?;
    let source = sha256_hex(&bytes);
    let precision = match numbers {
        Numbers::Floats | Numbers::Watched => Precision::Full,
        Numbers::Codes(_) => Precision::Int8,
    };
    let graph = encoder.graph.finish(
        "encoder",
        &[
            ("memory.converter", &CONVERTER),
            ("memory.precision", &precision.name()),
            ("memory.weights_sha256", &source),
        ],
    );
    if graph.len() > MAX_BYTES {
        return Err(ConvertError::TooLarge { what: "the model" });
    }
    Ok(graph)
}
