//! Errors of capturing transcripts.

use std::{io, path::PathBuf};

use memory::{ConversationId, Error as MemoryError, NodeRange, port::StoreError, text::grouped};
use memory_transcripts::TranscriptError;

use crate::FilesRead;

/// Reasons why a transcript was not captured, or not all of it. Messages appended before an error stay; their keys make
/// it safe to call again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The memory failed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A transcript cannot be read.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
    /// A transcript cannot be read; nothing was appended yet.
    #[error("nothing was imported")]
    Unread(#[source] TranscriptError),
    /// The files hold no message.
    #[error("{} holds no message: nothing was imported", path.display())]
    Empty {
        /// The file or directory.
        path: PathBuf,
        /// Files by format, with the skipped parts.
        read: Vec<FilesRead>,
    },
    /// No message of a run can stand in a document.
    #[error("messages {nodes} of `{conversation}` have no text to show: nothing was added")]
    Nothing {
        /// The conversation.
        conversation: ConversationId,
        /// The messages.
        nodes: NodeRange,
    },
    /// A name was given for files that name their conversations, or for several files.
    #[error("{} names its conversations: leave the conversation's name out", path.display())]
    NamesItself {
        /// The file or directory.
        path: PathBuf,
    },
    /// Neither the stream nor its format names the conversation.
    #[error("a stream has no name: name the conversation")]
    Unnamed,
    /// Messages cannot be appended.
    #[error("cannot append to `{conversation}`")]
    Append {
        /// The conversation.
        conversation: ConversationId,
        /// Cause of the failure.
        source: MemoryError,
    },
    /// A conversation took only a part of its messages.
    #[error("`{conversation}` took {done} of {total} messages and no more")]
    CutShort {
        /// The conversation.
        conversation: ConversationId,
        /// Number of messages that are in the store.
        done: usize,
        /// Number of all messages.
        total: usize,
        /// Cause of the failure.
        source: MemoryError,
    },
    /// An import stopped before its end.
    #[error(
        "{} of {} messages were appended and no more; import again to go on", grouped(*appended), grouped(*total)
    )]
    Stopped {
        /// Number of messages that are in the store.
        appended: u64,
        /// Number of all messages.
        total: u64,
        /// Cause of the failure.
        source: Box<Error>,
    },
    /// The last messages read of a growing file could not be appended.
    #[error("not all of {} was taken", path.display())]
    NotAll {
        /// The file.
        path: PathBuf,
        /// Cause of the failure.
        source: Box<Error>,
    },
    /// A text is not an event of a hook.
    #[error("not an event of a hook")]
    Event(#[source] serde_json::Error),
    /// Another process captures the same file.
    #[error("another process is taking the same transcript; what is new comes with the next call")]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The store's directory takes no lock.
    #[error("cannot lock {}", path.display())]
    Lock {
        /// The lock's file.
        path: PathBuf,
        /// Cause of the failure.
        source: io::Error,
    },
}

impl Error {
    /// The transcript's error inside this one; other transcripts need not have it.
    #[must_use]
    pub fn transcript(&self) -> Option<&TranscriptError> {
        match self {
            Self::Transcript(error) | Self::Unread(error) => Some(error),
            Self::Stopped { source, .. } | Self::NotAll { source, .. } => source.transcript(),
            _ => None,
        }
    }
}
