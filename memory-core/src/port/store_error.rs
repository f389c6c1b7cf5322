//! The error of a store.

use super::{BoxError, Place};
use crate::{ConversationId, InvalidConversationId, MessageKey, NodeId, NoteId};

/// Why a store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No conversation has this name.
    #[error("no conversation `{id}`{}", did_you_mean(nearest))]
    UnknownConversation {
        /// The requested name.
        id: ConversationId,
        /// Existing similar names, nearest first.
        nearest: Vec<ConversationId>,
    },
    /// No node has this position.
    #[error("node {node} not found: `{conversation}` has nodes 1 to {nodes}")]
    UnknownNode {
        /// The conversation.
        conversation: ConversationId,
        /// The requested position.
        node: NodeId,
        /// Number of nodes in the conversation.
        nodes: u64,
    },
    /// A conversation of this name exists already.
    #[error("a conversation `{id}` is there already: choose another name")]
    NameTaken {
        /// The name.
        id: ConversationId,
    },
    /// The name is kept for notes of models ([`ConversationId::of_notes`]).
    #[error("the name `{id}` is kept for notes of models: {why}")]
    Reserved {
        /// The name.
        id: ConversationId,
        /// Why it was refused.
        why: &'static str,
    },
    /// A new conversation cannot have this name.
    #[error(transparent)]
    UnfitName(#[from] InvalidConversationId),
    /// The key already names another message.
    #[error("message key `{key}` of `{conversation}` already names a different message, node {node}")]
    KeyConflict {
        /// The conversation.
        conversation: ConversationId,
        /// The key.
        key: MessageKey,
        /// The node with this key.
        node: NodeId,
    },
    /// Another writer recorded a note first: decide on the texts as they are now.
    #[error("note {note} of `{conversation}` cannot be recorded: the next one is {next}")]
    NoteConflict {
        /// The conversation.
        conversation: ConversationId,
        /// The number that the note had.
        note: NoteId,
        /// The number that it would have to have.
        next: NoteId,
    },
    /// The data to write is invalid.
    #[error("not recorded in `{conversation}`: {why}")]
    Invalid {
        /// The conversation.
        conversation: ConversationId,
        /// The fault.
        why: String,
    },
    /// A message was erased, disabled or enabled while something was made from it.
    #[error(
        "not recorded in `{conversation}`: messages that it was made from were erased, disabled or enabled meanwhile; \
         make it again"
    )]
    ErasedMeanwhile {
        /// The conversation.
        conversation: ConversationId,
    },
    /// Stored data differs from what was written.
    #[error("{} is damaged{}: {why}", place.name, place.at_byte())]
    Damaged {
        /// Location of the damage.
        place: Place,
        /// The fault.
        why: String,
    },
    /// The node was lost to damage, and the store was salvaged without it.
    #[error("the node was lost to damage before the store was salvaged, as {} records{}", place.name, place.at_byte())]
    Lost {
        /// Location of the record of the loss.
        place: Place,
    },
    /// Another process writes to the store.
    #[error("the store {place} is in use by process {pid} on {host}")]
    Locked {
        /// The store.
        place: Place,
        /// Process id of the holder.
        pid: u32,
        /// Machine of the holder.
        host: String,
    },
    /// The store was opened read-only, and the call would have written.
    #[error("the store {place} was opened for reading alone")]
    ReadOnly {
        /// The store.
        place: Place,
    },
    /// The store was written by a newer version.
    #[error("the store {place} has format {found}, this version reads up to {supported}: use a newer version")]
    NewerFormat {
        /// The store.
        place: Place,
        /// Format of the store.
        found: u32,
        /// Newest format that this version reads.
        supported: u32,
    },
    /// The key of an encrypted store is missing or another one, or a key was given where none fits.
    #[error("the store {place} cannot be opened: {why}")]
    Key {
        /// The store.
        place: Place,
        /// Reason, and what to do.
        why: String,
    },
    /// The log contains a record of a kind, or a version of a kind, that only a newer version knows.
    #[error(
        "{} holds{} a record of kind {kind}, version {version}, that a newer version wrote: use that version",
        place.name,
        in_frame(place)
    )]
    NewerRecord {
        /// Location of the record, with the byte where its frame begins.
        place: Place,
        /// The kind.
        kind: u8,
        /// Version of the kind.
        version: u8,
    },
    /// The opened location is not a store.
    #[error("{place} is not a memory store: {why}")]
    NotAStore {
        /// The opened location.
        place: Place,
        /// The fault.
        why: String,
    },
    /// An earlier write did not reach the disk. Nothing is written until the store is reopened.
    #[error("the store {place} takes no more writes since one failed ({why}): reopen it")]
    Poisoned {
        /// The store.
        place: Place,
        /// The failure.
        why: String,
    },
    /// The disk is full.
    #[error("no space left for {place}: nothing was written, the log is intact")]
    DiskFull {
        /// Location that was written or read.
        place: Place,
    },
    /// The operating system refused.
    #[error("could not {action} {place}")]
    Io {
        /// The attempted action, as a verb.
        action: &'static str,
        /// Location that was written or read.
        place: Place,
        /// Error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// Another backend failed.
    #[error("{backend} failed")]
    Backend {
        /// The backend.
        backend: &'static str,
        /// The cause.
        #[source]
        source: BoxError,
    },
}

impl StoreError {
    /// The error for an unknown conversation, with similar names among `known`.
    #[must_use]
    pub fn unknown_conversation<'a>(id: &ConversationId, known: impl IntoIterator<Item = &'a ConversationId>) -> Self {
        Self::UnknownConversation {
            id: id.clone(),
            nearest: crate::text::nearest(id.as_str(), known, ConversationId::as_str),
        }
    }

    /// True if the conversation, node or other item does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::UnknownConversation { .. } | Self::UnknownNode { .. })
    }

    /// True if data on disk is or was damaged.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::Lost { .. })
    }

    /// True if the same call may succeed later without a repair.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Locked { .. } | Self::DiskFull { .. })
    }
}

fn in_frame(place: &Place) -> String {
    place.offset.map_or_else(String::new, |offset| format!(", in the frame at byte {offset},"))
}

fn did_you_mean(nearest: &[ConversationId]) -> String {
    match nearest {
        [] => String::new(),
        names => {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("; nearest: {}", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_place_as_its_backend_does() {
        let segment = || Place::new("log/0001.seg").offset(64);
        let table = || Place::new("table nodes");
        let why = || "bad".to_owned();
        let newer = |place| StoreError::NewerRecord { place, kind: 99, version: 1 };
        for (error, message) in [
            (StoreError::Damaged { place: segment(), why: why() }, "log/0001.seg is damaged at byte 64: bad"),
            (StoreError::Damaged { place: table(), why: why() }, "table nodes is damaged: bad"),
            (
                StoreError::Lost { place: segment() },
                "the node was lost to damage before the store was salvaged, as log/0001.seg records at byte 64",
            ),
            (
                StoreError::Lost { place: table() },
                "the node was lost to damage before the store was salvaged, as table nodes records",
            ),
            (
                newer(segment()),
                "log/0001.seg holds, in the frame at byte 64, a record of kind 99, version 1, that a newer version wrote: use \
                 that version",
            ),
            (
                newer(table()),
                "table nodes holds a record of kind 99, version 1, that a newer version wrote: use that version",
            ),
            (StoreError::ReadOnly { place: table() }, "the store table nodes was opened for reading alone"),
            (
                StoreError::DiskFull { place: table() },
                "no space left for table nodes: nothing was written, the log is intact",
            ),
        ] {
            assert_eq!(error.to_string(), message);
        }
        assert_eq!(segment().to_string(), "log/0001.seg at byte 64");
        assert_eq!(Place::from(std::path::Path::new("log")).to_string(), "log");
    }
}
