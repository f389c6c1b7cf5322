//! Port: data derived from the log, with one interface to list, measure, check and forget it.

use std::{fmt, io};

use super::{BoxError, BoxFuture, StoreError};
use crate::{ConversationId, NodeSet};

/// Kind of derived data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum DerivedKind {
    /// Inverted index of the words of messages.
    Words,
    /// Vectors of messages.
    Vectors,
    /// Links between vectors.
    Graph,
    /// Vectors of tokens.
    Tokens,
    /// Vectors of texts that were embedded before, from any conversation.
    Embeddings,
    /// Questions in recorded views, which are part of the log itself.
    Questions,
}

impl DerivedKind {
    /// Name of the kind: a lower-case word.
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

/// Size of derived data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DerivedSize {
    /// Number of blocks of words, vectors, linked vectors, tokens, texts or questions.
    pub count: u64,
    /// Bytes on disk, including all models and unfinished files.
    pub disk: u64,
    /// Bytes in memory that are in no file; `None` if unknown.
    pub memory: Option<u64>,
}

impl DerivedSize {
    crate::setters! {
        const count: u64,
        const disk: u64,
        into memory: Option<u64>,
    }

    /// Sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let memory = match (self.memory, other.memory) {
            (Some(one), Some(other)) => Some(one + other),
            (known, None) | (None, known) => known,
        };
        Self { count: self.count + other.count, disk: self.disk + other.disk, memory }
    }
}

/// Derived data that this process holds in memory for faster answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct CachedInMemory {
    /// Kind of the data.
    pub kind: DerivedKind,
    /// Estimated bytes, without mapped files.
    pub bytes: u64,
    /// Limit in bytes above which the least recently used data is dropped, except data that is in use or unsaved.
    pub limit: u64,
}

impl CachedInMemory {
    /// This many bytes of a kind, with their limit.
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
    /// Last node up to which everything is derived and matches the log; 0 for none. With several models, that of the
    /// model that is farthest.
    pub through: u64,
    /// Size of the data.
    pub size: DerivedSize,
}

impl Holding {
    /// Derived data of a conversation.
    #[must_use]
    pub const fn new(conversation: ConversationId, through: u64, size: DerivedSize) -> Self {
        Self { conversation, through, size }
    }
}

/// All derived data of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holdings {
    /// Data of a known conversation, sorted by name.
    pub conversations: Vec<Holding>,
    /// All other data: shared between conversations, or in files of no known conversation.
    pub shared: DerivedSize,
}

impl Holdings {
    /// Sorts the holdings by conversation.
    #[must_use]
    pub fn new(mut conversations: Vec<Holding>, shared: DerivedSize) -> Self {
        conversations.sort_by(|a, b| a.conversation.cmp(&b.conversation));
        Self { conversations, shared }
    }

    /// Data that was derived from a conversation, if any.
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
    /// The nodes to forget; `None` for the whole conversation.
    pub nodes: Option<&'a NodeSet>,
    /// All texts that were embedded for these nodes, exactly as the embedder received them. `None` if unknown: a cache
    /// that is keyed by text then forgets everything.
    pub texts: Option<&'a [&'a str]>,
}

impl<'a> Forget<'a> {
    /// Forgets everything that was derived from a conversation.
    #[must_use]
    pub const fn conversation(conversation: &'a ConversationId) -> Self {
        Self { conversation, nodes: None, texts: None }
    }

    /// Forgets everything that was derived from these nodes of a conversation.
    #[must_use]
    pub const fn nodes(conversation: &'a ConversationId, nodes: &'a NodeSet) -> Self {
        Self { conversation, nodes: Some(nodes), texts: None }
    }

    crate::setters! { into texts: Option<&'a [&'a str]> }
}

/// Result of forgetting.
#[must_use = "what stands in the log is not forgotten yet"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Forgotten {
    /// Nothing remains, on disk or in this process.
    All,
    /// Data remains in records of the log, and only erasing these records removes it.
    InTheLog {
        /// Number and bytes of the remaining questions.
        left: DerivedSize,
    },
}

/// Damaged derived data. The damage costs only the time to derive the data again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DerivedFault {
    /// Conversation of the data, if known.
    pub conversation: Option<ConversationId>,
    /// Location of the data, such as a path.
    pub place: String,
    /// Description of the fault.
    pub what: String,
}

impl DerivedFault {
    /// A fault at a location.
    #[must_use]
    pub fn new(conversation: Option<ConversationId>, place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { conversation, place: place.into(), what: what.into() }
    }
}

/// One kind of data that is derived from the log. A loss costs time, never data.
///
/// Contract, which `testing::derived_conformance` checks:
/// - No model is needed: data can be listed and forgotten whatever made it.
/// - Sizes grow with the derived data.
/// - After [`forget`](Self::forget), no search finds the forgotten nodes, and no byte that was derived from them is
///   left on disk. Forgetting is atomic: a crash leaves the data as it was or as it should be, and another call
///   completes it. Other conversations are unaffected. Other nodes of the same conversation may have to be derived
///   again, as [`Holding::through`] shows.
/// - While the log holds a node, any process may derive it again at once. To prevent that, erase it from the log first.
/// - Damage is not an error; [`verify`](Self::verify) reports it.
pub trait Derived: fmt::Debug + Send + Sync {
    /// Kind of the data.
    fn kind(&self) -> DerivedKind;

    /// Lists the data, with the extent to which it matches the log. Reads only headers where possible.
    ///
    /// # Errors
    /// If the location cannot be listed, or a file cannot be read for another reason than damage.
    fn holdings(&self) -> BoxFuture<'_, Result<Holdings, DerivedError>>;

    /// Forgets nodes or a conversation permanently.
    ///
    /// # Errors
    /// [`DerivedError::ReadOnly`], [`DerivedError::Busy`], or if something cannot be removed. Another call is safe and
    /// continues where this one stopped.
    fn forget<'a>(&'a self, what: &'a Forget<'a>) -> BoxFuture<'a, Result<Forgotten, DerivedError>>;

    /// Reads all data and reports damage.
    ///
    /// # Errors
    /// As [`holdings`](Self::holdings).
    fn verify(&self) -> BoxFuture<'_, Result<Vec<DerivedFault>, DerivedError>>;
}

/// Reason why derived data could not be listed or forgotten.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DerivedError {
    /// The data was opened read-only.
    #[error("{place} takes no writes: open the store for writing to forget something")]
    ReadOnly {
        /// Location of the refused change.
        place: String,
    },
    /// Another process holds the right to write.
    #[error("another process is writing to {place}: try again")]
    Busy {
        /// Location of the refused change.
        place: String,
    },
    /// A file could not be read or written.
    #[error("cannot {action} {place}")]
    Io {
        /// The attempted action, as a verb.
        action: &'static str,
        /// Location of the file.
        place: String,
        /// The cause.
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
        /// The cause.
        #[source]
        source: BoxError,
    },
}

impl DerivedError {
    /// The error of an action on a file.
    #[must_use]
    pub fn io(action: &'static str, place: impl fmt::Display, source: io::Error) -> Self {
        Self::Io { action, place: place.to_string(), source }
    }
}
