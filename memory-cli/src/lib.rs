//! The `memory` application: one function that wires the libraries together, and the commands that use it.
//!
//! [`run`] is the whole `memory` binary. A program other than the binary, such as the benches, uses the wiring:
//!
//! 1. A [`Config`] states the directory of the store, its [`Access`], how [`Recall`] works, the embedding model and the
//!    strategies. [`Config::new`] gives the defaults.
//! 2. [`open`] makes a [`Runtime`] from it, or returns an [`OpenError`]: the log, retrieval and conversations.
//! 3. [`import`] reads conversations from files.
//! 4. [`Alternatives`] and [`Prices`] compute what a conversation costs, and what it would cost with a sliding window,
//!    with its full history, or with one summary.
//!
//! A [`Runtime`] that was opened with [`Access::Read`] changes nothing on disk and waits for no other process.
//!
//! # Models
//!
//! A missing embedding model is not an error: recall works by words and a notice states it. [`RemoteModelError`] and
//! [`RecordError`] report a remote model that cannot be used and an unreadable record of the store's model.
//! [`DEFAULT_RERANKER`] names the cross-encoder that is recommended.
//!
//! # Features
//!
//! - `bedrock` (default): embedding models of Amazon Bedrock.
//! - `openai` (default): embedding models at OpenAI-style endpoints.
//! - `hub` (default): models of a hub, by their ids.
//! - `hnsw-rs`: vector search by the crate hnsw_rs.
//!
//! # Non-goals
//!
//! The commands are not public. The crate has no logic that a library could have.
//!
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![doc = "The README's example, compiled:\n"]
#![cfg_attr(doctest, doc = include_str!("../../README.md"))]

mod cli;
mod commands;
mod compared;
mod config;
mod costs;
mod derived;
mod embedding;
mod failure;
mod globals;
pub mod import;
mod model_names;
mod output;
mod remote_model;
mod reranking;
mod runtime;
mod target;
mod terminal;

pub use cli::run;
pub use config::{Access, Config, Recall};
pub use costs::{Alternatives, Prices};
pub use embedding::RecordError;
pub use model_names::DEFAULT_RERANKER;
pub use remote_model::RemoteModelError;
pub use runtime::{OpenError, Runtime, open};
