//! Readers and writers of the conversation files of other programs.
//!
#![doc = include_str!("../README.md")]
//!
//! # Guide
//!
//! 1. [`find`] finds the [`Transcript`]s of a file, an archive or a directory and recognizes their [`Format`].
//! 2. [`Transcript::open`] returns a [`Reader`], whose [`read`](Reader::read) returns [`Item`]s: conversations,
//!    messages, titles and summaries. [`Reader::report`] counts records that were read, and those that were skipped and
//!    why.
//! 3. [`follow`] reads a file that is still being written; a later reader resumes at its [`Position`].
//! 4. [`MessageWriter`] writes a conversation in the shape of another program.
//!
//! # Invariants
//!
//! Memory is bounded by the largest record ([`Limits::record`]), whatever the size of a file; sessions of Gemini CLI,
//! chats of WhatsApp and Markdown with dates or without a second speaker are held whole. A record of an unknown
//! type is counted by name and is no error. Names of conversations and keys of messages depend only on the source; when
//! a file grows, earlier names and keys stay the same. A database is opened read-only, and nothing is locked between
//! two pages of its rows.
//!
//! # Non-goals
//!
//! No store, no network. Only temporary files are written.

mod aider;
mod archive;
mod blocks;
mod branches;
mod chatgpt;
mod claude_ai;
mod claude_code;
mod cline;
mod codex;
mod dates;
mod error;
pub mod exact;
mod find;
mod format;
mod gemini;
mod item;
mod lists;
mod markdown;
mod media;
mod members;
mod names;
mod oasst;
mod opencode;
mod out;
mod pi;
mod reader;
mod records;
mod report;
mod responses;
#[cfg(feature = "sqlite")]
mod sqlite;
mod strands;
mod turn;
mod whatsapp;
mod write;

pub use error::TranscriptError;
pub use find::{Found, Limits, Transcript, find, find_in, follow};
pub use format::{Format, UnknownFormatName};
pub use item::{Conversation, ForkPoint, Item, Said, Summarized, Titled};
pub use names::{branch_name, rest_key};
pub use reader::{Position, Reader};
pub use report::{Report, Skipped, Why};
pub use strands::{agent_name, agent_of, escaped_part};
pub use write::{Heading, LeftOut, MessageWriter, UnknownWritten, Written};

/// Stand-in for the readers of databases, which this build lacks.
#[cfg(not(feature = "sqlite"))]
mod sqlite {
    use std::path::Path;

    use crate::{Format, Limits, Reader, TranscriptError, out::ItemQueue};

    pub(crate) fn recognize(path: &Path, _: Limits) -> Result<Format, TranscriptError> {
        Err(TranscriptError::NoSqlite { place: path.display().to_string() })
    }

    pub(crate) fn reader(path: &Path, _: Format, _: Limits, _: ItemQueue) -> Result<Reader, TranscriptError> {
        Err(TranscriptError::NoSqlite { place: path.display().to_string() })
    }
}
