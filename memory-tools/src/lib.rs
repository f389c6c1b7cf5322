//! Tools of an agent's memory for a model: names, descriptions, schemas, answers.
//!
//! [`Tools`] offers them over a [`Memory`](memory::Memory): [`Tools::list`] is what a model is told, [`Tools::call`] what
//! it is answered. `memory mcp` serves the same tools.
//!
//! ```no_run
//! # async fn run(memory: memory::Memory) -> Result<(), Box<dyn std::error::Error>> {
//! use memory_tools::{Options, Profile, Tools};
//! let tools = Tools::new(memory, Options::default().profile(Profile::Compact))?;
//! for tool in tools.list() {
//!     println!("{}: {}", tool.name, tool.about);
//! }
//! let arguments = serde_json::json!({"query": "When does the night train leave?"});
//! let answer = tools.call("search_memory", arguments.as_object().cloned().unwrap_or_default()).await;
//! println!("{}", answer.map(|answer| answer.text).unwrap_or_default());
//! # Ok(())
//! # }
//! ```
//!
//! Tools are stateless: the conversation is an argument of each. An answer is bounded in tokens and goes on at a cursor.
//! Words of conversations are data: they stand between fences, no line of theirs can pose as the layout, and characters
//! that are not seen are escaped. Another owner's data is not found.
//!
//! # Non-goals
//!
//! No protocol, no network, no chat model.

mod arguments;
pub mod failure;
mod options;
pub mod page;
mod schema;
pub mod shown;
mod tool;
mod tools;

pub use failure::Failure;
pub use options::{Options, Profile};
pub use tool::Kind;
pub use tools::{ToolAnswer, ToolDescription, Tools};
