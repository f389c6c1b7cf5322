//! The `memory` application: its commands, over the parts that the facade `memory` wires.
//!
//! [`run`] is the whole `memory` binary. A program uses the facade instead.
//!
//! # Features
//!
//! - `bedrock` (default): embedding models of Amazon Bedrock.
//! - `openai` (default): embedding models at OpenAI-style endpoints.
//! - `hub` (default): models of a hub, by their ids.
//! - `chat` (default): chat models, `memory chat` and `memory ask`.
//! - `mcp` (default): the server of tools for models.
//! - `tui` (default): `memory browse` on a whole terminal.
//! - `hnsw-rs`: vector search by the crate hnsw_rs, where `--vectors hnsw-rs` asks for it.
//!
//! # Non-goals
//!
//! The commands are not public. The crate has no logic that a library could have.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(doctest, doc = "The examples of the README, compiled:\n")]
#![cfg_attr(doctest, doc = include_str!("../../README.md"))]

mod bridge;
mod cli;
mod commands;
mod config_file;
mod editor;
mod failure;
mod globals;
mod import;
#[doc(hidden)]
pub mod json;
#[cfg(feature = "chat")]
mod markdown;
mod news;
mod output;
mod sealed;
mod target;
mod terminal;

pub use cli::run;
// Names for the commands, each of which opens the parts that it needs.
use memory::{Access, Config, Recall, parts::open};
