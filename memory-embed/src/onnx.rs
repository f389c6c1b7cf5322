//! Sentence embeddings by an ONNX model in this process.

mod batch;
mod chunk;
mod embedder;
mod gate;
mod pooling;
mod prepare;
mod runtime;
mod session;
mod splitter;
mod workers;

pub use embedder::{OnnxEmbedder, OnnxOptions};
pub use gate::check_quantized;
pub(crate) use pooling::unit_sum;
pub use prepare::{PrepareError, PrepareEvent, Prepared, prepare};
pub(crate) use splitter::Splitter;
pub(crate) use workers::Urgency;
