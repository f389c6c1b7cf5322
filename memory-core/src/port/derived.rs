//! Port: data derived from the log, which is listed, measured, checked and forgotten in one way.

use std::{fmt, io};

use super::{BoxError, BoxFuture, StoreError};
use crate::{ConversationId, NodeSet};

/// Kind of data that is derived from the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum DerivedKind {
    /// The words of messages, as search looks for them.
    Words,
    /// The vectors of messages.
    Vectors,
    /// The links between vectors.
    Graph,
    /// The vectors of tokens.
    Tokens,
    /// The vectors of texts that were embedded before, whatever conversation they came from.
    Embeddings,
    /// The questions in recorded views, which stand in the log itself.
    Questions,
}

impl DerivedKind {
    /// Its name: a lower-case word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Vectors => "vectors",
            Self::Graph => "graph",
            Self::Tokens => "tokens",
            Self::Embeddings => "embeddings",
            Self::Questions => "questions",
        }
    }
}

impl fmt::Display for DerivedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How much there is of something derived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DerivedSize {
    /// Blocks of words, vectors, linked vectors, tokens, texts or questions.
    pub count: u64,
    /// Bytes on disk, of all models and of unfinished files too.
    pub disk: u64,
    /// Bytes in the memory of this process that are in no file; `None` where that is unknown.
    pub memory: Option<u64>,
}

impl DerivedSize {
    crate::setters! {
        const count: u64,
        const disk: u64,
        into memory: Option<u64>,
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let memory = match (self.memory, other.memory) {
            (Some(one), Some(other)) => Some(one + other),
            (known, None) | (None, known) => known,
        };
        Self { count: self.count + other.count, disk: self.disk + other.disk, memory }
    }
}

/// How much of something derived a process holds in memory so that it answers sooner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct HeldInMemory {
    /// Kind of the data.
    pub kind: DerivedKind,
    /// Estimated bytes of the data, without what is mapped from files.
    pub bytes: u64,
    /// Bytes beyond which what was not used for the longest time is dropped, unless it is in use or not saved.
    pub limit: u64,
}

impl HeldInMemory {
    /// This many bytes of a kind, of so many at most.
    #[must_use]
    pub const fn new(kind: DerivedKind, bytes: u64, limit: u64) -> Self {
        Self { kind, bytes, limit }
    }
}

/// Data derived from one conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holding {
    /// The conversation.
    pub conversation: ConversationId,
    /// The last node up to which everything is derived and is the log's; 0 if nothing is. With several models, that of
    /// the one that reaches farthest.
    pub through: u64,
    /// Size of the data.
    pub size: DerivedSize,
}

impl Holding {
    /// A holding of a conversation.
    #[must_use]
    pub const fn new(conversation: ConversationId, through: u64, size: DerivedSize) -> Self {
        Self { conversation, through, size }
    }
}

/// Everything of a kind that is derived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holdings {
    /// Data known to be of one conversation, by name.
    pub conversations: Vec<Holding>,
    /// The rest: what is shared by conversations, and files that cannot be attributed to one.
    pub shared: DerivedSize,
}

impl Holdings {
    /// Holdings of these conversations, and the rest.
    #[must_use]
    pub fn new(mut conversations: Vec<Holding>, shared: DerivedSize) -> Self {
        conversations.sort_by(|a, b| a.conversation.cmp(&b.conversation));
        Self { conversations, shared }
    }

    /// Data derived from a conversation, if any.
    #[must_use]
    pub fn of(&self, conversation: &ConversationId) -> Option<&Holding> {
        let found = self.conversations.binary_search_by(|holding| holding.conversation.cmp(conversation));
        found.ok().and_then(|at| self.conversations.get(at))
    }

    /// Total size.
    #[must_use]
    pub fn total(&self) -> DerivedSize {
        self.conversations.iter().fold(self.shared, |sum, holding| sum.plus(holding.size))
    }
}

/// Data to forget.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Forget<'a> {
    /// The conversation.
    pub conversation: &'a ConversationId,
    /// These nodes of it; `None` for the conversation as a whole.
    pub nodes: Option<&'a NodeSet>,
    /// All texts that were embedded for these nodes, exactly as the embedder got them. `None` where they are not known:
    /// then a cache that is keyed by text forgets everything it holds.
    pub texts: Option<&'a [&'a str]>,
}

impl<'a> Forget<'a> {
    /// Everything that was derived from a conversation.
    #[must_use]
    pub const fn conversation(conversation: &'a ConversationId) -> Self {
        Self { conversation, nodes: None, texts: None }
    }

    /// Everything that was derived from these nodes of a conversation.
    #[must_use]
    pub const fn nodes(conversation: &'a ConversationId, nodes: &'a NodeSet) -> Self {
        Self { conversation, nodes: Some(nodes), texts: None }
    }

    crate::setters! { into texts: Option<&'a [&'a str]> }
}

/// Remainder after forgetting.
#[must_use = "what stands in the log is not forgotten yet"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Forgotten {
    /// Nothing, neither on disk nor in what this process searches.
    All,
    /// Data in records of the log, which only erasure of these records removes.
    InTheLog {
        /// Size of the data: questions and their bytes.
        left: DerivedSize,
    },
}

/// Derived data that is not as it was written. The fault costs only the time of deriving it again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DerivedFault {
    /// Its conversation, where that is known.
    pub conversation: Option<ConversationId>,
    /// Place of the data, such as a path.
    pub place: String,
    /// The fault.
    pub what: String,
}

impl DerivedFault {
    /// A fault at a place.
    #[must_use]
    pub fn new(conversation: Option<ConversationId>, place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { conversation, place: place.into(), what: what.into() }
    }
}

/// One kind of data that is derived from the log. Losing it loses time, never data.
///
/// Contract, which `testing::derived_conformance` checks:
/// - It needs no model: whatever made the data, it is listed and forgotten.
/// - Sizes grow with what is derived.
/// - After [`forget`](Self::forget), nothing of the forgotten nodes is found, and no byte that was derived from them is
///   left on disk. Forgetting is atomic: a crash leaves the data as it was or as it should be, and forgetting again
///   completes it. Other conversations stay. Parts of the same conversation may have to be derived again, as
///   [`Holding::through`] shows.
/// - As long as the log holds a node, the node may be derived again, by another process at once: erase it from the log
///   first if it is not to come back.
/// - Damage is not an error: [`verify`](Self::verify) reports it.
pub trait Derived: fmt::Debug + Send + Sync {
    /// The kind.
    fn kind(&self) -> DerivedKind;

    /// Data that there is, and how far it is true. Reads headers and no content where it can.
    ///
    /// # Errors
    /// When the place cannot be listed, or a file cannot be read for another reason than damage.
    fn holdings(&self) -> BoxFuture<'_, Result<Holdings, DerivedError>>;

    /// Forgets nodes or a conversation permanently.
    ///
    /// # Errors
    /// [`DerivedError::ReadOnly`], [`DerivedError::Busy`], or when something cannot be removed. Forgetting again is
    /// safe and continues where it stopped.
    fn forget<'a>(&'a self, what: &'a Forget<'a>) -> BoxFuture<'a, Result<Forgotten, DerivedError>>;

    /// Reads everything again and reports what is not as it was written.
    ///
    /// # Errors
    /// As for [`holdings`](Self::holdings).
    fn verify(&self) -> BoxFuture<'_, Result<Vec<DerivedFault>, DerivedError>>;
}

/// Why derived data could not be listed or forgotten.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DerivedError {
    /// The data was opened read-only.
    #[error("{place} takes no writes: open the store for writing to forget something")]
    ReadOnly {
        /// Place of the refused change.
        place: String,
    },
    /// Another process keeps the right to write.
    #[error("another process is writing to {place}: try again")]
    Busy {
        /// Place of the refused change.
        place: String,
    },
    /// A file could not be read or written.
    #[error("cannot {action} {place}")]
    Io {
        /// The attempted action, as a verb.
        action: &'static str,
        /// Where.
        place: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The log could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The backend failed.
    #[error("the backend {backend} failed")]
    Backend {
        /// The backend.
        backend: &'static str,
        /// Why.
        #[source]
        source: BoxError,
    },
}

impl DerivedError {
    /// The failure of an action on a file.
    #[must_use]
    pub fn io(action: &'static str, place: impl fmt::Display, source: io::Error) -> Self {
        Self::Io { action, place: place.to_string(), source }
    }
}
