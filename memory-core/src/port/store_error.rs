//! The error of a store.

use std::path::PathBuf;

use super::BoxError;
use crate::{ConversationId, InvalidConversationId, MessageKey, NodeId};

/// Why a store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No conversation has that name.
    #[error("no conversation `{id}`{}", did_you_mean(nearest))]
    UnknownConversation {
        /// The name asked for.
        id: ConversationId,
        /// Existing names that are similar, nearest first.
        nearest: Vec<ConversationId>,
    },
    /// No node has that position.
    #[error("node {node} not found: `{conversation}` has nodes 1 to {nodes}")]
    UnknownNode {
        /// The conversation.
        conversation: ConversationId,
        /// The position asked for.
        node: NodeId,
        /// How many nodes there are.
        nodes: u64,
    },
    /// A conversation of that name exists already.
    #[error("a conversation `{id}` is there already: choose another name")]
    NameTaken {
        /// The name.
        id: ConversationId,
    },
    /// A new conversation cannot have that name.
    #[error(transparent)]
    UnfitName(#[from] InvalidConversationId),
    /// The key already names another message.
    #[error("message key `{key}` of `{conversation}` already names a different message, node {node}")]
    KeyConflict {
        /// The conversation.
        conversation: ConversationId,
        /// The key.
        key: MessageKey,
        /// The node that has it.
        node: NodeId,
    },
    /// What was to be written is invalid.
    #[error("not recorded in `{conversation}`: {why}")]
    Invalid {
        /// The conversation.
        conversation: ConversationId,
        /// What is wrong.
        why: String,
    },
    /// The bytes on disk are not those that were written.
    #[error("{path} is damaged at byte {offset}: {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What is wrong there.
        why: String,
    },
    /// The node was lost to damage, and the store was salvaged without it.
    #[error("the node was lost to damage before the store was salvaged, as {path} records at byte {offset}")]
    Lost {
        /// The file that records the loss.
        path: PathBuf,
        /// Where in it.
        offset: u64,
    },
    /// Another process writes to the store.
    #[error("the store {path} is in use by process {pid} on {host}")]
    Locked {
        /// The store.
        path: PathBuf,
        /// The holder's process id.
        pid: u32,
        /// The holder's machine.
        host: String,
    },
    /// The store was opened for reading alone, and the call would have written.
    #[error("the store {path} was opened for reading alone")]
    ReadOnly {
        /// The store.
        path: PathBuf,
    },
    /// The store was written by a newer version.
    #[error("the store {path} has format {found}, this version reads up to {supported}: use a newer version")]
    NewerFormat {
        /// The store.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest that this version reads.
        supported: u32,
    },
    /// The log holds a record of a kind, or of a version of a kind, that only a newer version knows.
    #[error(
        "{path} holds, in the frame at byte {offset}, a record of kind {kind}, version {version}, that a newer version wrote: \
         use that version"
    )]
    NewerRecord {
        /// The file.
        path: PathBuf,
        /// Where the frame that holds the record begins.
        offset: u64,
        /// The kind.
        kind: u8,
        /// The version of the kind.
        version: u8,
    },
    /// The directory is not a store.
    #[error("{path} is not a memory store: {why}")]
    NotAStore {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// An earlier write failed to reach the disk. Nothing more is written until the store is reopened.
    #[error("the store {path} takes no more writes since one failed ({why}): reopen it")]
    Poisoned {
        /// The store.
        path: PathBuf,
        /// The failure.
        why: String,
    },
    /// The disk is full.
    #[error("no space left for {path}: nothing was written, the log is intact")]
    DiskFull {
        /// The file.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("could not {action} {path}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// Another backend failed.
    #[error("{backend} failed")]
    Backend {
        /// Which one.
        backend: &'static str,
        /// Why.
        #[source]
        source: BoxError,
    },
}

impl StoreError {
    /// The error for an unknown conversation, with the similar names among `known`.
    #[must_use]
    pub fn unknown_conversation<'a>(id: &ConversationId, known: impl IntoIterator<Item = &'a ConversationId>) -> Self {
        Self::UnknownConversation {
            id: id.clone(),
            nearest: crate::nearest(id.as_str(), known, ConversationId::as_str),
        }
    }

    /// Whether the conversation, node or other item does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::UnknownConversation { .. } | Self::UnknownNode { .. })
    }

    /// Whether data on disk is damaged, or was.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::Lost { .. })
    }

    /// Whether the same call may succeed later without any repair.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Locked { .. } | Self::DiskFull { .. })
    }
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
