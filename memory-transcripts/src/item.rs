//! The items that a reader returns: conversations, messages, titles, summaries.

use memory_core::{ConversationId, Level, Message, MessageKey, Timestamp, WrittenBy};

/// The next piece of a transcript.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Item {
    /// A conversation begins or continues. Precedes its first message.
    Conversation(Conversation),
    /// A message, the next of its conversation.
    Said(Said),
    /// The title of a conversation that was returned before.
    Title(Titled),
    /// A summary of messages that were returned before.
    Summarized(Summarized),
}

/// The title of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Titled {
    /// Its conversation.
    pub conversation: ConversationId,
    /// The title.
    pub title: String,
    /// Earlier titles of the source that this one replaces.
    pub replaces: Vec<String>,
}

/// A conversation of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conversation {
    /// Name, derived only from the ids of the source.
    pub id: ConversationId,
    /// Its title, if the source has one.
    pub title: Option<String>,
    /// Fork point, if the conversation shares messages with another.
    pub fork: Option<ForkPoint>,
}

/// A message of another conversation after which a fork begins.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForkPoint {
    /// The other conversation.
    pub conversation: ConversationId,
    /// The last shared message.
    pub after: MessageKey,
}

/// A message of a transcript.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Said {
    /// Its conversation.
    pub conversation: ConversationId,
    /// The message, with `imported: true` in its metadata and a key that is derived from the ids of the source, or from
    /// all records so far.
    pub message: Message,
    /// Time of the message, if the source states it.
    pub at: Option<Timestamp>,
    /// Key of the previous message of the conversation; `None` for the first message, except in a fork.
    pub after: Option<MessageKey>,
}

/// A summary that the source's program wrote of consecutive messages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summarized {
    /// The conversation.
    pub conversation: ConversationId,
    /// Id in the source; unique within the conversation.
    pub id: String,
    /// SUMMARY of messages, META of SUMMARYs, ARCHIVE of anything above.
    pub level: Level,
    /// First covered message.
    pub first: MessageKey,
    /// Last covered message.
    pub last: MessageKey,
    /// Number of covered messages, at least 1.
    pub messages: u64,
    /// Ids of the summaries that it merges, in order. They were returned before and cover the same messages. Empty at
    /// level SUMMARY.
    pub children: Vec<String>,
    /// Text of the summary.
    pub text: String,
    /// The program, with its model as the version.
    pub written_by: WrittenBy,
}

impl Conversation {
    /// A conversation that is no fork.
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
