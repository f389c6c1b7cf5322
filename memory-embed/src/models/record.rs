//! What was converted from a model's weights, kept beside the graphs.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::ModelError;

/// The name of the file, in a model's `onnx` directory.
const NAME: &str = "converted.json";

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

    /// Reads the record of the model in directory `model`; `None` if there is none, or none that can be read, which is
    /// written anew.
    pub(crate) fn read(model: &Path) -> Result<Option<Self>, ModelError> {
        let path = Self::path(model);
        match fs::read(&path) {
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
