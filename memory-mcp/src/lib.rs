//! A door for models: a memory's tools, resources and prompt over the Model Context Protocol (MCP).
//!
//! [`serve_stdio`] serves one client on standard input and output, [`HttpServer`] many clients by streamable HTTP. Both
//! speak the revisions 2026-07-28 and 2025-11-25. [`Server`] is the protocol's side of a [`Memory`](memory::Memory);
//! [`Options`] say which tools it offers.
//!
//! Tools are stateless: the conversation is an argument of each. Everything that they answer is bounded in tokens and goes
//! on at a cursor. Words of conversations are data: they stand between fences, nothing in them can pose as the layout, and
//! characters that are not seen are escaped. Another owner's data is not found.
//!
//! # Non-goals
//!
//! It has no logic that the memory could have. It asks nothing of a client: no sampling, no elicitation, no roots.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod context;
mod failure;
mod http;
mod options;
mod page;
mod prompts;
mod request;
mod resources;
mod schema;
mod server;
mod shown;
mod stdio;
mod token;
mod tool;
mod tools;
mod uri;

pub use http::{HttpError, HttpOptions, HttpServer, InvalidOrigin, Origin, until_signal};
pub use options::{Options, Profile};
pub use server::Server;
pub use stdio::{StdioError, serve_stdio};
pub use token::{InvalidToken, Token};
