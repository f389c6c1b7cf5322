//! Reads conversations from files.

mod error;
pub mod eval;
mod input;
pub mod jsonl;
mod lines;

pub use error::ImportError;
pub(crate) use input::{is_pipe, is_stream};

use memory_core::{ConversationId, Message, Timestamp};

/// A conversation from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedConversation {
    /// Id of the conversation.
    pub id: ConversationId,
    /// Messages in order. A message without a time gets that of the message before it, or else an unknown one.
    pub messages: Vec<(Message, Option<Timestamp>)>,
}
