//! From the weights of an encoder to ONNX graphs, without Python.

mod architecture;
mod encoder;
mod error;
pub(crate) mod graph;
mod linear;
mod proto;
pub(crate) mod weights;

use std::{fs, path::Path};

pub use error::ConvertError;

use self::{architecture::Architecture, encoder::Encoder, weights::Weights};
use crate::checksum::sha256_hex;

/// The most that an ONNX file holds: what a protocol buffer does.
const MAX_BYTES: usize = i32::MAX as usize;

/// Raised whenever the same weights give another graph, so that what was converted before is converted again.
pub(crate) const CONVERTER: u32 = 1;

/// In what numbers a graph computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// 32-bit floats.
    Full,
    /// Linear layers in 8-bit integers, with a scale for each column of weights and each row of activations; the table
    /// of words in 8 bits; the rest in 32-bit floats. A quarter of the size.
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

/// The ONNX graph of the encoder in `directory`, from its `config.json` and `model.safetensors`.
///
/// BERT and MPNet with absolute positions and the exact GELU. The graph takes `input_ids`, `attention_mask` and, for
/// BERT, `token_type_ids`, all `[batch, sequence]`, with the tokens of a text first in its row, and gives
/// `last_hidden_state`, `[batch, sequence, hidden]`. It is made of operators of opset 13. The same files give the same
/// bytes. Takes about four times the memory of the weights.
///
/// # Errors
/// [`ConvertError`], when a file cannot be read, is damaged, or is of another kind.
pub fn convert(directory: &Path, precision: Precision) -> Result<Vec<u8>, ConvertError> {
    let read = |name: &str| {
        let path = directory.join(name);
        fs::read(&path).map_err(|source| ConvertError::Io { path: path.clone(), source }).map(|bytes| (path, bytes))
    };
    let (config_path, config) = read("config.json")?;
    let architecture = Architecture::read(&config_path, &config)?;
    let (weights_path, bytes) = read("model.safetensors")?;
    if bytes.len() >= MAX_BYTES {
        return Err(ConvertError::TooLarge { what: "the model" });
    }
    let weights = Weights::read(&weights_path, &bytes)?;
    let mut encoder = Encoder::new(&architecture, &weights, precision);
    encoder.write()?;
    let source = sha256_hex(&bytes);
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
