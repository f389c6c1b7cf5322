//! Readers and writers of the files in which other programs keep conversations.
//!
#![doc = include_str!("../README.md")]
//!
//! # Guide
//!
//! 1. [`find`] finds the [`Transcript`]s of a file, an archive or a directory and recognizes their [`Format`].
//! 2. [`Transcript::open`] gives a [`Reader`], whose [`read`](Reader::read) gives [`Item`]s: conversations, messages and
//!    titles. [`Reader::report`] counts what was read, and what was not and why.
//! 3. [`follow`] reads a file that is still being written; a later reader goes on at its [`Position`].
//! 4. [`MessageWriter`] writes a conversation in the shape of another program.
//!
//! # Invariants
//!
//! Memory is bounded by the largest record ([`Limits::record`]), whatever the size of a file. A record of an unknown type
//! is counted and named, and is no error. Names of conversations and keys of messages follow from the source alone, and
//! those of a file that has grown begin with those of the file before. A database is opened for reading alone, and
//! nothing is locked between two pages of its rows.
//!
//! # Non-goals
//!
//! No store, no network. It writes no files but temporary ones.

mod archive;
mod blocks;
mod branches;
mod chatgpt;
mod claude_ai;
mod claude_code;
mod codex;
mod error;
pub mod exact;
mod find;
mod format;
mod item;
mod limits;
mod lists;
mod markdown;
mod media;
mod members;
mod names;
mod out;
mod pi;
mod reader;
mod records;
mod report;
mod responses;
mod sender;
mod shape;
#[cfg(feature = "sqlite")]
mod sqlite;
mod strands;
mod tree;
mod write;

pub use error::TranscriptError;
pub use find::{Found, Transcript, find, find_in, follow};
pub use format::{Format, UnknownFormatName};
pub use item::{Conversation, ForkPoint, Item, Said, Summarized, Titled};
pub use limits::Limits;
pub use names::{branch_name, rest_key};
pub use reader::{Position, Reader};
pub use report::{Report, Skipped, Why};
pub use strands::{agent_name, agent_of, escaped_part};
pub use write::{Heading, LeftOut, MessageWriter, UnknownWritten, Written};
