//! Capture of other programs' transcripts into a memory: whole, as they grow, or when an agent calls its hook.
//!
#![doc = include_str!("../README.md")]
//!
//! # Guide
//!
//! 1. [`Capture::new`] captures into an open [`Memory`](memory::Memory), [`Capture::open`] into a store.
//! 2. [`Capture::import`] captures all transcripts of a path, recognizes their [`Format`], and settles the new
//!    messages: summaries, embeddings, figures. [`TranscriptFiles`] reads them first, to import several paths or none.
//! 3. [`Capture::take`] captures the new messages of a growing transcript of Claude Code or Codex. [`WatchedFiles`]
//!    finds such files below directories, and those that changed.
//! 4. [`AgentEvent`] is the event that an agent passes to its hook, and names the transcripts; [`Capture::catch_up`]
//!    captures the rest of killed sessions, and [`Capture::reminder`] sums up the state of the last conversation.
//! 5. [`Capture::conversation`] appends messages of a source of the program's own, in batches.
//! 6. [`Capture::add_document`] adds a [`Document`]: text, Markdown, and with the feature `documents` HTML and PDF,
//!    which an [`Extractor`] reads in a process of its own.
//!
//! # Invariants
//!
//! A message is appended once, however often and in whatever way its file is read: names of conversations and keys of
//! messages follow only from the file. If a file and the store continued differently, the file's messages go to a
//! branch, and an [`ImportNotice`] names it. A new conversation that repeats the beginning of another, message by
//! message with the same ids, is a fork of it. One in which no person spoke is archived, until a person does. The
//! position in a growing file is in the store's cache, which may be lost.
//!
//! # Features
//!
//! - `documents`: [`extract`] for HTML and PDF.
//! - `sqlite`: the databases of OpenClaw and lossless-claw.
//!
//! # Non-goals
//!
//! No command line and no installation into an agent's settings: `memory hook install` does that.

mod appender;
mod beside;
mod capture;
mod documents;
mod erased;
mod error;
mod event;
mod files;
mod mark;
mod notice;
mod reminder;
mod settling;
mod summaries;
mod watched;

pub use capture::{Capture, Captured, TranscriptPart, expanded, is_named_as_transcript};
pub use documents::{
    AddedDocument, Document, DocumentError, DocumentKind, ExtractError, Extractor, Noted, Page, extract,
};
pub use error::Error;
pub use event::{AgentEvent, EventKind};
pub use files::{FilesRead, ImportReport, Options, TranscriptFiles};
pub use memory_transcripts::{Format, Limits, Report, Skipped, TranscriptError};
pub use notice::ImportNotice;
pub use reminder::LookUp;
pub use settling::{Afterwards, ConversationAppender, ImportedConversation, Stage, Stages, Times};
pub use summaries::SummaryCounts;
pub use watched::{ChangedFile, WatchedFiles, followed_format};
