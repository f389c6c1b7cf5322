//! The record of a model's converted graphs, stored next to them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ModelError;
use crate::{
    Precision,
    checksum::sha256_hex,
    files::{self, if_there},
    processor::int8_instructions,
};

/// Name of the file in a model's `onnx` directory.
const NAME: &str = "converted.json";

/// First converter with calibration. Older quantized graphs are the same on every machine.
const FIRST_CALIBRATING: u32 = 2;

/// Result of the quality gate of a quantized graph: cosines between its vectors and those of the fp32 graph on a
/// sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GateReport {
    /// Texts in the sample.
    pub texts: usize,
    /// The mean cosine.
    pub mean: f64,
    /// Minimum cosine.
    pub least: f64,
    /// Instruction set of the measurement, because integer products differ between processors.
    pub processor: String,
}

impl GateReport {
    pub(crate) fn new(texts: usize, mean: f64, least: f64) -> Self {
        Self { texts, mean, least, processor: int8_instructions() }
    }

    /// True if the quality was measured with the instruction set of this processor.
    #[must_use]
    pub fn matches_this_processor(&self) -> bool {
        self.processor == int8_instructions()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ConvertedGraph {
    #[serde(flatten)]
    pub(crate) graph: ConvertedFile,
    /// The table of words, if the graph keeps it in a file of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) words: Option<ConvertedFile>,
    /// Result of the quality gate of a quantized graph.
    pub(crate) gate: Option<GateReport>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ConvertedFile {
    pub(crate) file: String,
    pub(crate) size: u64,
    pub(crate) sha256: String,
}

/// The graphs in a model's `onnx` directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ConvertedGraphs {
    pub(crate) converter: u32,
    pub(crate) weights_sha256: String,
    pub(crate) tokenizer_sha256: String,
    /// The compiled tokenizer, if its vocabulary can be compiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tokenizer: Option<ConvertedFile>,
    pub(crate) full: ConvertedGraph,
    /// `None` if the quality gate refused it.
    pub(crate) int8: Option<ConvertedGraph>,
}

impl ConvertedGraphs {
    /// The directory of a model's graphs.
    pub(crate) fn directory(model: &Path) -> PathBuf {
        model.join("onnx")
    }

    /// The path of the record of the model in directory `model`.
    pub(crate) fn path(model: &Path) -> PathBuf {
        Self::directory(model).join(NAME)
    }

    /// Identity of the graph of this precision in model ids; `None` for the graph's own SHA-256.
    ///
    /// A quantized graph depends on calibrated ranges, which differ between processors in the last digits. Its identity
    /// is that of the fp32 graph, which is the same on every machine and with which every quantized graph was compared.
    pub(crate) fn identity(&self, precision: Precision) -> Option<String> {
        match precision {
            Precision::Int8 if self.converter >= FIRST_CALIBRATING => {
                Some(sha256_hex(format!("{} {}", self.full.graph.sha256, precision.name()).as_bytes()))
            }
            Precision::Full | Precision::Int8 => None,
        }
    }

    /// Reads the record of the model in directory `model`; `None` if it is missing or invalid, so that it is rebuilt.
    pub(crate) fn read(model: &Path) -> Result<Option<Self>, ModelError> {
        let path = Self::path(model);
        match if_there(files::read_text(&path)) {
            Ok(json) => Ok(json.and_then(|json| serde_json::from_slice(&json).ok())),
            Err(source) => Err(ModelError::Io { path, source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record as the first converter wrote it.
    const FIRST: &str = r#"{"converter": 1, "weights_sha256": "aa", "tokenizer_sha256": "bb",
        "full": {"file": "model.onnx", "size": 9, "sha256": "cc", "gate": null},
        "int8": {"file": "model_int8.onnx", "size": 3, "sha256": "dd",
            "gate": {"texts": 36, "mean": 0.99, "least": 0.97, "processor": "x86_64/avx2"}}}"#;

    #[test]
    fn a_graph_of_the_first_converter_is_identified_by_its_checksum() {
        let first: ConvertedGraphs = serde_json::from_str(FIRST).unwrap();
        assert_eq!(first.identity(Precision::Int8), None);
    }

    #[test]
    fn a_calibrated_graph_is_identified_by_its_fp32_graph() {
        let first: ConvertedGraphs = serde_json::from_str(FIRST).unwrap();
        let here = ConvertedGraphs { converter: FIRST_CALIBRATING, ..first };
        let mut there = here.clone();
        there.int8.as_mut().unwrap().graph.sha256 = "another processor's".to_owned();
        assert!(here.identity(Precision::Int8).is_some());
        assert_eq!(here.identity(Precision::Int8), there.identity(Precision::Int8));
        there.full.graph.sha256 = "of other weights".to_owned();
        assert_ne!(here.identity(Precision::Int8), there.identity(Precision::Int8));
        assert_eq!(here.identity(Precision::Full), None);
    }
}
