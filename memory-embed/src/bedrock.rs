//! Sentence embeddings by Amazon Bedrock.

mod answer;
mod embedder;
mod failure;
mod guard;
mod model;

pub use embedder::{BedrockEmbedder, BedrockOptions};
pub use model::{BedrockFamily, BedrockModel, InvalidBedrockModel};
