//! What a reader gives: conversations and their messages.

use memory_core::{ConversationId, Level, Message, MessageKey, Timestamp, WrittenBy};

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
    /// A summary of messages that were given before.
    Summarized(Summarized),
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

/// A summary that the program of a transcript wrote of messages in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summarized {
    /// The conversation.
    pub conversation: ConversationId,
    /// Its id in the source, which no other summary of the conversation has.
    pub id: String,
    /// SUMMARY of messages, META of SUMMARYs, ARCHIVE of anything above.
    pub level: Level,
    /// The first message that it covers.
    pub first: MessageKey,
    /// The last message that it covers.
    pub last: MessageKey,
    /// How many messages it covers, at least 1.
    pub messages: u64,
    /// The ids of the summaries that it was made from, in order; they were given before and cover the same messages. Empty
    /// at level SUMMARY.
    pub children: Vec<String>,
    /// Its words.
    pub text: String,
    /// The program, and its model as the version.
    pub written_by: WrittenBy,
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
