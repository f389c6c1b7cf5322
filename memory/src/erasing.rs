//! Erasure: what is to go, its going, and the receipt.

mod act;
mod attack;
mod matching;
mod plan;
mod receipt;
mod resume;

use std::path::PathBuf;

use memory_core::{
    ConversationId, ErasureId, InvalidConversationId, NodeRange, NoteId, OwnerId,
    port::{DerivedError, StoreError},
};
use memory_hooks::MemoryError;
use memory_search::{FindError, FindRequest};
use memory_store::RescueError;

pub use self::{
    act::{EraseOptions, erase},
    plan::plan,
    receipt::{ByteScan, ErasedConversation, Probes, Receipt, ReceiptCheck, check_receipt, receipts},
    resume::{OpenErasure, abandon_backup, is_pending, open_erasures, resume},
};

pub(crate) use self::receipt::{keepers, own_keeper, write};

/// Selection for an erasure.
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
    /// Every message in whose text, speaker, metadata, topics or key a regular expression matches; and every title, tag
    /// and named text in which it does. [`ErasurePlan::held`] lists what it matches in and what does not go.
    Matching(FindRequest),
}

/// Plan of an erasure, for a person to look at first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct ErasurePlan {
    /// The conversations, by name.
    pub conversations: Vec<ErasureTarget>,
    /// Places that also hold the pattern and stay, since they cannot be erased on their own.
    pub held: Vec<StillHeld>,
}

/// A place in which a pattern matches, and which an erasure of what the pattern matches in leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct StillHeld {
    /// The conversation.
    pub conversation: ConversationId,
    /// Kind of the place.
    pub place: HeldIn,
    /// Number of the view or the summary; `None` for a name.
    pub number: Option<u64>,
    /// Command that erases it, together with messages; `None` where nothing does.
    pub command: Option<String>,
}

/// Kind of a place that cannot be erased on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum HeldIn {
    /// The name of the conversation.
    Name,
    /// The question of a recorded view, or the title of another conversation that it showed.
    View,
    /// A summary, most often one that a person wrote: others say what their messages say.
    Summary,
}

impl std::fmt::Display for StillHeld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { conversation, place, number, command } = self;
        let number = number.map_or_else(String::new, |number| format!(" {number}"));
        match place {
            HeldIn::Name => write!(f, "the name of {conversation}")?,
            HeldIn::View => write!(f, "recorded view{number} of {conversation}")?,
            HeldIn::Summary => write!(f, "summary{number} of {conversation}")?,
        }
        match command {
            Some(command) => write!(f, " also holds it and stays: `{command}` erases it, with messages"),
            None => write!(f, " also holds it and stays"),
        }
    }
}

/// Tags of a conversation by their places, which say nothing of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TagPlaces {
    /// Number of the conversation's tags.
    of: usize,
    /// Places of some, from 0.
    at: Vec<usize>,
}

/// Part of a plan that concerns one conversation.
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
    /// True if the title goes, because its words are those of an erased message or the pattern matches in it.
    pub with_title: bool,
    /// Tags that go, because the pattern matches in them.
    pub tags: Vec<String>,
    /// The same tags for a process that completes the erasure.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) tag_places: TagPlaces,
    /// Names of the texts that go, with all their versions.
    pub documents: Vec<String>,
    /// Conversations that share some of the messages, which are erased there as well.
    pub shared_with: Vec<ConversationId>,
    /// Messages at the beginning that are the parent's, and stay.
    pub kept: u64,
}

impl ErasureTarget {
    /// A target of nothing.
    fn new(conversation: ConversationId) -> Self {
        Self {
            conversation,
            nodes: Vec::new(),
            messages: 0,
            summaries: 0,
            views: 0,
            notes: 0,
            named_notes: Vec::new(),
            is_whole: false,
            with_title: false,
            tags: Vec::new(),
            tag_places: TagPlaces::default(),
            documents: Vec::new(),
            shared_with: Vec::new(),
            kept: 0,
        }
    }

    /// True if the target has anything to erase.
    fn is_any(&self) -> bool {
        self.messages + self.summaries + self.notes + self.views > 0 || self.with_title || self.has_tags()
    }

    fn has_tags(&self) -> bool {
        !self.tag_places.at.is_empty()
    }

    /// The tags without those that go.
    fn tags_left(&self, mut all: Vec<String>) -> Vec<String> {
        if self.tags.is_empty() && all.len() == self.tag_places.of {
            let mut place = 0..;
            all.retain(|_| place.next().is_none_or(|place| !self.tag_places.at.contains(&place)));
        }
        all.retain(|tag| !self.tags.contains(tag));
        all
    }
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
    /// No erasure waits for the backup.
    #[error("no erasure waits for a backup in {}", path.display())]
    NotAwaited {
        /// The directory.
        path: PathBuf,
    },
    /// Bytes of what was erased are still in files of the store.
    #[error("bytes of what was erased are still in {}", listed(files))]
    Left {
        /// The files.
        files: Vec<PathBuf>,
    },
    /// Receipts are what is left of an erasure, and hold nothing of the content.
    #[error("{0} keeps the receipts of what was erased, which cannot be erased")]
    Receipts(ConversationId),
    /// The pattern is no regular expression.
    #[error("`{}` is not a regular expression: {fault}", memory_core::text::one_line(pattern))]
    Pattern {
        /// The pattern.
        pattern: String,
        /// The fault.
        fault: String,
    },
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

impl From<FindError> for EraseError {
    fn from(error: FindError) -> Self {
        match (error.pattern_fault(), error) {
            (Some(fault), FindError::Pattern { pattern, .. }) => Self::Pattern { pattern, fault },
            (_, error) => Self::Memory(error.into()),
        }
    }
}

fn listed(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}
