//! The application: one function that wires the crates, and the commands over it.
//!
//! [`open`] makes a [`Runtime`] from a [`Config`]; [`run`] is the whole `memory` binary. What a program other
//! than the binary may want, benches for one, is public; the commands are not.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![doc = "The README's example, compiled:\n"]
#![cfg_attr(doctest, doc = include_str!("../../README.md"))]

mod cli;
mod commands;
mod config;
mod embedding;
mod failure;
pub mod import;
mod model_names;
mod output;
mod remote_model;
mod reranking;
mod runtime;
mod target;
mod terminal;
mod watched_index;

pub use cli::run;
pub use config::{Access, Config, Recall};
pub use embedding::RecordError;
pub use model_names::DEFAULT_RERANKER;
pub use remote_model::RemoteModelError;
pub use runtime::{OpenError, Runtime, open};
pub use watched_index::WatchedIndex;
