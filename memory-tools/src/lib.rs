//! Tools of an agent's memory for a model: names, descriptions, schemas, answers.
//!
#![doc = include_str!("../README.md")]
//!
//! # Guide
//!
//! [`Tools`] offers them over a [`Memory`](memory::Memory): [`Tools::list`] returns their descriptions for a model,
//! [`Tools::call`] an answer. `memory mcp` serves the same tools.
//!
//! Tools are stateless: the conversation is an argument of each. An answer is bounded in tokens and continues at a
//! cursor. Words of conversations are data: they stand between fences, no line of theirs can pose as the layout, and
//! invisible characters are escaped. Another owner's data is not found.
//!
//! # Non-goals
//!
//! No protocol, no network, no chat model.

mod arguments;
pub mod failure;
pub mod page;
mod schema;
pub mod shown;
mod tool;
mod tools;

pub use failure::Failure;
pub use tool::Kind;
pub use tools::{Options, Profile, ToolAnswer, ToolDescription, Tools, prompt_options, shown_prompt};
