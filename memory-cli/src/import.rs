//! Files that conversations are imported from.

mod error;
pub mod eval;
pub mod jsonl;

pub use error::ImportError;

use memory_core::{ConversationId, Message, Timestamp};

/// A conversation as a file has it.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedConversation {
    /// Its name.
    pub id: ConversationId,
    /// Its messages in order; where a file gives no time, the one before it or else the time of import holds.
    pub messages: Vec<(Message, Option<Timestamp>)>,
}
