//! Errors of exporting or importing a conversation.

use std::io;

use memory_core::{ConversationId, NodeId, port::StoreError};

/// Why a conversation cannot be exported or imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// The store cannot do what it was asked.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A part of the conversation cannot be read, and an export holds all of it.
    #[error(
        "`{conversation}` cannot be exported, a part of it cannot be read: `memory doctor` reports what is lost, and an \
         export from a restored backup has all of it"
    )]
    Incomplete {
        /// The conversation.
        conversation: ConversationId,
        /// Error of the part that cannot be read.
        #[source]
        source: StoreError,
    },
    /// The export cannot be written.
    #[error("cannot write the export")]
    Write(#[source] io::Error),
    /// The messages that the store gives back are not those that its leaves were made of.
    #[error("the messages of `{conversation}` do not give its root: verify the store")]
    Damaged {
        /// The conversation.
        conversation: ConversationId,
    },
    /// The file cannot be read.
    #[error("cannot read {file}")]
    Read {
        /// The file.
        file: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file was written by a newer version.
    #[error("{file} has export format {found}, this version reads up to {supported}: use a newer version")]
    NewerFormat {
        /// The file.
        file: String,
        /// Its format.
        found: u32,
        /// The newest that this version reads.
        supported: u32,
    },
    /// A line is not the one that an export has in its place.
    #[error("{file}:{line}: {why}; nothing was imported")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// Fault of the line.
        why: String,
    },
    /// A line is longer than the limit.
    #[error(
        "{file}:{line}: the line is longer than {most} bytes; nothing was imported: raise the limit \
         (`memory import --max-line`) if that is meant"
    )]
    LongLine {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The limit in bytes.
        most: u64,
    },
    /// The file ends before its closing line.
    #[error("{file} was cut short: it has no closing line after line {lines}; nothing was imported")]
    Cut {
        /// The file.
        file: String,
        /// Whole lines that are there.
        lines: u64,
    },
    /// Every line can be read, but they are not those that were exported.
    #[error("{file} was altered since it was exported: {why}; nothing was imported")]
    Altered {
        /// The file.
        file: String,
        /// Contents that do not fit.
        why: String,
    },
    /// The conversation is there already with other contents.
    #[error(
        "`{conversation}` is there already and differs from {file} at node {node}: nothing was imported; \
         another name would do"
    )]
    Differs {
        /// The conversation.
        conversation: ConversationId,
        /// The file.
        file: String,
        /// The first node with another leaf.
        node: NodeId,
    },
    /// The conversation is there already with other notes.
    #[error(
        "`{conversation}` is there already and differs from {file} in note {note} of the file: nothing was imported; \
         another name would do"
    )]
    OtherNotes {
        /// The conversation.
        conversation: ConversationId,
        /// The file.
        file: String,
        /// The first note of the file that is another one there.
        note: u64,
    },
    /// Another writer appended to the conversation meanwhile.
    #[error("another writer appended to `{conversation}` while it was imported: its node {node} is not the file's")]
    Interleaved {
        /// The conversation.
        conversation: ConversationId,
        /// The first node that is another's.
        node: NodeId,
    },
}

impl ExchangeError {
    /// True if the error is "not found".
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_not_found())
    }

    /// True if a file or the store is damaged or altered.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Store(error) => error.is_damage(),
            Self::Incomplete { .. }
            | Self::Damaged { .. }
            | Self::Line { .. }
            | Self::Cut { .. }
            | Self::Altered { .. } => true,
            _ => false,
        }
    }
}
