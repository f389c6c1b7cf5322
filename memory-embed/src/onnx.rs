//! Sentence embeddings by an ONNX model in this process.

mod batch;
mod embedder;
mod pooling;
mod runtime;
mod session;
mod splitter;
mod workers;

pub use embedder::{OnnxEmbedder, OnnxOptions};
