//! Embedding and reranking by ONNX models in this process.

mod batch;
mod calibration;
mod embedder;
mod gate;
mod pooling;
mod prepare;
mod reranker;
mod runtime;
mod session;
mod splitter;
mod vocabulary;
mod workers;

pub use embedder::{OnnxEmbedder, OnnxOptions};
pub use gate::check_quantized;
pub use prepare::{PrepareEvent, PrepareOptions, Prepared, prepare};
pub use reranker::{MS_MARCO_MINILM_L6_V2, OnnxReranker, RerankerFiles, RerankerOptions};
pub use runtime::disable_telemetry;
pub(crate) use splitter::Splitter;
pub(crate) use workers::Priority;
