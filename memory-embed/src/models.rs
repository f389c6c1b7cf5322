//! The pinned models, model directories and the model store.

mod catalog;
mod directory;
mod error;
mod record;
mod source;
mod store;

pub use catalog::{
    ALL_MINILM_L6_V2, ALL_MPNET_BASE_V2, Backend, MULTILINGUAL_E5_SMALL, PINNED_MODELS, POTION_BASE_8M, Package, Piece,
    Pieces, PinnedFile, PinnedModel, Platform, Python,
};
pub(crate) use catalog::{ONNX_RUNTIME, ONNX_RUNTIME_LIBRARY};
#[cfg(feature = "onnx")]
pub(crate) use directory::{DEFAULT_MAX_TOKENS, positions_read};
pub use directory::{ModelDirectory, Pooling, Prompts};
pub use error::ModelError;
pub use record::GateReport;
pub(crate) use record::{ConvertedFile, ConvertedGraph, ConvertedGraphs};
pub use source::{ModelLocation, ModelSource};
pub use store::{MODELS_VARIABLE, ModelFiles, ModelStore};
