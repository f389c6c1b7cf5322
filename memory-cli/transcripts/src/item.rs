//! What a reader gives: conversations and their messages.

use memory_core::{ConversationId, Message, MessageKey, Timestamp};

/// The next piece of a transcript.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Item {
    /// A conversation begins or goes on. It comes before its first message.
    Conversation(Conversation),
    /// A message, the next of its conversation.
    Said(Said),
    /// The title of a conversation that was given before.
    Title(Titled),
}

/// A title of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Titled {
    /// Its conversation.
    pub conversation: ConversationId,
    /// The title.
    pub title: String,
    /// Titles that the source gave before, in the place of which this one stands.
    pub replaces: Vec<String>,
}

/// A conversation of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conversation {
    /// Its name, which follows from the ids of the source alone.
    pub id: ConversationId,
    /// Its title, if the source has one.
    pub title: Option<String>,
    /// Where it leaves another conversation, whose messages up to there it shares.
    pub fork: Option<ForkPoint>,
}

/// Where a conversation leaves another one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForkPoint {
    /// The other conversation.
    pub conversation: ConversationId,
    /// The last message that both have.
    pub after: MessageKey,
}

/// A message of a transcript.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Said {
    /// Its conversation.
    pub conversation: ConversationId,
    /// The message. It has a key, which follows from the ids of the source or from all records up to it, and
    /// `imported: true` in its metadata.
    pub message: Message,
    /// When it was said, if the source states it.
    pub at: Option<Timestamp>,
    /// The key of the message before it in its conversation; `None` for the first one of a conversation that is no fork.
    pub after: Option<MessageKey>,
}

impl Conversation {
    /// A conversation that shares nothing with another.
    #[must_use]
    pub const fn new(id: ConversationId) -> Self {
        Self { id, title: None, fork: None }
    }

    memory_core::setters! {
        into title: Option<String>,
        into fork: Option<ForkPoint>,
    }
}

impl ForkPoint {
    /// A point after a message of a conversation.
    #[must_use]
    pub const fn new(conversation: ConversationId, after: MessageKey) -> Self {
        Self { conversation, after }
    }
}
