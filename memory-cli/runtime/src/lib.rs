//! The front door: an agent's memory, wired from the libraries as the `memory` binary wires them.

mod config;
mod derived;
mod embedding;
mod model_names;
pub mod parts;
mod remote_model;
mod reranking;

pub use config::{Access, Config, Recall};
pub use parts::OpenError;

/// Embedding models: their names, and the one that a store records.
pub mod models {
    pub use crate::{
        embedding::{ModelRecord, RecordError, load, of_store},
        model_names::{DEFAULT_RERANKER, SHORT_NAMES, from_anywhere, full_name, source_of, without_precision},
        remote_model::RemoteModelError,
    };
}
