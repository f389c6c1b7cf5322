//! Erasure: what is to go, its going, and the receipt.

mod act;
mod attack;
mod plan;
mod receipt;
mod resume;

use std::path::PathBuf;

use memory_core::{
    ConversationId, ErasureId, InvalidConversationId, NodeRange, NoteId, OwnerId,
    port::{DerivedError, StoreError},
};
use memory_hooks::MemoryError;
use memory_search::FindRequest;
use memory_store::RescueError;

pub use self::{
    act::{EraseOptions, erase},
    plan::plan,
    receipt::{ByteScan, ErasedConversation, Probes, Receipt, ReceiptCheck, check_receipt, receipts},
    resume::{is_pending, resume},
};

/// What to erase.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EraseRequest {
    /// Messages of a conversation.
    Nodes {
        /// The conversation.
        conversation: ConversationId,
        /// The messages; those after the last one are ignored.
        nodes: Vec<NodeRange>,
    },
    /// A whole conversation: its messages, title, tags, notes and views. Of a fork, what it shares with its parent
    /// stays: that is the parent's.
    Conversation(ConversationId),
    /// A named text of a conversation, with all earlier versions of it.
    Document {
        /// The conversation.
        conversation: ConversationId,
        /// Name of the text.
        name: String,
    },
    /// Every conversation of an owner.
    Owner(OwnerId),
    /// Every message in which a regular expression matches.
    Matching(FindRequest),
}

/// What an erasure would erase, for a person to look at first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct ErasurePlan {
    /// The conversations, by name.
    pub conversations: Vec<ErasureTarget>,
}

/// What an erasure would erase of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct ErasureTarget {
    /// The conversation.
    pub conversation: ConversationId,
    /// The messages that are not erased yet, as runs in order. A call of a tool goes with its results.
    #[cfg_attr(feature = "serde", serde(rename = "nodes"))]
    pub nodes: Vec<NodeRange>,
    /// Number of these messages.
    pub messages: u64,
    /// Number of summaries that cover one of them.
    pub summaries: u64,
    /// Number of recorded views that showed one of them, whose questions go as well.
    pub views: u64,
    /// Number of notes: those that came from the messages, or that the request names.
    pub notes: u64,
    /// The notes that the request names.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub named_notes: Vec<[NoteId; 2]>,
    /// True if everything of the conversation goes: title, tags, notes and views as well.
    pub is_whole: bool,
    /// True if the title goes, because its words are those of an erased message.
    pub with_title: bool,
    /// Conversations that share some of the messages, which are erased there as well.
    pub shared_with: Vec<ConversationId>,
    /// Messages at the beginning that are the parent's, and stay.
    pub kept: u64,
}

impl ErasurePlan {
    /// True if there is nothing to erase.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.conversations.is_empty()
    }

    /// Number of messages.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.conversations.iter().map(|target| target.messages).sum()
    }
}

/// Reasons why something could not be erased.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EraseError {
    /// The memory failed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Derived data could not be forgotten.
    #[error(
        "nothing reads it any more, but not all of its bytes are gone: run any command on the store to complete it"
    )]
    Derived(#[from] DerivedError),
    /// The log could not be rewritten.
    #[error(
        "nothing reads it any more, but not all of its bytes are gone: run any command on the store to complete it"
    )]
    Unfinished(#[source] StoreError),
    /// A backup could not be brought up to date.
    #[error("it is erased here, but the backup in {} still holds it", path.display())]
    Backup {
        /// Directory of the backup.
        path: PathBuf,
        /// Cause of the failure.
        #[source]
        source: RescueError,
    },
    /// The directory holds no backup.
    #[error("there is no backup of this store in {}: name the directory that `memory backup` was given", path.display())]
    NoBackup {
        /// The directory.
        path: PathBuf,
    },
    /// A backup has the conversations of all owners.
    #[error("a backup has the conversations of all owners: erase without an owner to reach it")]
    BackupOfAll,
    /// Bytes of what was erased are still in files of the store.
    #[error("bytes of what was erased are still in {}", listed(files))]
    Left {
        /// The files.
        files: Vec<PathBuf>,
    },
    /// Receipts are what is left of an erasure, and hold nothing of the content.
    #[error("{0} keeps the receipts of what was erased, which cannot be erased")]
    Receipts(ConversationId),
    /// The plan erases nothing.
    #[error("there is nothing to erase")]
    Nothing,
    /// No receipt has this number.
    #[error("no receipt has the number {0}")]
    NoReceipt(ErasureId),
    /// A receipt cannot be read.
    #[error("the receipt {name} is not one: {why}")]
    NotAReceipt {
        /// Name of its text.
        name: String,
        /// The fault.
        why: &'static str,
    },
    /// The name of the owner is too long for a conversation of receipts.
    #[error(transparent)]
    Name(#[from] InvalidConversationId),
    /// The system provides no randomness.
    #[error("the system provides no randomness: {0}")]
    Randomness(getrandom::Error),
}

impl From<StoreError> for EraseError {
    fn from(error: StoreError) -> Self {
        Self::Memory(error.into())
    }
}

fn listed(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}
