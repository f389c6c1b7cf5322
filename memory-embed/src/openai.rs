//! Sentence embeddings by an OpenAI-compatible endpoint.

mod embedder;
mod model;
mod wire;

pub use embedder::{OPENAI_KEY_VARIABLE, OpenAiEmbedder, OpenAiOptions};
pub use model::{InvalidOpenAiModel, OpenAiModel};
