//! Sentence embeddings by Amazon Bedrock.

mod embedder;
mod error;
mod model;
mod wire;

pub use embedder::{BedrockEmbedder, BedrockOptions};
pub use model::{BedrockFamily, BedrockModel, InvalidBedrockModel};
