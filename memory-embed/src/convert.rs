//! Converts the weights of an encoder to ONNX graphs, without Python.

mod architecture;
mod encoder;
pub(crate) mod graph;
mod linear;
mod packed;
mod proto;
mod ranges;
pub(crate) mod weights;

use std::path::Path;

#[cfg(feature = "hub")]
pub(crate) use self::architecture::task_head;
#[cfg(test)]
pub(crate) use self::packed::PACKED;
pub(crate) use self::packed::{unpack, weights_in};
pub(crate) use self::ranges::Ranges;
use self::{architecture::Architecture, encoder::Encoder, linear::NumberFormat, weights::Weights};
use crate::{ModelError, checksum::sha256_hex, files};

/// Maximum bytes of an ONNX file, which is a protocol buffer.
const MAX_BYTES: usize = i32::MAX as usize;

/// The file next to the graph in 8 bits that has a large table of words.
pub(crate) const WORDS: &str = "model_int8.words";

/// Version of the converter. Raise it when the same weights give another graph, so that models are converted again.
pub(crate) const CONVERTER: u32 = 2;

/// The numeric precision of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Precision {
    /// 32-bit floats.
    Full,
    /// 8-bit integers in linear layers and word embeddings, 32-bit floats otherwise. A quarter of the size.
    ///
    /// Weights have a scale per output column. The inputs of a layer have one calibrated scale; the outputs of
    /// activations have a scale per row.
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

/// Converts the encoder in `directory` to an ONNX graph in 32-bit floats, from its `config.json` and
/// weights: `model.safetensors`, or the packed file of the pinned multilingual model.
///
/// Supports BERT, XLM-R and MPNet with absolute positions and the exact GELU. The graph takes `input_ids`, `attention_mask`
/// and, for BERT, `token_type_ids`, all `[batch, sequence]`, with the tokens of a text first in its row. The graph
/// returns `last_hidden_state`, `[batch, sequence, hidden]`, and uses operators of opset 24. Equal files give equal
/// bytes. The conversion takes about four times the memory of the weights.
///
/// The graph in 8-bit integers needs calibration, which runs the model; see [`prepare`](crate::prepare).
///
/// # Errors
/// [`ModelError`] if a file cannot be read, is damaged, or describes an unsupported model.
pub fn convert(directory: &Path) -> Result<Vec<u8>, ModelError> {
    Ok(graph_of(directory, NumberFormat::Floats)?.bytes)
}

/// The graph of [`convert`](convert()) for calibration: extra outputs, read by [`Ranges`], give the minimum and maximum
/// of the inputs of its linear layers.
pub(crate) fn convert_for_calibration(directory: &Path) -> Result<Vec<u8>, ModelError> {
    Ok(graph_of(directory, NumberFormat::Calibration)?.bytes)
}

/// The graph in 8-bit integers for inputs of linear layers within `ranges`; values outside are clamped. Runs only in
/// ONNX Runtime.
pub(crate) fn convert_quantized(directory: &Path, ranges: &Ranges) -> Result<Graph, ModelError> {
    graph_of(directory, NumberFormat::Quantized(ranges))
}

/// A converted graph.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) bytes: Vec<u8>,
    /// The content of the file [`WORDS`], if the graph needs it.
    pub(crate) words: Option<Vec<u8>>,
}

fn graph_of(directory: &Path, format: NumberFormat<'_>) -> Result<Graph, ModelError> {
    let read =
        |path: &Path| files::read_weights(path).map_err(|source| ModelError::Disk { path: path.to_owned(), source });
    let config_path = directory.join("config.json");
    let architecture = Architecture::read(&config_path, &read(&config_path)?)?;
    let weights_path = weights_in(directory);
    let bytes = read(&weights_path)?;
    if bytes.len() >= MAX_BYTES {
        return Err(ModelError::TooLarge { what: "the model" });
    }
    let weights = Weights::read(&weights_path, &bytes)?;
    let mut encoder = Encoder::new(&architecture, &weights, format);
    encoder.write()?;
    let source = sha256_hex(&bytes);
    let precision = match format {
        NumberFormat::Floats | NumberFormat::Calibration => Precision::Full,
        NumberFormat::Quantized(_) => Precision::Int8,
    };
    let bytes = encoder.graph.finish(
        "encoder",
        &[
            ("memory.converter", &CONVERTER),
            ("memory.precision", &precision.name()),
            ("memory.weights_sha256", &source),
        ],
    );
    if bytes.len() > MAX_BYTES {
        return Err(ModelError::TooLarge { what: "the model" });
    }
    Ok(Graph { bytes, words: encoder.words })
}
