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
pub use prepare::{PrepareError, PrepareEvent, Prepared, prepare};
