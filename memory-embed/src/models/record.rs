//! What was converted from a model's weights, kept beside the graphs.

use std::{
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::ModelError;
use crate::{Precision, checksum::sha256_hex, files};

/// The name of the file, in a model's `onnx` directory.
const NAME: &str = "converted.json";

/// The converter before quantized what it ran, and its graphs were the same everywhere.
const FIRST_THAT_MEASURES: u32 = 2;

/// How near the vectors of a quantized graph are to those of its 32-bit original, as cosines over a sample of texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GateReport {
    /// Texts in the sample.
    pub texts: usize,
    /// Their mean cosine.
    pub mean: f64,
    /// The cosine of the worst of them.
    pub least: f64,
    /// The instructions that it was measured with: integer products differ between processors.
    pub processor: String,
}

impl GateReport {
    pub(crate) fn new(texts: usize, mean: f64, least: f64) -> Self {
        Self { texts, mean, least, processor: processor() }
    }

    /// Whether it was measured with the instructions that this processor has.
    #[must_use]
    pub fn is_of_this_processor(&self) -> bool {
        self.processor == processor()
    }
}

/// A graph that was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ConvertedGraph {
    pub(crate) file: String,
    pub(crate) size: u64,
    pub(crate) sha256: String,
    /// Of a quantized graph.
    pub(crate) gate: Option<GateReport>,
}

/// The graphs in a model's `onnx` directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ConvertedGraphs {
    /// The version of the converter.
    pub(crate) converter: u32,
    pub(crate) weights_sha256: String,
    pub(crate) tokenizer_sha256: String,
    pub(crate) full: ConvertedGraph,
    /// None where the gate refused it.
    pub(crate) int8: Option<ConvertedGraph>,
}

impl ConvertedGraphs {
    /// The directory of a model's graphs.
    pub(crate) fn directory(model: &Path) -> PathBuf {
        model.join("onnx")
    }

    /// Where the record of the model in directory `model` is.
    pub(crate) fn path(model: &Path) -> PathBuf {
        Self::directory(model).join(NAME)
    }

    /// What tells the graph of this precision from others, if not its digest.
    ///
    /// What is quantized depends on ranges that were measured, and other processors measure others in the last digits:
    /// so the graphs that two of them make are told by the one in 32 bits, which is the same everywhere and which both were
    /// found to be near to.
    pub(crate) fn identity(&self, precision: Precision) -> Option<String> {
        match precision {
            Precision::Int8 if self.converter >= FIRST_THAT_MEASURES => {
                Some(sha256_hex(format!("{} {}", self.full.sha256, precision.name()).as_bytes()))
            }
            Precision::Full | Precision::Int8 => None,
        }
    }

    /// Reads the record of the model in directory `model`; `None` if there is none, or none that can be read, which is
    /// written anew.
    pub(crate) fn read(model: &Path) -> Result<Option<Self>, ModelError> {
        let path = Self::path(model);
        match files::read_text(&path) {
            Ok(json) => Ok(serde_json::from_slice(&json).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(ModelError::Io { path, source }),
        }
    }
}

/// The instructions that decide how 8-bit integers are multiplied.
fn processor() -> String {
    #[cfg(target_arch = "x86_64")]
    let instructions = if std::arch::is_x86_feature_detected!("avx512vnni") {
        "avx512vnni"
    } else if std::arch::is_x86_feature_detected!("avx512bw") {
        "avx512bw"
    } else if std::arch::is_x86_feature_detected!("avx2") {
        "avx2"
    } else {
        "sse"
    };
    #[cfg(not(target_arch = "x86_64"))]
    let instructions = "baseline";
    format!("{}/{instructions}", std::env::consts::ARCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the first converter wrote it.
    const FIRST: &str = r#"{"converter": 1, "weights_sha256": "aa", "tokenizer_sha256": "bb",
        "full": {"file": "model.onnx", "size": 9, "sha256": "cc", "gate": null},
        "int8": {"file": "model_int8.onnx", "size": 3, "sha256": "dd",
            "gate": {"texts": 36, "mean": 0.99, "least": 0.97, "processor": "x86_64/avx2"}}}"#;

    #[test]
    fn a_graph_of_the_first_converter_is_told_by_its_digest() {
        let first: ConvertedGraphs = serde_json::from_str(FIRST).unwrap();
        assert_eq!(first.identity(Precision::Int8), None);
    }

    #[test]
    fn a_measured_graph_is_told_by_the_one_that_it_stands_for() {
        let first: ConvertedGraphs = serde_json::from_str(FIRST).unwrap();
        let here = ConvertedGraphs { converter: FIRST_THAT_MEASURES, ..first };
        let mut there = here.clone();
        there.int8.as_mut().unwrap().sha256 = "another processor's".to_owned();
        assert!(here.identity(Precision::Int8).is_some());
        assert_eq!(here.identity(Precision::Int8), there.identity(Precision::Int8));
        there.full.sha256 = "of other weights".to_owned();
        assert_ne!(here.identity(Precision::Int8), there.identity(Precision::Int8));
        assert_eq!(here.identity(Precision::Full), None);
    }
}
