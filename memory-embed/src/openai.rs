//! Sentence embeddings by an endpoint that speaks the OpenAI embeddings protocol.

mod answer;
mod embedder;
mod model;

pub use embedder::{OPENAI_KEY_VARIABLE, OpenAiEmbedder, OpenAiOptions};
pub use model::{InvalidOpenAiModel, OpenAiModel};
