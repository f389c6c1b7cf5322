//! Refusals of changes to the ledger.

use memory_core::{ConversationId, NodeId};

use super::EntryId;

/// Reasons why an entry is not recorded or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The conversation has no such entry.
    #[error("`{conversation}` has no entry {id}: `ledger` lists them")]
    NoEntry {
        /// The conversation.
        conversation: ConversationId,
        /// The id.
        id: EntryId,
    },
    /// Nobody spoke in the conversation.
    #[error("nothing was said in `{conversation}`: entries belong to a conversation with messages")]
    NothingSaid {
        /// The conversation.
        conversation: ConversationId,
    },
    /// The entry has no words.
    #[error("the entry has no words")]
    Blank,
    /// The entry is too long.
    #[error("the entry has {bytes} bytes, and at most {most} are kept: shorten it")]
    TooLong {
        /// Bytes of the text.
        bytes: usize,
        /// Most bytes.
        most: usize,
    },
    /// The entry was replaced before.
    #[error("{id} was replaced by {}: correct that one", .by.map_or_else(|| "a later message".to_owned(), |by| by.to_string()))]
    Replaced {
        /// The entry.
        id: EntryId,
        /// The entry that replaced it, if one did.
        by: Option<EntryId>,
    },
    /// A source cannot be read: it was erased, or is disabled or damaged.
    #[error("message {node} is no source: it was erased, is disabled, or cannot be read")]
    NoSource {
        /// The message.
        node: NodeId,
    },
    /// Too many messages are named.
    #[error("an entry has {count} messages as sources, and at most {most} are checked: name those that say it")]
    TooManySources {
        /// Number of messages.
        count: u64,
        /// Most messages.
        most: u64,
    },
    /// A model names no message as the source of its entry.
    #[error("an entry of a model needs the messages that say it")]
    SourceMissing,
    /// The sources of a model's entry do not say it.
    #[error("the sources do not say so: {shared} of {words} words of the entry are in them")]
    NotInSources {
        /// Informative words of the entry.
        words: usize,
        /// Number of these in the sources.
        shared: usize,
    },
}
