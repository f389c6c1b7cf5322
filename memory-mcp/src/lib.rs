//! A door for models: a memory's tools, resources and prompt over the Model Context Protocol (MCP).
//!
//! [`serve_stdio`] serves one client on standard input and output, [`HttpServer`] many clients by streamable HTTP. Both
//! speak the revisions 2026-07-28 and 2025-11-25. [`Server`] is the protocol's side of the
//! [`Tools`](memory_tools::Tools) of a [`Memory`](memory::Memory); [`Options`] say which of them it offers.
//!
//! # Non-goals
//!
//! No logic that the memory could have. No request to a client: no sampling, no elicitation, no roots.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod http;
mod prompts;
mod request;
mod resources;
mod server;
mod stdio;
mod token;
mod uri;

pub use http::{HttpError, HttpOptions, HttpServer, InvalidOrigin, Origin, until_signal};
pub use memory_tools::{Options, Profile};
pub use server::Server;
pub use stdio::{StdioError, serve_stdio};
pub use token::{InvalidToken, Token};
