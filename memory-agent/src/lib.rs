//! An agent loop over a memory: streaming, tools, recovery from overflow, interruption and exact resumption.
//!
#![doc = include_str!("../README.md")]
//!
//! # Guide
//!
//! 1. [`Agent::new`] takes a [`Conversation`](memory::Conversation) and a [`ChatModel`](memory::port::ChatModel).
//!    [`Agent::tool`] adds a tool of the program, a [`FunctionTool`] or a [`Tool`] of its own; [`Agent::memory_tools`]
//!    adds those of the memory.
//! 2. [`Agent::run`] takes a message of the user to its answer, and reports [events](AgentEvent) as they happen.
//!    [`Agent::until`] gives a turn a token by which it is interrupted.
//! 3. [`Agent::resume`] continues a turn that a process did not finish. [`Agent::go_on`] continues an answer that is not
//!    whole.
//! 4. A [`Turn`] has the answer, the calls of tools, the last prompt, and tokens and costs.
//!
//! # Durability
//!
//! Each message is on disk before the next step: the user's before the model is asked, the model's before a tool is
//! called, the result of each call as soon as the tool is done. After a crash at any place:
//!
//! - A user's message without an answer is asked again. Parts of an answer that had arrived are gone.
//! - A call with a recorded result is never made again.
//! - A call without one is made again if its tool is [idempotent](Tool::is_idempotent). Otherwise it may have taken
//!   effect, so that it is not repeated: its result says that it was interrupted, and the model decides.
//!
//! One agent at a time answers in a conversation; another one gets [`AgentError::Answering`]. Answers and results have
//! keys of their place as well, so that where files cannot be locked only one of two processes records a turn; the other
//! gets [`AgentError::Elsewhere`].
//!
//! # Non-goals
//!
//! No network, no terminal. The loop needs no async runtime of its own; that of a tool is the tool's business.

mod agent;
mod error;
mod events;
mod scripted;
mod tail;
mod tool;
mod turn;
mod usage;

pub use agent::{Agent, AgentOptions};
pub use error::AgentError;
pub use events::{AgentEvent, AgentEvents};
pub use scripted::Scripted;
pub use tokio_util::sync::CancellationToken;
pub use tool::{Call, FunctionTool, Tool, ToolResult};
pub use turn::{CallDone, Ended, Turn};
pub use usage::{Prices, Usage};
