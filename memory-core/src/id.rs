//! Names of conversations, nodes, summaries and views.

use std::{fmt, num::NonZeroU64, str::FromStr, sync::Arc};

use uuid::Builder;

use crate::Timestamp;

/// The name of a conversation: 1 to 200 bytes, without white space, control characters, `/` or `\`.
///
/// Names that the software makes itself are UUIDv7 ([RFC 9562](https://www.rfc-editor.org/rfc/rfc9562)),
/// so that they sort by the time of their making.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConversationId(Arc<str>);

/// Why a text cannot name a conversation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` cannot name a conversation: {why}")]
pub struct InvalidConversationId {
    /// The refused text, shortened.
    pub name: String,
    /// What is wrong with it.
    pub why: &'static str,
}

impl ConversationId {
    /// Longest name, in bytes.
    pub const MAX_BYTES: usize = 200;

    /// Checks `name`.
    ///
    /// # Errors
    /// When it is empty, longer than [`Self::MAX_BYTES`], or holds white space, control characters, `/` or `\`.
    pub fn new(name: &str) -> Result<Self, InvalidConversationId> {
        let refuse = |why| {
            let name = name.chars().take(40).collect();
            Err(InvalidConversationId { name, why })
        };
        if name.is_empty() {
            return refuse("it is empty");
        }
        if name.len() > Self::MAX_BYTES {
            return refuse("it is longer than 200 bytes");
        }
        let bad = |c: char| c.is_whitespace() || c.is_control() || c == '/' || c == '\\';
        if name.chars().any(bad) {
            return refuse("white space, control characters, `/` and `\\` are not allowed");
        }
        Ok(Self(name.into()))
    }

    /// A new UUIDv7 name from the time and 10 random bytes.
    #[must_use]
    pub fn generate(at: Timestamp, random: [u8; 10]) -> Self {
        let millis = u64::try_from(at.as_millis()).unwrap_or(0);
        let uuid = Builder::from_unix_timestamp_millis(millis, &random).into_uuid();
        Self(uuid.to_string().into())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ConversationId {
    type Err = InvalidConversationId;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::new(name)
    }
}

/// The position of a message in its conversation: dense, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(NonZeroU64);

impl NodeId {
    /// The first message of a conversation.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// The node at `position`; `None` for 0.
    #[must_use]
    pub fn new(position: u64) -> Option<Self> {
        NonZeroU64::new(position).map(Self)
    }

    /// The node at a zero-based index.
    #[must_use]
    pub fn from_index(index: usize) -> Self {
        Self(NonZeroU64::MIN.saturating_add(index as u64))
    }

    /// The position, from 1.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0.get()
    }

    /// The position from 0, to index a slice with.
    #[must_use]
    pub fn index(self) -> usize {
        usize::try_from(self.0.get() - 1).unwrap_or(usize::MAX)
    }

    /// The node after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The node before this one; `None` at the first.
    #[must_use]
    pub fn previous(self) -> Option<Self> {
        Self::new(self.get() - 1)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a summary in its conversation: dense, from 1, apart from node numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SummaryId(NonZeroU64);

impl SummaryId {
    /// The summary numbered `number`; `None` for 0.
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        NonZeroU64::new(number).map(Self)
    }

    /// The summary at a zero-based index.
    #[must_use]
    pub fn from_index(index: usize) -> Self {
        Self(NonZeroU64::MIN.saturating_add(index as u64))
    }

    /// The number, from 1.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0.get()
    }

    /// The number from 0, to index a slice with.
    #[must_use]
    pub fn index(self) -> usize {
        usize::try_from(self.0.get() - 1).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for SummaryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

/// The number of a recorded view in its conversation: dense, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViewId(NonZeroU64);

impl ViewId {
    /// The first view of a conversation that was recorded.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// The view numbered `number`; `None` for 0.
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        NonZeroU64::new(number).map(Self)
    }

    /// The number, from 1.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0.get()
    }

    /// The view after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for ViewId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

/// Names an embedding model so that vectors of two models are never compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelId(Arc<str>);

impl ModelId {
    /// Any text; by convention `name/variant`, as in `all-MiniLM-L6-v2/int8`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_a_directory_are_refused() {
        for bad in ["", "a b", "a/b", "a\\b", "a\nb", "a\0b", &"x".repeat(201)] {
            assert!(ConversationId::new(bad).is_err(), "{bad:?}");
        }
        for good in ["a", "locomo-43", "qmsum-test-Bed003", "日本", &"x".repeat(200)] {
            assert_eq!(ConversationId::new(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn generated_names_sort_by_time() {
        let early = ConversationId::generate(Timestamp::from_millis(1_000), [255; 10]);
        let late = ConversationId::generate(Timestamp::from_millis(2_000), [0; 10]);
        assert!(early < late);
    }
}
